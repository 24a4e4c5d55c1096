import { posix } from 'node:path';
import { limits } from '../../base/limits.ts';
import { EngineError, invalidArgument, notImplemented } from '../../base/errors.ts';
import { isDeviceAllowed } from '../frontend/instructions/device.ts';
import type { AskedDevice, ExecMount, ExecOp, Vertex } from '../graph/op.ts';
import type { ExecMessage, MountMessage } from './messages.ts';
import { inputAt, UsedInputs, type Inputs } from './inputs.ts';
import type { GraphOwner } from './owner.ts';

/** `MountType`, `NetMode` and `SecurityMode` of ops.proto. */
const MOUNT = { bind: 0, secret: 1, ssh: 2, cache: 3, tmpfs: 4 } as const;
const NETWORKS = ['default', 'host', 'none'] as const;
const SANDBOX = 0;
const INSECURE = 1;
/** Of `MountContentCache`: a mount does not count by what is in it. */
const CONTENT_CACHE_OFF = 2;
const EXIT_CODE_MAX = 255;
const SHARING = ['shared', 'private', 'locked'] as const;
const ROOT = { uid: 0, gid: 0 };
const DIRECTORY_MODE = 0o755;

/** A command, and which of its mounts are which of its results; its root is the mount at `/`. */
export interface ReadCommand {
  vertex: Vertex;
  /** Numbers of results of mounts; `root`: the command's own. */
  results: ReadonlyMap<number, 'root' | number>;
}

/** Throws invalid_argument, and not_implemented, by the field. */
export function readCommand(message: ExecMessage, inputs: Inputs, { entitlements }: GraphOwner): ReadCommand {
  const { meta, mounts } = message;
  if (mounts.length > limits.llbMountsMax) {
    throw invalidArgument(`mounts: more than ${limits.llbMountsMax} of one command`);
  }
  const root = rootOf(mounts);
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
  const used = new UsedInputs((input) => inputAt(inputs, input), root.input);
  const others = mounts.filter((mount) => mount !== root);
  const devices = devicesOf(message, new Set(entitlements));
  if (message.security !== SANDBOX && message.security !== INSECURE) {
    throw notImplemented(`security mode ${message.security} of a command is not supported`);
  }
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
    ...(devices.length > 0 && { devices }),
    ...(root.isReadonly && { isRootReadonly: true }),
    ...(meta.validExitCodes.length > 0 && { validExitCodes: exitCodes(meta.validExitCodes) }),
    ...(!meta.removesStubParents && { keepsStubParents: true }),
  };
  const vertex = { op, inputs: used.all, name: meta.args.join(' ') };
  return { vertex, results: resultsOf(mounts, root) };
}

function devicesOf({ devices }: ExecMessage, entitlements: ReadonlySet<string>): AskedDevice[] {
  return devices.map(({ name, isOptional }) => ({
    name,
    isRequired: !isOptional,
    isAllowed: isDeviceAllowed(name, entitlements),
  }));
}

function rootOf(mounts: readonly MountMessage[]): MountMessage {
  const [root, ...more] = mounts.filter(({ dest }) => posix.resolve('/', dest) === '/');
  if (root === undefined || more.length > 0) {
    throw invalidArgument(`mounts: ${more.length === 0 ? 'none' : 'more than one'} of a command is at /`);
  }
  if (root.type !== MOUNT.bind || root.selector !== '') {
    throw notImplemented('mounts: a root that is no whole tree is not supported in graphs (LLB)');
  }
  return root;
}

function resultsOf(mounts: readonly MountMessage[], root: MountMessage): Map<number, 'root' | number> {
  const results = new Map<number, 'root' | number>();
  for (const mount of mounts) {
    // Others have none, whatever they say: clients leave the field out.
    if (mount.type === MOUNT.bind && mount.output !== -1) {
      if (mount.output < 0 || mount.output >= mounts.length) {
        throw invalidArgument(`mount ${mount.dest}: output ${mount.output} of ${mounts.length} mounts`);
      }
      if (results.has(mount.output)) {
        throw invalidArgument(`mount ${mount.dest}: output ${mount.output} is that of another mount, too`);
      }
      results.set(mount.output, mount === root ? 'root' : mount.output);
    }
  }
  return results;
}

/** Each of them once: their order is nothing. */
function exitCodes(codes: readonly number[]): number[] {
  const wrong = codes.find((code) => code < 0 || code > EXIT_CODE_MAX);
  if (wrong !== undefined) {
    throw invalidArgument(`validExitCodes: ${wrong} must be between 0 and ${EXIT_CODE_MAX}`);
  }
  return [...new Set(codes)].toSorted((a, b) => a - b);
}

function mountOf(mount: MountMessage, used: UsedInputs): ExecMount {
  const target = posix.resolve('/', mount.dest);
  const source = posix.resolve('/', mount.selector);
  switch (mount.type) {
    case MOUNT.bind:
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
