import { Readable } from 'node:stream';
import { placeSource } from '../../../storage/contexts/place-source.ts';
import { openReadRoot, openWriteRoot, statOf, type WriteRoot } from '../../../storage/contexts/roots.ts';
import { toBytes } from '../../../storage/files/view.ts';
import { plainMember } from '../../../storage/tar/plain-member.ts';
import { invalidArgument } from '../../base/errors.ts';
import { failpoint } from '../../base/failpoint.ts';
import type { CopyFiles, FilesOp, MakeDirectory, MakeFile } from '../graph/op.ts';
import type { PinnedLayers } from '../ports.ts';
import { layersOfTree, type BuildTree } from '../snapshots/tree.ts';
import { composeFiles } from './compose.ts';
import { openTree } from './open-tree.ts';
import { ownerOf, ROOT } from './owner.ts';
import type { OpDeps } from './ports.ts';
import { findSources } from './sources.ts';

const NOTHING = { kind: 'members', fd: -1, members: [] } as const;

interface Work {
  deps: OpDeps;
  root: WriteRoot;
  inputs: readonly (BuildTree | undefined)[];
  signal: AbortSignal;
}

/** Changes to a tree without a process: all of them become one layer. */
export async function runFiles(
  deps: OpDeps,
  op: FilesOp,
  { inputs, signal }: { inputs: readonly (BuildTree | undefined)[]; signal: AbortSignal },
): Promise<PinnedLayers> {
  const composed = await composeFiles(deps, op, { inputs, signal });
  if (composed !== undefined) {
    return composed;
  }
  const { actions } = op;
  const [base] = inputs;
  await using root = await openWriteRoot(deps, openTree(deps, base));
  const work = { deps, root, inputs, signal };
  for (const action of actions) {
    signal.throwIfAborted();
    switch (action.action) {
      case 'mkdir':
        await makeDirectory(work, action);
        break;
      case 'mkfile':
        await makeFile(work, action);
        break;
      case 'copy':
        await copy(work, action);
        break;
    }
  }
  failpoint('build.ops.files');
  await using tar = await root.layer(signal);
  // On a full disk there is no room for them twice: they become the layer, or go before it is unpacked.
  const files = await root.close();
  return await deps.layers.commit(layersOfTree(base), { tar, files }, signal);
}

/** One that is there stays as it is. */
async function makeDirectory({ deps, root, signal }: Work, action: MakeDirectory): Promise<void> {
  const { path, mode } = action;
  const there = statOf(root.view, path);
  if (there === 'other') {
    throw invalidArgument(`Cannot mkdir: ${path} is not a directory`);
  }
  if (there === 'nothing') {
    const member = plainMember(toBytes(path.slice(1)), { type: 'directory', mode, mtimeSeconds: seconds() });
    await deps.archives.place(
      {
        view: root.view,
        what: 'build',
        owner: ownerOf(deps, root.view, action.owner),
        directories: [],
        source: { ...NOTHING, members: [member] },
      },
      signal,
    );
  }
}

async function makeFile({ deps, root, signal }: Work, action: MakeFile): Promise<void> {
  const { path, content, mode } = action;
  const bytes = Readable.from([Buffer.from(content)]);
  await using spool = await deps.spools.raw(bytes, { what: path, signal });
  const member = {
    ...plainMember(toBytes(path.slice(1)), { type: 'file', mode, mtimeSeconds: seconds() }),
    size: spool.size,
  };
  await deps.archives.place(
    {
      view: root.view,
      what: 'build',
      owner: ownerOf(deps, root.view, action.owner),
      directories: [],
      source: { kind: 'members', fd: spool.fd, members: [member] },
    },
    signal,
  );
}

async function copy(work: Work, action: CopyFiles): Promise<void> {
  const { deps, root, inputs, signal } = work;
  const from = inputs[action.from];
  const isTree = from?.content.kind !== 'files';
  const owner = action.owner === '' ? undefined : ownerOf(deps, root.view, action.owner);
  const found = await findSources(deps, from, { sources: action.sources, signal });
  await using read = isTree ? await openReadRoot(deps, openTree(deps, from)) : undefined;
  for (const { source, asked } of found) {
    await placeSource({ ...deps, signal }, root.view, {
      what: action.unpacks ? 'ADD' : 'COPY',
      source,
      target: action.destination,
      unpacks: action.unpacks,
      // Files of a client are root's; those of another tree keep whose they are.
      ...(owner === undefined && isTree ? {} : { owner: owner ?? ROOT }),
      ...(read && { sourceView: read.view }),
      ...(action.keepsParents && { below: belowPivot(source.path, asked) }),
      adjust: { exclude: action.exclude, chmod: action.chmod },
    });
  }
}

/** What of a path stands behind the `/./` of its pattern; all of it where there is none. Pure. */
export function belowPivot(path: string, asked: string): string {
  const parts = path.split('/').filter((part) => part !== '');
  const pivot = asked.lastIndexOf('/./');
  const skipped =
    pivot === -1
      ? 0
      : asked
          .slice(0, pivot)
          .split('/')
          .filter((part) => part !== '' && part !== '.').length;
  return parts.slice(skipped).join('/');
}

function seconds(): number {
  return Math.floor(Date.now() / 1000);
}
