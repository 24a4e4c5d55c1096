import { posix } from 'node:path';
import { invalidArgument, notImplemented } from '../../base/errors.ts';
import type { ExecMount, Vertex } from '../graph/op.ts';
import type { MountMessage } from './messages.ts';

/** `MountType` of ops.proto. */
export const BIND = 0;
const MOUNT = { secret: 1, ssh: 2, cache: 3, tmpfs: 4 } as const;
/** Of `MountContentCache`: a mount does not count by what is in it. */
const CONTENT_CACHE_OFF = 2;
const SHARING = ['shared', 'private', 'locked'] as const;
const ROOT = { uid: 0, gid: 0 };
const DIRECTORY_MODE = 0o755;
/** Of users, groups and modes: 32 bits, of which the last number means none. */
const ID_MAX = 2 ** 32 - 2;

/** What mounts are of. */
export interface MountInputs {
  /** There is something, not an empty tree. */
  isGiven(input: number): boolean;
  /** What it is made by, where that is known. */
  vertexAt(input: number): Vertex | undefined;
  /** Its position among the inputs of the command. */
  positionOf(input: number): number;
}

/** The one mount at `/`. Throws invalid_argument. */
export function rootOf(mounts: readonly MountMessage[]): MountMessage {
  const [root, ...more] = mounts.filter(({ dest }) => posix.resolve('/', dest) === '/');
  if (root === undefined || more.length > 0) {
    throw invalidArgument(`mounts: ${more.length === 0 ? 'none' : 'more than one'} of a command is at /`);
  }
  if (root.type !== BIND || root.selector !== '') {
    throw notImplemented('mounts: a root that is no whole tree is not supported in graphs (LLB)');
  }
  return root;
}

/** Throws invalid_argument, and not_implemented, by the field. Pure. */
export function readMount(mount: MountMessage, used: MountInputs): ExecMount {
  const target = placeIn(mount.dest, 'dest');
  const source = placeIn(mount.selector, 'selector');
  switch (mount.type) {
    case BIND:
      return {
        type: 'bind',
        from: used.positionOf(mount.input),
        source,
        target,
        isWritable: !mount.isReadonly,
        ...(mount.output >= 0 && { result: mount.output }),
        ...(mount.contentCache === CONTENT_CACHE_OFF && { isWhole: true }),
      };
    case MOUNT.cache:
      return cacheOf(mount, { source, target }, used);
    case MOUNT.tmpfs: {
      const sizeBytes = mount.tmpfs?.size ?? 0;
      return { type: 'tmpfs', target, ...(sizeBytes > 0 && { sizeBytes }) };
    }
    case MOUNT.secret:
    case MOUNT.ssh: {
      const type = mount.type === MOUNT.secret ? 'secret' : 'ssh';
      const option = mount.type === MOUNT.secret ? mount.secret : mount.ssh;
      if (option === undefined) {
        throw invalidArgument(`mount ${target} of type ${type} without its options`);
      }
      const { id, uid, gid, mode, isOptional } = option;
      const wrong = [uid, gid, mode].find((number) => number < 0 || number > ID_MAX);
      if (wrong !== undefined) {
        throw invalidArgument(`mount ${target} of type ${type}: uid, gid or mode ${wrong} is out of range`);
      }
      return { type, id, target, isRequired: !isOptional, owner: { uid, gid }, mode };
    }
    default:
      throw notImplemented(`mount type ${mount.type} at ${target} is not supported`);
  }
}

function placeIn(path: string, field: string): string {
  if (path.includes('\0')) {
    throw invalidArgument(`mounts: ${field} ${JSON.stringify(path)} cannot hold a NUL character`);
  }
  return posix.resolve('/', path);
}

/** Clients say whose a new cache is by a tree that has nothing but its directory. */
function cacheOf(
  mount: MountMessage,
  { source, target }: { source: string; target: string },
  used: MountInputs,
): ExecMount {
  const { id, sharing: number } = mount.cache ?? { id: '', sharing: 0 };
  const sharing = SHARING[number];
  if (sharing === undefined) {
    throw invalidArgument(`sharing mode ${number} of cache ${id}`);
  }
  const cache = { type: 'cache', id: id || target, sharing, target, isWritable: !mount.isReadonly } as const;
  const seed = used.vertexAt(mount.input);
  const [made, ...more] = seed?.op.kind === 'files' && seed.inputs[0] === undefined ? seed.op.actions : [];
  const [, uid = '0', gid = uid] =
    /^(\d+)(?::(\d+))?$/.exec(made?.action === 'mkdir' ? made.owner || '0' : '') ?? [];
  if (
    made?.action === 'mkdir' &&
    made.path === source &&
    more.length === 0 &&
    /^\d+(?::\d+)?$|^$/.test(made.owner)
  ) {
    return { ...cache, source: '/', owner: { uid: Number(uid), gid: Number(gid) }, mode: made.mode };
  }
  const from = used.isGiven(mount.input) ? { from: used.positionOf(mount.input) } : {};
  return { ...cache, ...from, source, owner: ROOT, mode: DIRECTORY_MODE };
}
