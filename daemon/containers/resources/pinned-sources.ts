import { fstatSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { errnoOf, errorText, internal, invalidArgument, notFound } from '../../base/errors.ts';
import type { EngineError } from '../../base/errors.ts';
import { failpoint } from '../../base/failpoint.ts';
import { OPEN_PATH, openBeneath } from '../../base/kernel/files/safepath.ts';
import type { OpenFile } from '../../base/kernel/files/safepath.ts';
import { persistently } from '../../base/concurrency/retry.ts';
import type { Container } from '../state/container.ts';
import type { ContainerContext } from '../context.ts';
import { containerFiles } from './container-files.ts';
import type { ImageMount, VolumeMount } from '../request/mounts/resolved-mount.ts';
import { abridged } from '../request/refuse.ts';
import { imageMounts, lowersOfImage, pinImages } from './image-mounts.ts';
import { volumeMounts } from './volumes.ts';

/** Parts of volumes, and images, that a container is to see: where each is mounted, by destination. */
export interface PinnedSources extends AsyncDisposable {
  readonly paths: ReadonlyMap<string, string>;
}

/**
 * Parts of volumes, and images or parts of them, each mounted at a place of ours until runc has made its own mount of
 * it: whoever writes to a volume may put a link there the next moment, so a name that was checked is not looked up
 * again. Throws in dockerd's words: not_found when there is none, invalid_argument when it leads out of the volume. The
 * sweep takes away what a daemon that died left.
 */
export async function pinSources(context: ContainerContext, container: Container): Promise<PinnedSources> {
  const { mounts, dataRoot } = context;
  const { directory } = containerFiles(dataRoot, container.id);
  const paths = new Map<string, string>();
  const made: string[] = [];
  const next = (): string => {
    const target = join(directory, `source-${made.length}`);
    made.push(target);
    return target;
  };
  const close = async (): Promise<void> => {
    for (const path of made.toReversed()) {
      await unmountAt(context, container, path);
    }
  };
  const pinPart = async (file: OpenFile, destination: string): Promise<void> => {
    const target = next();
    paths.set(destination, target);
    await makeTarget(target, file);
    failpoint('containers.start.subpath');
    await mounts.bind(file.path, target);
  };
  try {
    using _layers = pinImages(context, container.spec);
    for (const mount of imageMounts(container)) {
      const whole = next();
      await makeDirectory(whole);
      failpoint('containers.start.image-mount');
      await mounts.overlayView(lowersOfImage(context, mount), whole);
      if (mount.subpath) {
        using part = openPart(whole, mount.subpath);
        await pinPart(part, mount.destination);
      } else {
        paths.set(mount.destination, whole);
      }
    }
    for (const mount of subpathMounts(container)) {
      using part = openSubpath(context, mount);
      await pinPart(part, mount.destination);
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

/** That very part, to look into. Throws as `pinSources`. */
export function openSubpath({ volumePaths }: ContainerContext, mount: VolumeMount): OpenFile {
  const { name, subpath = '' } = mount;
  return openPart(volumePaths.get(name) ?? '', subpath);
}

/** An image, or the part of it that is to be seen, to look into. Throws as `pinSources`. */
export function openImage(context: ContainerContext, mount: ImageMount, empty: string): OpenFile {
  const lowers = lowersOfImage(context, mount);
  const whole = context.mounts.hiddenView(lowers.length === 0 ? [empty] : lowers);
  if (!mount.subpath) {
    return whole;
  }
  using _whole = whole;
  return openPart(whole.path, mount.subpath);
}

function openPart(base: string, subpath: string): OpenFile {
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
  if (fstatSync(source.fd).isDirectory()) {
    await makeDirectory(target);
  } else {
    await rm(target, { recursive: true, force: true });
    await writeFile(target, '', { mode: 0o600 });
  }
}

/** Of an image without layers it is all there is, as the root of a container is. */
async function makeDirectory(target: string): Promise<void> {
  await rm(target, { recursive: true, force: true });
  await mkdir(target, { mode: 0o755 });
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
    log.error(
      { container: id, path, err: error },
      'what a container mounts stays mounted for others until the next start',
    );
  }
}
