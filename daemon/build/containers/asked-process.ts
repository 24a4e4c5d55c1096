import type { NewBuildProcess } from '../../../api/types/build/containers.ts';
import { errorText, invalidArgument, notImplemented } from '../../base/errors.ts';
import { commandMeta } from '../llb/messages.ts';
import { readSecurity } from '../llb/sandbox.ts';

const PATH = 'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
/** The highest descriptor that a process is given. */
const STDERR = 2;

/** A process to be started. */
export interface AskedProcess {
  argv: readonly string[];
  /** `NAME=value`; never without PATH. */
  env: readonly string[];
  directory: string;
  /** `''` = root. */
  user: string;
  isPrivileged: boolean;
  isTerminal: boolean;
  hasInput: boolean;
  secrets: NewBuildProcess['secrets'];
}

/** Throws invalid_argument, forbidden without an entitlement, and not_implemented by the field. Pure. */
export function readProcess(asked: NewBuildProcess, entitlements: readonly string[]): AskedProcess {
  const { fds, isTerminal, secrets } = asked;
  const further = fds.find((fd) => fd > STDERR);
  if (further !== undefined) {
    throw notImplemented(`fds: descriptor ${further} of a process is not supported: only 0, 1 and 2 are`);
  }
  const nameless = secrets.find(({ id }) => id === '');
  if (nameless !== undefined) {
    throw invalidArgument(`secret ID missing for ${JSON.stringify(nameless.name)} environment variable`);
  }
  const meta = readMeta(asked.meta);
  if (meta.args.length === 0) {
    throw invalidArgument('a process without arguments');
  }
  const hasPath = meta.env.some((pair) => pair.startsWith('PATH='));
  return {
    argv: meta.args,
    env: hasPath ? meta.env : [...meta.env, PATH],
    directory: meta.cwd || '/',
    user: meta.user,
    isPrivileged: readSecurity(asked.security, entitlements),
    isTerminal,
    hasInput: fds.includes(0),
    secrets,
  };
}

function readMeta(bytes: Buffer): ReturnType<typeof commandMeta.decode> {
  let meta: ReturnType<typeof commandMeta.decode>;
  try {
    meta = commandMeta.decode(bytes);
  } catch (error) {
    throw invalidArgument(`meta of a process: ${errorText(error)}`, { cause: error });
  }
  const given = {
    proxyEnv: meta.proxyEnv !== undefined,
    extraHosts: meta.extraHosts.length > 0,
    hostname: meta.hostname !== '',
    ulimit: meta.ulimit.length > 0,
    cgroupParent: meta.cgroupParent !== '',
    validExitCodes: meta.validExitCodes.length > 0,
  };
  const refused = Object.entries(given).find(([, isGiven]) => isGiven)?.[0];
  if (refused !== undefined) {
    throw notImplemented(`meta.${refused} of a process in a container is not supported`);
  }
  return meta;
}
