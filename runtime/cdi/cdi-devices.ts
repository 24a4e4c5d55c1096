import { readFileSync, readdirSync, statSync } from 'node:fs';
import { extname, join } from 'node:path';
import { errorText, ifThere, invalidArgument } from '../../daemon/base/errors.ts';
import { limits } from '../../daemon/base/limits.ts';
import type { Logger } from '../../daemon/base/logger.ts';
import { parseCdiSpec } from './cdi-spec.ts';
import type { CdiEdits, CdiSpec } from './cdi-spec.ts';

interface Found {
  /** Which directory it is from: of two devices with a name that of the later directory counts. */
  rank: number;
  file: string;
  edits: CdiEdits;
  spec: CdiSpec;
  /** Of the device, in front of those of its file. */
  annotations: Readonly<Record<string, string>>;
}

/** What devices are marked with for builds (docs/cdi.md of BuildKit). */
const AUTO_ALLOWED = 'org.mobyproject.buildkit.device.autoallow';
const CLASS = 'org.mobyproject.buildkit.device.class';

/**
 * The devices that programs of vendors have described in the directories of the Container Device Interface
 * (`cdi-spec-dirs`). They are read at each question: a driver that is installed needs no reload of this daemon.
 */
export class CdiDevices {
  readonly directories: readonly string[];
  readonly #log: Logger;

  constructor(directories: readonly string[], log: Logger) {
    this.directories = directories;
    this.#log = log;
  }

  /** Names of all devices (`vendor.com/class=name`), sorted. */
  names(): string[] {
    return [...this.#read().keys()].toSorted();
  }

  /**
   * Those that a build means: one by its name, the first of a kind (`vendor.com/class`), all of it
   * (`vendor.com/class=*`), or all that are marked with a class. `isAutoAllowed`: marked as free for each build.
   */
  find(asked: string): { name: string; isAutoAllowed: boolean }[] {
    const all = [...this.#read()].toSorted(([a], [b]) => (a < b ? -1 : 1));
    const ofKind = (kind: string): typeof all => all.filter(([, { spec }]) => spec.kind === kind);
    const pick = (): typeof all => {
      if (asked.endsWith('=*')) {
        return ofKind(asked.slice(0, -2));
      }
      if (asked.includes('=')) {
        return all.filter(([name]) => name === asked);
      }
      return asked.includes('/')
        ? ofKind(asked).slice(0, 1)
        : all.filter(([, { annotations }]) => asked !== '' && annotations[CLASS] === asked);
    };
    return pick().map(([name, { annotations }]) => ({
      name,
      isAutoAllowed: annotations[AUTO_ALLOWED] === 'true',
    }));
  }

  /**
   * What these devices bring, and once for each of their files what comes with them all. Throws invalid_argument for
   * names that no file, or two of one directory, has.
   */
  edits(names: readonly string[]): CdiEdits[] {
    if (names.length === 0) {
      return [];
    }
    const all = this.#read();
    const missing = names.filter((name) => !all.has(name));
    if (missing.length > 0) {
      const places = this.directories.join(', ');
      throw invalidArgument(
        `CDI device injection failed: unresolvable CDI devices ${missing.join(', ')} (no file in ${places} has them)`,
      );
    }
    const found = [...new Set(names)].flatMap((name) => all.get(name) ?? []);
    const common = [...new Set(found.map(({ spec }) => spec))];
    return [
      ...found.map(({ edits }) => edits),
      ...common.flatMap(({ containerEdits = [] }) => containerEdits),
    ];
  }

  #read(): Map<string, Found> {
    const devices = new Map<string, Found>();
    const twice = new Set<string>();
    for (const [rank, directory] of this.directories.entries()) {
      for (const file of filesOf(directory)) {
        const spec = this.#parse(file);
        for (const { name, annotations, containerEdits: edits } of spec?.devices ?? []) {
          const qualified = `${spec?.kind}=${name}`;
          if (devices.get(qualified)?.rank === rank) {
            this.#log.warn({ device: qualified, file }, 'a device that two files describe is in neither');
            twice.add(qualified);
          } else if (spec !== undefined) {
            twice.delete(qualified);
            const all = { ...spec.annotations, ...annotations };
            devices.set(qualified, { rank, file, edits, spec, annotations: all });
          }
        }
      }
    }
    twice.forEach((name) => devices.delete(name));
    return devices;
  }

  #parse(file: string): CdiSpec | undefined {
    try {
      if (statSync(file).size > limits.cdiFileBytesMax) {
        throw new Error(`larger than ${limits.cdiFileBytesMax} bytes`);
      }
      return parseCdiSpec(readFileSync(file, 'utf8'));
    } catch (error) {
      this.#log.warn({ file, problem: errorText(error) }, 'a description of devices cannot be read');
      return undefined;
    }
  }
}

/** In the order of their names. A directory that is not there holds none. */
function filesOf(directory: string): string[] {
  const names = ifThere(() => readdirSync(directory), ['ENOENT', 'ENOTDIR']) ?? [];
  return names
    .filter((name) => ['.json', '.yaml'].includes(extname(name)))
    .toSorted()
    .slice(0, limits.cdiFilesMax)
    .map((name) => join(directory, name));
}
