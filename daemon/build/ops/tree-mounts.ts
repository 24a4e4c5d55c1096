import { fstatSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join, posix } from 'node:path';
import { placeSource } from '../../../storage/contexts/place-source.ts';
import { openReadRoot } from '../../../storage/contexts/roots.ts';
import type { ChangesRequest } from '../../../storage/files/changes.ts';
import type { ChangesTar } from '../../../storage/files/tar-spools.ts';
import { toBytes } from '../../../storage/files/view.ts';
import { errnoOf } from '../../base/errors.ts';
import { failpoint } from '../../base/failpoint.ts';
import { openInRoot, openRoot, OPEN_PATH, type OpenFile } from '../../base/kernel/files/safepath.ts';
import type { Rollback } from '../../base/rollback.ts';
import { layersOfTree, type BuildTree } from '../snapshots/tree.ts';
import { openTree } from './open-tree.ts';
import type { OpDeps } from './ports.ts';
import { literal } from '../graph/literal.ts';
import { findSources, missingIn } from './sources.ts';

/** Something of a tree, somewhere on the host. */
export interface MountedTree {
  path: string;
  kind: 'directory' | 'file';
  /** What has become of it, where it has layers; without empty things at these places. */
  changed?: (points: ChangesRequest['mountPoints'], signal: AbortSignal) => Promise<ChangesTar>;
}

/**
 * A part of a tree below `directory`, which is ours and is made: layers as an overlay of its own, whose writes nobody
 * sees who does not ask for them; files of a client as copies. Throws not_found.
 */
export async function mountTree(
  deps: OpDeps,
  tree: BuildTree | undefined,
  {
    source,
    directory,
    undo,
    signal,
  }: { source: string; directory: string; undo: Rollback; signal: AbortSignal },
): Promise<MountedTree> {
  await mkdir(directory, { mode: 0o700 });
  if (tree?.content.kind === 'files') {
    return await copyOut(deps, tree, { source, directory, signal });
  }
  const [upper, work, merged] = await directories(directory, ['upper', 'work', 'merged']);
  const layers = openTree(deps, tree);
  const lowers = layers.length === 0 ? [await empty(directory)] : layers;
  failpoint('build.ops.mount');
  await deps.mounts.overlay({ lowers, upper, work, merged }, { readonly: false });
  undo.defer('unmount a tree of a build', () => deps.mounts.unmount(merged));
  using root = openRoot(merged);
  using found = openPart(root, source, () => missingIn(deps, tree, source));
  const kind = fstatSync(found.fd).isDirectory() ? 'directory' : 'file';
  // A link in the tree may lead anywhere: what was found is pinned, not looked up again.
  const path = join(directory, 'part');
  await (kind === 'directory' ? mkdir(path, { mode: 0o700 }) : writeFile(path, '', { mode: 0o600 }));
  await deps.mounts.bind(found.path, path);
  undo.defer('unmount a part of a tree', () => deps.mounts.unmount(path));
  return {
    path,
    kind,
    changed: (points, ended) => changesOf(deps, { lowers, upper, merged }, points, ended),
  };
}

async function changesOf(
  { mounts, spools }: OpDeps,
  at: { lowers: readonly string[]; upper: string; merged: string },
  mountPoints: ChangesRequest['mountPoints'],
  signal: AbortSignal,
): Promise<ChangesTar> {
  using upper = openRoot(at.upper);
  using merged = openRoot(at.merged);
  using lower = mounts.hiddenView([...at.lowers]);
  const all = { upper: upper.fd, merged: merged.fd, lower: lower.fd, isPlain: true };
  return await spools.ofChanges({ ...all, ...(mountPoints && { mountPoints }) }, signal);
}

/** Copies a part of a tree into a directory of ours. */
export async function fillFrom(
  deps: OpDeps,
  tree: BuildTree | undefined,
  { source, directory, signal }: { source: string; directory: string; signal: AbortSignal },
): Promise<void> {
  const [found] = await findSources(deps, tree, { sources: [literal(source)], signal });
  if (found === undefined) {
    throw missingIn(deps, tree, source);
  }
  await using read =
    tree?.content.kind === 'files' ? undefined : await openReadRoot(deps, openTree(deps, tree));
  using root = openRoot(directory);
  const view = { root: root.fd, isReadOnly: false, mounts: [], empty: root.fd };
  await placeSource({ ...deps, signal }, view, {
    what: 'mount',
    source: found.source,
    target: '/data',
    unpacks: false,
    ...(read && { sourceView: read.view }),
    ...(layersOfTree(tree).length === 0 && { owner: { uid: 0, gid: 0 } }),
  });
}

async function copyOut(
  deps: OpDeps,
  tree: BuildTree,
  { source, directory, signal }: { source: string; directory: string; signal: AbortSignal },
): Promise<MountedTree> {
  const [found] = await findSources(deps, tree, { sources: [literal(source)], signal });
  if (found === undefined) {
    throw missingIn(deps, tree, source);
  }
  await fillFrom(deps, tree, { source, directory, signal });
  return { path: join(directory, 'data'), kind: found.source.isDirectory ? 'directory' : 'file' };
}

function openPart(root: OpenFile, source: string, missing: () => Error): OpenFile {
  try {
    return openInRoot(root.fd, toBytes(posix.resolve('/', source)).slice(1), OPEN_PATH);
  } catch (error) {
    if (errnoOf(error) === 'ENOENT' || errnoOf(error) === 'ENOTDIR' || errnoOf(error) === 'ELOOP') {
      throw missing();
    }
    throw error;
  }
}

async function empty(directory: string): Promise<string> {
  const path = join(directory, 'empty');
  await mkdir(path, { mode: 0o755 });
  return path;
}

async function directories<const N extends readonly string[]>(
  below: string,
  names: N,
): Promise<{ [K in keyof N]: string }> {
  const paths = names.map((name) => join(below, name));
  for (const path of paths) {
    await mkdir(path, { mode: path.endsWith('work') ? 0o700 : 0o755 });
  }
  // As many as names.
  return paths as { [K in keyof N]: string };
}
