import type { ExecCreateRequest } from '../../../api/types/exec.ts';
import type { Ulimit } from '../../../api/types/host-config.ts';
import type { HostFacts } from '../../../runtime/host/facts.ts';
import type { OciCapabilities, OciProcess, OciRlimit } from '../../../runtime/runc/spec-types.ts';
import { requestedCapabilities } from '../../../runtime/security/capabilities.ts';
import { invalidArgument } from '../../base/errors.ts';
import { checkEnv, checkWorkingDirectory, envName } from '../request/config.ts';
import type { ContainerSpec } from '../request/container-spec.ts';
import type { EngineDefaults } from '../request/engine-defaults.ts';
import { refuseNul } from '../request/refuse.ts';
import { parseSecurityOptions } from '../request/security-options.ts';
import type { ResolvedUser } from './user.ts';

/** Where the init binary appears in a container; clients look for this name. */
export const INIT_PATH = '/sbin/docker-init';

const DEFAULT_PATH = 'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
/** RLIM_INFINITY of setrlimit(2). */
const RLIMIT_UNLIMITED = 2n ** 64n - 1n;

export interface ProcessFacts {
  host: HostFacts;
  defaults: EngineDefaults;
  /** The user of this process, looked up in the container's own root. */
  user: ResolvedUser;
  /** Variables of its links and its hub token; the container's own entries win. */
  ownVariables?: readonly string[];
}

/** The container's first process. Pure. */
export function buildInitProcess(spec: ContainerSpec, facts: ProcessFacts): OciProcess {
  const { config, hostConfig } = spec;
  const [height, width] = hostConfig.ConsoleSize;
  const tty = config.Tty ?? false;
  return {
    ...sandboxOf(spec, facts, hostConfig.Privileged),
    terminal: tty,
    ...(tty && (height > 0 || width > 0) && { consoleSize: { height, width } }),
    args: [...(hasInit(spec, facts.defaults) ? [INIT_PATH, '--'] : []), spec.path, ...spec.args],
    env: environment(spec, tty, facts, []),
    cwd: config.WorkingDir || '/',
  };
}

/**
 * A further process of a running container, in the same sandbox as the first one; `Privileged` adds capabilities and
 * nothing else, as in dockerd. Pure. Throws invalid_argument.
 */
export function buildExecProcess(
  spec: ContainerSpec,
  request: ExecCreateRequest,
  facts: ProcessFacts,
): OciProcess {
  refuseNul(request);
  const args = request.Cmd ?? [];
  const tty = request.Tty ?? false;
  const [height = 0, width = 0] = request.ConsoleSize ?? [];
  if (args.length === 0 || args[0] === '') {
    throw invalidArgument('No exec command specified');
  }
  checkEnv(request.Env ?? []);
  return {
    ...sandboxOf(spec, facts, spec.hostConfig.Privileged || (request.Privileged ?? false)),
    terminal: tty,
    ...(tty && (height > 0 || width > 0) && { consoleSize: { height, width } }),
    args,
    env: environment(spec, tty, facts, request.Env ?? []),
    cwd: checkWorkingDirectory(request.WorkingDir ?? '') || spec.config.WorkingDir || '/',
  };
}

/** True when the first process is an init that reaps: only where the container has processes of its own. */
export function hasInit(spec: ContainerSpec, defaults: EngineDefaults): boolean {
  return spec.hostConfig.PidMode === '' && (spec.hostConfig.Init ?? defaults.init);
}

type Sandbox = Omit<OciProcess, 'terminal' | 'consoleSize' | 'args' | 'env' | 'cwd'>;

/** What a process may do, the same for every process of a container. */
function sandboxOf(spec: ContainerSpec, facts: ProcessFacts, privileged: boolean): Sandbox {
  const { hostConfig } = spec;
  const { host, defaults, user } = facts;
  const security = parseSecurityOptions(hostConfig.SecurityOpt ?? []);
  const apparmor =
    security.apparmor ?? (hostConfig.Privileged ? 'unconfined' : (defaults.apparmorProfile ?? ''));
  const rlimits = rlimitsOf(hostConfig.Ulimits ?? [], facts);
  return {
    user: { uid: user.uid, gid: user.gid, additionalGids: user.additionalGids },
    capabilities: capabilitiesOf(spec, host, user.uid, privileged),
    ...(rlimits.length > 0 && { rlimits }),
    noNewPrivileges: security.noNewPrivileges ?? defaults.noNewPrivileges,
    ...(host.apparmor && apparmor !== '' && { apparmorProfile: apparmor }),
    oomScoreAdj: oomScore(hostConfig.OomScoreAdj, host),
  };
}

/**
 * Bounding set as asked, cut to what the daemon itself has. Inheritable and ambient stay empty (CVE-2022-24769), and
 * other users than root start with none: they gain some only through files that carry them.
 */
export function capabilitiesOf(
  spec: ContainerSpec,
  host: HostFacts,
  uid: number,
  privileged: boolean,
): OciCapabilities {
  const bounding = requestedCapabilities({
    privileged,
    add: spec.hostConfig.CapAdd ?? [],
    drop: spec.hostConfig.CapDrop ?? [],
  }).filter((name) => host.boundingSet.includes(name));
  const active = uid === 0 ? bounding : [];
  return { bounding, effective: active, permitted: active, inheritable: [], ambient: [] };
}

/**
 * PATH, HOSTNAME (but for a build's command) and TERM, links, then the container's own entries in order; a name without
 * `=` takes one away.
 */
function environment(
  spec: ContainerSpec,
  tty: boolean,
  { user, ownVariables = [] }: ProcessFacts,
  extra: readonly string[],
): string[] {
  const entries = new Map<string, string>();
  const defaults = [
    DEFAULT_PATH,
    ...(spec.ofCommand ? [] : [`HOSTNAME=${spec.config.Hostname ?? ''}`]),
    ...(tty ? ['TERM=xterm'] : []),
  ];
  for (const entry of [...defaults, ...ownVariables, ...(spec.config.Env ?? []), ...extra]) {
    if (entry.includes('=')) {
      entries.set(envName(entry), entry);
    } else {
      entries.delete(entry);
    }
  }
  if (!entries.has('HOME')) {
    entries.set('HOME', `HOME=${user.home}`);
  }
  return [...entries.values()];
}

/** Raising a hard limit needs CAP_SYS_RESOURCE; without it the daemon's own limit is the ceiling. */
function rlimitsOf(ulimits: readonly Ulimit[], { host, defaults }: ProcessFacts): OciRlimit[] {
  const own = new Set(ulimits.map(({ Name }) => Name));
  const isFree = host.boundingSet.includes('CAP_SYS_RESOURCE');
  return [...ulimits, ...defaults.ulimits.filter(({ Name }) => !own.has(Name))].map((ulimit) => {
    const ceiling = isFree ? null : (host.rlimits[ulimit.Name]?.hard ?? null);
    const cut = (value: number): number | bigint => {
      if (ceiling !== null && (value === -1 || value > ceiling)) {
        return ceiling;
      }
      return value === -1 ? RLIMIT_UNLIMITED : value;
    };
    return { type: `RLIMIT_${ulimit.Name.toUpperCase()}`, hard: cut(ulimit.Hard), soft: cut(ulimit.Soft) };
  });
}

/** Below the daemon's own score only CAP_SYS_RESOURCE leads. */
function oomScore(wanted: number, host: HostFacts): number {
  return host.boundingSet.includes('CAP_SYS_RESOURCE') ? wanted : Math.max(wanted, host.oomScoreAdj);
}
