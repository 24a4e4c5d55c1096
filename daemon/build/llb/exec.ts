import { posix } from 'node:path';
import { EngineError, invalidArgument, notImplemented } from '../../base/errors.ts';
import type { ExecMount, ExecOp, Vertex } from '../graph/op.ts';
import type { ExecMessage, MountMessage } from './messages.ts';
import { UsedInputs, type Inputs } from './inputs.ts';
import type { GraphOwner } from './owner.ts';

/** `MountType`, `NetMode` and `SecurityMode` of ops.proto. */
const MOUNT = { bind: 0, secret: 1, ssh: 2, cache: 3, tmpfs: 4 } as const;
const NETWORKS = ['default', 'host', 'none'] as const;
const INSECURE = 1;
const SHARING = ['shared', 'private', 'locked'] as const;
const ROOT = { uid: 0, gid: 0 };
const DIRECTORY_MODE = 0o755;

/** A command. Its root is the mount at `/`, and the only one that has a result. */
export function execVertex(message: ExecMessage, inputs: Inputs, { entitlements }: GraphOwner): Vertex {
  const { meta, mounts } = message;
  const root = mounts.find(({ dest }) => posix.resolve('/', dest) === '/');
  if (root === undefined || root.type !== MOUNT.bind || root.output !== 0 || root.selector !== '') {
    throw notImplemented('commands whose root is no tree that they change are not supported in graphs (LLB)');
  }
  const [program] = meta.args;
  if (program === undefined) {
    throw invalidArgument('a command without arguments');
  }
  const network = NETWORKS[message.network];
  if (network === undefined) {
    throw notImplemented(`network mode ${message.network} of a command is not supported`);
  }
  if (network === 'host' && !entitlements.includes('network.host')) {
    throw new EngineError('forbidden', 'network.host is not allowed');
  }
  if (message.security === INSECURE && !entitlements.includes('security.insecure')) {
    throw new EngineError('forbidden', 'security.insecure is not allowed');
  }
  const used = new UsedInputs(inputs, root.input);
  const others = mounts.filter((mount) => mount !== root);
  const op: ExecOp = {
    kind: 'exec',
    argv: meta.args,
    env: meta.env,
    quietEnv: proxies(meta.proxyEnv),
    directory: meta.cwd || '/',
    user: meta.user,
    network,
    isPrivileged: message.security === INSECURE,
    hostname: meta.hostname,
    extraHosts: meta.extraHosts.map(({ host, ip }) => ({ name: host, address: ip })),
    ulimits: meta.ulimit,
    cgroupParent: meta.cgroupParent,
    mounts: [...others.map((mount) => mountOf(mount, used)), ...message.secretEnv.map(variableOf)],
  };
  return { op, inputs: used.all, name: meta.args.join(' ') };
}

function mountOf(mount: MountMessage, used: UsedInputs): ExecMount {
  const target = posix.resolve('/', mount.dest);
  const source = posix.resolve('/', mount.selector);
  if (mount.output > 0 && !mount.isReadonly) {
    throw notImplemented(`the result of mount ${target} is not supported`);
  }
  switch (mount.type) {
    case MOUNT.bind:
      return {
        type: 'bind',
        from: used.positionOf(mount.input),
        source,
        target,
        isWritable: !mount.isReadonly,
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
      return { type, id, target, isRequired: !isOptional, owner: { uid, gid }, mode };
    }
    default:
      throw notImplemented(`mount type ${mount.type} at ${target} is not supported`);
  }
}

/** Clients say whose a new cache is by a tree that has nothing but its directory. */
function cacheOf(
  mount: MountMessage,
  { source, target }: { source: string; target: string },
  used: UsedInputs,
): ExecMount {
  const { id, sharing: number } = mount.cache ?? { id: '', sharing: 0 };
  const sharing = SHARING[number];
  if (sharing === undefined) {
    throw invalidArgument(`sharing mode ${number} of cache ${id}`);
  }
  const cache = { type: 'cache', id: id || target, sharing, target, isWritable: !mount.isReadonly } as const;
  const seed = used.at(mount.input);
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
  const from = seed === undefined ? {} : { from: used.positionOf(mount.input) };
  return { ...cache, ...from, source, owner: ROOT, mode: DIRECTORY_MODE };
}

function variableOf({ id, name, isOptional }: ExecMessage['secretEnv'][number]): ExecMount {
  return { type: 'secret', id, env: name, isRequired: !isOptional, owner: ROOT, mode: 0 };
}

/** In both spellings, as programs look for either. */
function proxies(given: ExecMessage['meta']['proxyEnv']): string[] {
  const { httpProxy = '', httpsProxy = '', ftpProxy = '', noProxy = '', allProxy = '' } = given ?? {};
  const values = {
    HTTP_PROXY: httpProxy,
    HTTPS_PROXY: httpsProxy,
    FTP_PROXY: ftpProxy,
    NO_PROXY: noProxy,
    ALL_PROXY: allProxy,
  };
  return Object.entries(values).flatMap(([name, value]) =>
    value === '' ? [] : [`${name}=${value}`, `${name.toLowerCase()}=${value}`],
  );
}
