import { limits } from '../../base/limits.ts';
import { invalidArgument } from '../../base/errors.ts';
import { isDeviceAllowed } from '../frontend/instructions/device.ts';
import type { AskedDevice, ExecMount, ExecOp, Vertex } from '../graph/op.ts';
import type { ExecMessage, MountMessage } from './messages.ts';
import { inputAt, UsedInputs, type Inputs } from './inputs.ts';
import { BIND, readMount, rootOf } from './mounts.ts';
import type { GraphOwner } from './owner.ts';
import { readNetwork, readSecurity } from './sandbox.ts';

const EXIT_CODE_MAX = 255;
const ROOT = { uid: 0, gid: 0 };

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
  const network = readNetwork(message.network, entitlements);
  const isPrivileged = readSecurity(message.security, entitlements);
  const used = new UsedInputs((input) => inputAt(inputs, input), root.input);
  const others = mounts.filter((mount) => mount !== root);
  const devices = devicesOf(message, new Set(entitlements));
  const op: ExecOp = {
    kind: 'exec',
    argv: meta.args,
    env: meta.env,
    quietEnv: proxies(meta.proxyEnv),
    directory: meta.cwd || '/',
    user: meta.user,
    network,
    isPrivileged,
    hostname: meta.hostname,
    extraHosts: meta.extraHosts.map(({ host, ip }) => ({ name: host, address: ip })),
    ulimits: meta.ulimit,
    cgroupParent: meta.cgroupParent,
    mounts: [...others.map((mount) => readMount(mount, used)), ...message.secretEnv.map(variableOf)],
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

function resultsOf(mounts: readonly MountMessage[], root: MountMessage): Map<number, 'root' | number> {
  const results = new Map<number, 'root' | number>();
  for (const mount of mounts) {
    // Others have none, whatever they say: clients leave the field out.
    if (mount.type === BIND && mount.output !== -1) {
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
