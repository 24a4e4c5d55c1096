import { closeSync, existsSync, openSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { conflict, EngineError, errorText, isEngineError } from '../../base/errors.ts';
import { tryLock } from '../../base/kernel/files/file-lock.ts';
import { silentLogger } from '../../base/logger.ts';
import { mountPointsBelow, parseMountInfo } from '../../../runtime/mounts/mountinfo.ts';
import { checkStore, type Reported } from '../../../storage/check/check.ts';
import { Store } from '../../../storage/check/store.ts';
import { StoreRecords } from '../../../storage/database/store-records.ts';
import { RootfsDirectories } from '../../../storage/layers/rootfs.ts';
import { ProjectQuotas } from '../../../storage/quotas/project-quotas.ts';
import type { Config } from '../config/settings.ts';
import { instanceOf, type InstancePaths } from '../instance.ts';
import { lockDataRoot } from '../host/lock.ts';
import { realPath } from '../host/real-path.ts';

/** Begins a line that is written over: back to its start, then erase it (ECMA-48). */
const OVER = '\r\u001B[K';

interface CheckOptions {
  repair: boolean;
  /** One JSON document instead of lines of text. */
  json: boolean;
}

/**
 * `berthd system check`: looks through the data root and reports what is damaged. Answers the exit code: 0 = nothing is
 * damaged (any more), 1 = something is. What the next start sweeps by itself is reported and is no damage. Throws
 * EngineError when the check cannot run: no data root, no rights, or `repair` beside a daemon.
 */
export async function systemCheck(
  config: Config,
  options: CheckOptions,
  write: (text: string) => void,
): Promise<number> {
  // What it makes for a moment has the modes that the daemon would give it.
  process.umask(0o022);
  const { paths } = instanceOf({ ...config, dataRoot: realPath(config.dataRoot) });
  using lock = takeLock(paths.dataRoot, options);
  const reports: Reported[] = [];
  const progress = new CheckProgress(process.stderr);
  for await (const report of look(paths, options, { isInUse: lock.isInUse, progress })) {
    reports.push(report);
    if (!options.json) {
      progress.clear();
      write(textOf(report));
    }
  }
  progress.clear();
  const remaining = reports.filter(({ state }) => state !== 'repaired');
  const leftOver = remaining.filter(isLeftOver).length;
  const damaged = remaining.length - leftOver;
  const summary = { dataRoot: paths.dataRoot, besideDaemon: lock.isInUse, damaged, leftOver };
  write(
    options.json
      ? `${JSON.stringify({ ...summary, findings: reports }, undefined, 2)}\n`
      : lastLine(summary, reports.length),
  );
  return damaged === 0 ? 0 : 1;
}

async function* look(
  paths: InstancePaths,
  { repair }: CheckOptions,
  { isInUse, progress }: { isInUse: boolean; progress: CheckProgress },
): AsyncGenerator<Reported> {
  const opened = openRecords(paths, repair);
  if ('problem' in opened) {
    const remedy = 'restore berth.db from a backup';
    const state = repair ? 'remains' : 'found';
    yield { kind: 'database', subject: 'the database', problem: opened.problem, remedy, state };
    return;
  }
  using records = opened.records;
  const rootfs = new RootfsDirectories({
    dataRoot: paths.dataRoot,
    layers: {
      diff: (id) => store.layerDiff(id),
      initLayer: (id) => join(store.layerDirectory(id), 'init'),
      temporary: () => paths.temporary,
      sizeBytes: () => 0,
    },
    quotas: new ProjectQuotas(),
    sizes: async () => [],
    removeTree: async () => undefined,
    log: silentLogger,
  });
  const store = new Store({ paths, records, isInUse, mounted: mountedContainers(paths.containers) });
  yield* checkStore(store, {
    repair,
    makeRootfs: (id, layerIds) => rootfs.create(id, layerIds),
    databaseProblems: opened.problems,
    progress: (what, share) => progress.show(what, share),
  });
}

/** The rows and what SQLite reports of them; or why there are none. */
function openRecords(
  { database, execRoot }: InstancePaths,
  repair: boolean,
): { records: StoreRecords; problems: readonly string[] } | { problem: string } {
  try {
    const records = StoreRecords.read(database, { scratch: execRoot, log: silentLogger });
    const problems = records.integrityProblems();
    if (!repair) {
      return { records, problems };
    }
    records[Symbol.dispose]();
    return { records: StoreRecords.change(database, silentLogger), problems };
  } catch (error) {
    if (isEngineError(error, 'internal')) {
      return { problem: errorText(error) };
    }
    throw error;
  }
}

/** Held to the end: no daemon starts meanwhile. Without `repair` a daemon may have it. */
function takeLock(dataRoot: string, { repair }: CheckOptions): Disposable & { isInUse: boolean } {
  if (!existsSync(dataRoot)) {
    throw new EngineError('unavailable', `system check: there is no data root ${dataRoot}`);
  }
  if (repair) {
    try {
      const held = lockDataRoot(dataRoot);
      return { isInUse: false, [Symbol.dispose]: () => held[Symbol.dispose]() };
    } catch (error) {
      throw isEngineError(error, 'conflict')
        ? conflict(`system check --repair: ${errorText(error)}: stop it first`, { cause: error })
        : error;
    }
  }
  const path = join(dataRoot, 'berth.lock');
  if (!existsSync(path)) {
    return { isInUse: false, [Symbol.dispose]: () => undefined };
  }
  const fd = openSync(path, 'r');
  return { isInUse: !tryLock(fd, path), [Symbol.dispose]: () => closeSync(fd) };
}

/** Ids of containers whose root is mounted. */
function mountedContainers(containers: string): ReadonlySet<string> {
  const mounts = parseMountInfo(readFileSync('/proc/self/mountinfo', 'utf8'));
  return new Set(
    mountPointsBelow(mounts, containers)
      .filter((path) => basename(path) === 'merged')
      .map((path) => basename(dirname(path))),
  );
}

/** The next start of a daemon sweeps it: no damage. */
function isLeftOver({ kind }: Reported): boolean {
  return kind === 'left-over';
}

function textOf(report: Reported): string {
  const { subject, problem, remedy, state, outcome } = report;
  const after = {
    found: isLeftOver(report) ? 'no damage: the next start of the daemon removes it' : `to repair: ${remedy}`,
    repaired: `repaired: ${outcome}`,
    remains: `not repaired: ${outcome ?? remedy}`,
  }[state];
  return `${subject}: ${problem}\n    ${after}\n`;
}

interface Summary {
  dataRoot: string;
  besideDaemon: boolean;
  damaged: number;
  leftOver: number;
}

function lastLine({ dataRoot, besideDaemon, damaged, leftOver }: Summary, found: number): string {
  const beside = besideDaemon
    ? 'A daemon works on it: what has no owner was not looked at, as it may be on its way.\n'
    : '';
  const repaired = found - damaged - leftOver;
  const result =
    damaged > 0
      ? `${found} found, ${damaged} damaged`
      : repaired > 0
        ? `${found} found, all repaired`
        : 'nothing is damaged';
  return `${beside}${dataRoot}: ${result}\n`;
}

/**
 * One line on a terminal that says what `system check` looks at. Elsewhere nothing is written: neither a file nor a
 * program that reads the output wants it.
 */
class CheckProgress {
  readonly terminal: { isTTY?: boolean; write(text: string): unknown };
  #shown = '';

  constructor(terminal: CheckProgress['terminal']) {
    this.terminal = terminal;
  }

  /** `layers`, or `layers 42 %`. */
  show(what: string, share?: number): void {
    const text = `checking ${what}${share === undefined ? '' : ` ${Math.floor(share * 100)} %`} ...`;
    if (this.terminal.isTTY === true && text !== this.#shown) {
      this.terminal.write(`${OVER}${text}`);
      this.#shown = text;
    }
  }

  /** Before anything else is written, and at the end. */
  clear(): void {
    if (this.#shown !== '') {
      this.terminal.write(OVER);
      this.#shown = '';
    }
  }
}
