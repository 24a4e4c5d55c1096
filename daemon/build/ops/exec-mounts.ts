import { randomBytes } from 'node:crypto';
import { chmod, chown, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { toBytes } from '../../../storage/files/view.ts';
import type { HiddenFile } from '../../containers/request/mounts/hidden-files.ts';
import { invalidArgument, invariant, notFound, unreachable } from '../../base/errors.ts';
import { failpoint } from '../../base/failpoint.ts';
import { limits } from '../../base/limits.ts';
import type { Logger } from '../../base/logger.ts';
import { Rollback } from '../../base/rollback.ts';
import type { ExecMount, ExecOp } from '../graph/op.ts';
import type { PinnedLayers } from '../ports.ts';
import { layersOfTree, type BuildTree } from '../snapshots/tree.ts';
import type { RunContext } from '../solver/ports.ts';
import { openAgentSocket } from './agent-socket.ts';
import { secretIfThere, sessionOf, type OpDeps } from './ports.ts';
import { fillFrom, mountTree } from './tree-mounts.ts';

/** What each command has in /etc that is not its image's, as with BuildKit. */
const FILES_OF_COMMANDS = ['/etc/resolv.conf', '/etc/hosts'];

/** What a command sees beside its root, until it is disposed of. */
export interface ExecMounts extends AsyncDisposable {
  files: HiddenFile[];
  /** By place: options. */
  tmpfs: Record<string, string>;
  /** `NAME=value` of secrets. */
  env: string[];
  /** Places in the root that exist only so that something can be mounted there; byte strings. */
  mountPoints: Record<string, 'directory' | 'file'>;
  /** Trees that are results of the command, to be asked for once it has ended. */
  results: { number: number; target: string; made: (signal: AbortSignal) => Promise<PinnedLayers> }[];
}

type Mount<T extends ExecMount['type']> = Extract<ExecMount, { type: T }>;

interface Preparation {
  deps: OpDeps;
  inputs: readonly (BuildTree | undefined)[];
  context: RunContext;
  undo: Rollback;
  directory: string;
  keepsStubParents: boolean;
  mounts: Omit<ExecMounts, keyof AsyncDisposable>;
}

/** Prepares them. Throws with nothing left; what a daemon that dies leaves is below `temporary`. */
export async function prepareMounts(
  deps: OpDeps & { log: Logger },
  { mounts, keepsStubParents = false }: Pick<ExecOp, 'mounts' | 'keepsStubParents'>,
  { inputs, context }: { inputs: readonly (BuildTree | undefined)[]; context: RunContext },
): Promise<ExecMounts> {
  const directory = join(deps.temporary, `build-mounts-${randomBytes(8).toString('hex')}`);
  const undo = new Rollback(deps.log, { directory });
  const prepared: Preparation = {
    deps,
    inputs,
    context,
    undo,
    directory,
    mounts: { files: [], tmpfs: {}, env: [], mountPoints: {}, results: [] },
    keepsStubParents,
  };
  try {
    failpoint('build.ops.mounts');
    FILES_OF_COMMANDS.forEach((file) => place(prepared, file, 'file'));
    if (mounts.length > 0) {
      undo.defer('remove directories of mounts', () => deps.archives.remove(directory));
      await mkdir(directory, { mode: 0o700 });
    }
    for (const [position, mount] of mounts.entries()) {
      await prepare(prepared, mount, join(directory, String(position)));
    }
    return { ...prepared.mounts, [Symbol.asyncDispose]: () => undo[Symbol.asyncDispose]() };
  } catch (error) {
    await undo[Symbol.asyncDispose]();
    throw error;
  }
}

async function prepare(prepared: Preparation, mount: ExecMount, directory: string): Promise<void> {
  switch (mount.type) {
    case 'bind':
      await bind(prepared, mount, directory);
      break;
    case 'cache':
      await cache(prepared, mount);
      break;
    case 'tmpfs':
      prepared.mounts.tmpfs[mount.target] = mount.sizeBytes === undefined ? '' : `size=${mount.sizeBytes}`;
      place(prepared, mount.target, 'directory');
      break;
    case 'secret':
      await secret(prepared, mount, directory);
      break;
    case 'ssh':
      await agent(prepared, mount, directory);
      break;
    default:
      unreachable(mount);
  }
}

async function bind(
  { deps, inputs, context, undo, ...prepared }: Preparation,
  { from, source, target, isWritable, result: number }: Mount<'bind'>,
  directory: string,
): Promise<void> {
  const { signal } = context;
  const tree = inputs[from];
  const { path, kind, changed } = await mountTree(deps, tree, { source, directory, undo, signal });
  const { mounts } = prepared;
  mounts.files.push({ source: path, target, isWritable });
  place(prepared, target, kind);
  if (number !== undefined) {
    invariant(changed !== undefined, 'a result that stands on no layers');
    const made = async (ended: AbortSignal): Promise<PinnedLayers> => {
      failpoint('build.ops.mount.result');
      // Below a part of a tree nothing is told apart from what the command has made.
      const points = source === '/' ? pointsBelow(mounts.mountPoints, target) : {};
      await using tar = await changed(points, ended);
      return await deps.layers.commit(layersOfTree(tree), { tar }, ended);
    };
    mounts.results.push({ number, target, made });
  }
}

/** Places below a mount that exist only so that something else can be mounted there. */
function pointsBelow(points: ExecMounts['mountPoints'], target: string): ExecMounts['mountPoints'] {
  const prefix = `${toBytes(target)}/`;
  return Object.fromEntries(
    Object.entries(points).flatMap(([path, kind]) =>
      path.startsWith(prefix) ? [[path.slice(prefix.length - 1), kind]] : [],
    ),
  );
}

async function cache(
  { deps, inputs, context, undo, ...prepared }: Preparation,
  { id, sharing, from, source, target, isWritable, owner, mode }: Mount<'cache'>,
): Promise<void> {
  const { signal } = context;
  const tree = from === undefined ? undefined : inputs[from];
  const seed = (directory: string): Promise<void> => fillFrom(deps, tree, { source, directory, signal });
  const used = await deps.caches.use(
    { id, sharing, owner, mode, ...(from !== undefined && { seed }) },
    signal,
  );
  undo.defer('give back a cache', async () => await used[Symbol.asyncDispose]());
  prepared.mounts.files.push({ source: used.path, target, isWritable });
  place(prepared, target, 'directory');
}

/** In memory, never on a disk. */
async function secret(
  { deps, context, undo, ...prepared }: Preparation,
  { id, target, env, isRequired, owner, mode }: Mount<'secret'>,
  directory: string,
): Promise<void> {
  const data = await secretOf(deps, context, id);
  if (data === undefined) {
    if (isRequired) {
      throw notFound(`secret ${id}: not found`);
    }
    return;
  }
  if (env !== undefined) {
    prepared.mounts.env.push(`${env}=${data.toString('utf8')}`);
  }
  if (target === undefined) {
    return;
  }
  await mkdir(directory, { mode: 0o700 });
  await deps.mounts.secretTmpfs(directory, {
    source: 'secret',
    sizeBytes: limits.buildSecretsBytesMax,
    mode: 0o700,
  });
  undo.defer('unmount a secret', () => deps.mounts.unmount(directory));
  const file = join(directory, 'secret');
  failpoint('build.ops.secret');
  await writeFile(file, data, { mode: 0o600 });
  await chown(file, owner.uid, owner.gid);
  await chmod(file, mode);
  prepared.mounts.files.push({ source: file, target });
  place(prepared, target, 'file');
}

/** A socket that leads to the key agent of the client. */
async function agent(
  { deps, context, undo, ...prepared }: Preparation,
  { id, target, isRequired, owner, mode }: Mount<'ssh'>,
  directory: string,
): Promise<void> {
  const { signal } = context;
  const session = await sessionOf(deps.sessions, context.sessions(), signal);
  if (!(await session.hasAgent(id, signal))) {
    if (isRequired) {
      throw notFound(`unset ssh forward key ${id}`);
    }
    return;
  }
  await mkdir(directory, { mode: 0o700 });
  const opened = await openAgentSocket(session, { id, directory, owner, mode, signal });
  undo.defer('close the socket of a key agent', async () => await opened[Symbol.asyncDispose]());
  prepared.mounts.files.push({ source: opened.path, target });
  place(prepared, target, 'file');
}

async function secretOf(deps: OpDeps, context: RunContext, id: string): Promise<Buffer | undefined> {
  const { signal } = context;
  return await secretIfThere(await sessionOf(deps.sessions, context.sessions(), signal), id, signal);
}

/** Notes a place with all above it. */
function place(
  { mounts, keepsStubParents }: Pick<Preparation, 'mounts' | 'keepsStubParents'>,
  target: string,
  kind: 'directory' | 'file',
): void {
  if (!target.startsWith('/') || target === '/') {
    throw invalidArgument(`invalid mount target ${JSON.stringify(target)}`);
  }
  const parts = target.split('/').filter((part) => part !== '');
  for (const end of keepsStubParents ? [parts.length - 1] : parts.keys()) {
    const path = toBytes(`/${parts.slice(0, end + 1).join('/')}`);
    mounts.mountPoints[path] = end === parts.length - 1 ? kind : 'directory';
  }
}
