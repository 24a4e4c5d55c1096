import { fstatSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { errnoOf, errorText, internal, invalidArgument, notFound } from '../../base/errors.ts';
import type { EngineError } from '../../base/errors.ts';
import { failpoint } from '../../base/failpoint.ts';
import { OPEN_PATH, openBeneath } from '../../base/kernel/safepath.ts';
import type { OpenFile } from '../../base/kernel/safepath.ts';
import { persistently } from '../../base/concurrency/retry.ts';
import type { Container } from '../state/container.ts';
import type { ContainerContext } from '../context.ts';
import { containerFiles } from './container-files.ts';
import type { VolumeMount } from '../request/mounts/resolved-mount.ts';
import { abridged } from '../request/refuse.ts';
import { volumeMounts } from './volumes.ts';

/** Parts of volumes that a container is to see, pinned: where each is mounted, by destination. */
export interface Subpaths extends AsyncDisposable {
  readonly paths: ReadonlyMap<string, string>;
}

/**
 * Parts of volumes, each mounted at a place of ours until runc has made its own mount of it: whoever writes to the
 * volume may put a link there the next moment, so a name that was checked is not looked up again. Throws in dockerd's
 * words: not_found when there is none, invalid_argument when it leads out of the volume. The sweep takes away what a
 * daemon that died left.
 */
export async function mountSubpaths(context: ContainerContext, container: Container): Promise<Subpaths> {
  const paths = new Map<string, string>();
  const { directory } = containerFiles(context.dataRoot, container.id);
  const close = async (): Promise<void> => {
    for (const path of paths.values()) {
      await unmountAt(context, container, path);
    }
  };
  try {
    for (const mount of subpathMounts(container)) {
      using file = openSubpath(context, mount);
      const target = join(directory, `subpath-${paths.size}`);
      paths.set(mount.destination, target);
      await makeTarget(target, file);
      failpoint('containers.start.subpath');
      await context.mounts.bind(file.path, target);
    }
  } catch (error) {
    await close();
    throw error;
  }
  return { paths, [Symbol.asyncDispose]: close };
}

/** Volume mounts that show a part of their volume. */
export function subpathMounts({ spec }: Pick<Container, 'spec'>): VolumeMount[] {
  return volumeMounts(spec).filter(({ subpath = '' }) => subpath !== '');
}

/** That very part, to look into. Throws as `mountSubpaths`. */
export function openSubpath({ volumePaths }: ContainerContext, mount: VolumeMount): OpenFile {
  const { name, subpath = '' } = mount;
  const base = volumePaths.get(name) ?? '';
  try {
    return openBeneath(base, subpath, OPEN_PATH);
  } catch (error) {
    throw refusal(base, subpath, error);
  }
}

const NOT_THERE: Readonly<Record<string, string>> = {
  ENOENT: 'no such file or directory',
  ENOTDIR: 'not a directory',
  ELOOP: 'too many levels of symbolic links',
};

function refusal(base: string, subpath: string, error: unknown): EngineError {
  const code = errnoOf(error) ?? '';
  if (code === 'EXDEV') {
    const text = `path concatenation escapes the base directory, base: ${base}, subpath: ${subpath}`;
    return invalidArgument(text, { cause: error });
  }
  if (code === 'ENAMETOOLONG') {
    return invalidArgument(`subpath ${abridged(subpath)}: a name in it is too long`, { cause: error });
  }
  const what = `cannot access path ${join(base, subpath)}`;
  const why = NOT_THERE[code];
  return why === undefined
    ? internal(`${what}: ${errorText(error)}`, { cause: error })
    : notFound(`${what}: ${why}`, { cause: error });
}

/** What can be mounted on: a directory or a file, as the source is. A start before this one may have left it. */
async function makeTarget(target: string, source: OpenFile): Promise<void> {
  await rm(target, { recursive: true, force: true });
  if (fstatSync(source.fd).isDirectory()) {
    await mkdir(target, { mode: 0o700 });
  } else {
    await writeFile(target, '', { mode: 0o600 });
  }
}

async function unmountAt(
  { mounts, clock, log }: ContainerContext,
  { id }: Container,
  path: string,
): Promise<void> {
  try {
    await persistently(clock, () => mounts.unmount(path));
    failpoint('containers.start.subpaths.unmounted');
    await rm(path, { recursive: true, force: true });
  } catch (error) {
    log.error({ container: id, path, err: error }, 'part of a volume stays mounted until the next start');
  }
}
