import type { HostConfig, RestartPolicy, Ulimit } from '../../../api/types/host-config.ts';
import type { HostFacts } from '../../../runtime/host/facts.ts';
import { invalidArgument } from '../../base/errors.ts';
import { checkCgroupParent } from './limits/cgroup-parent.ts';
import { checkDevices } from './limits/devices.ts';
import { normaliseLogConfig } from './log-config.ts';
import type { NamespaceModes } from './namespaces.ts';
import { loopbackWarnings, nameResolution, normalisePortBindings } from './networking.ts';
import { refuseUnlessEmpty, wholeNumber } from './refuse.ts';
import { normaliseResources } from './limits/resources.ts';
import {
  checkCapabilities,
  checkSecurityOptions,
  checkSysctls,
  parseSecurityOptions,
} from './security-options.ts';
import { maskedPaths, READONLY_PATHS } from './system-paths.ts';
import { storageLimit } from './limits/storage-options.ts';
import { checkUlimits } from './limits/ulimits.ts';
import type { NormalHostConfig, Omittable } from './container-spec.ts';
import type { EngineDefaults } from './engine-defaults.ts';

/** runc, under the names clients know it by. */
const RUNC = new Set(['runc', 'io.containerd.runc.v2']);
const OOM_SCORE_MAX = 1000;
const CONSOLE_SIDE_MAX = 65_535;

/**
 * Checks a HostConfig and fills in its defaults: null where a list was not given, as with dockerd, for clients that
 * compare. Pure. Throws invalid_argument.
 */
export function normaliseHostConfig(
  asked: HostConfig,
  world: { facts: HostFacts; defaults: EngineDefaults; modes: NamespaceModes },
): { hostConfig: NormalHostConfig; warnings: string[] } {
  const { facts, defaults, modes } = world;
  refuseUnlessEmpty('Cgroup', asked.Cgroup);
  const security = parseSecurityOptions(asked.SecurityOpt ?? []);
  checkSecurityOptions(security, facts);
  const { resources, warnings } = normaliseResources(asked, facts);
  const privileged = asked.Privileged ?? false;
  const hidesPaths = !privileged && !security.unmaskSystemPaths;
  const hostConfig: NormalHostConfig = {
    Binds: asked.Binds ?? null,
    ContainerIDFile: asked.ContainerIDFile ?? '',
    LogConfig: normaliseLogConfig(asked.LogConfig, defaults.log),
    NetworkMode: modes.NetworkMode,
    PortBindings: asked.PortBindings ? normalisePortBindings(asked.PortBindings) : null,
    RestartPolicy: checkRestartPolicy(asked.RestartPolicy, { autoRemove: asked.AutoRemove ?? false }),
    AutoRemove: asked.AutoRemove ?? false,
    VolumeDriver: asked.VolumeDriver ?? '',
    VolumesFrom: asked.VolumesFrom ?? null,
    ConsoleSize: consoleSize(asked.ConsoleSize),
    CapAdd: asked.CapAdd ?? null,
    CapDrop: asked.CapDrop ?? null,
    CgroupnsMode: modes.CgroupnsMode,
    ...nameResolution(asked),
    GroupAdd: asked.GroupAdd ?? null,
    IpcMode: modes.IpcMode,
    Cgroup: '',
    // Kept as ids in the specification; inspect shows the names of then.
    Links: null,
    OomScoreAdj: oomScore(asked),
    PidMode: modes.PidMode,
    Privileged: privileged,
    PublishAllPorts: asked.PublishAllPorts ?? false,
    ReadonlyRootfs: asked.ReadonlyRootfs ?? false,
    SecurityOpt: asked.SecurityOpt ?? null,
    UTSMode: modes.UTSMode,
    UsernsMode: modes.UsernsMode,
    ShmSize: shmSize(asked, defaults),
    Runtime: runtimeName(asked.Runtime ?? '', defaults),
    Isolation: isolation(asked.Isolation ?? ''),
    ...resources,
    CgroupParent: checkCgroupParent(asked.CgroupParent ?? '', facts.cgroup.driver, 'CgroupParent'),
    ...checkDevices(asked),
    DeviceRequests: asked.DeviceRequests ?? null,
    Ulimits: asked.Ulimits ? checkUlimits(asked.Ulimits) : null,
    MaskedPaths: asked.MaskedPaths ?? (hidesPaths ? maskedPaths(facts) : nothing(privileged)),
    ReadonlyPaths: asked.ReadonlyPaths ?? (hidesPaths ? READONLY_PATHS : nothing(privileged)),
    ...omittable(asked, modes),
  };
  checkPaths('MaskedPaths', hostConfig.MaskedPaths);
  checkPaths('ReadonlyPaths', hostConfig.ReadonlyPaths);
  checkInit(hostConfig, world);
  warnings.push(...checkCapabilities(asked, facts), ...ulimitWarnings(hostConfig.Ulimits ?? [], facts));
  if (!facts.ipv4Forwarding && ['default', 'bridge'].includes(modes.NetworkMode)) {
    warnings.push('IPv4 forwarding is disabled. Networking will not work.');
  }
  if (modes.NetworkMode === 'host' && Object.keys(hostConfig.PortBindings ?? {}).length > 0) {
    warnings.push('Published ports are discarded when using host network mode');
  }
  warnings.push(...loopbackWarnings(hostConfig.PortBindings ?? {}));
  return { hostConfig, warnings };
}

function omittable(asked: HostConfig, modes: NamespaceModes): Pick<HostConfig, Omittable> {
  const sysctls = asked.Sysctls ?? {};
  const annotations = asked.Annotations ?? {};
  const storage = asked.StorageOpt ?? {};
  checkSysctls(sysctls, modes);
  storageLimit(storage);
  if ('' in annotations) {
    throw invalidArgument('invalid Annotations: the empty string is not permitted as an annotation key');
  }
  return {
    ...(asked.Mounts?.length && { Mounts: asked.Mounts }),
    ...(Object.keys(asked.Tmpfs ?? {}).length > 0 && { Tmpfs: asked.Tmpfs ?? {} }),
    ...(Object.keys(sysctls).length > 0 && { Sysctls: sysctls }),
    ...(Object.keys(storage).length > 0 && { StorageOpt: storage }),
    ...(Object.keys(annotations).length > 0 && { Annotations: annotations }),
    ...(typeof asked.Init === 'boolean' && { Init: asked.Init }),
  };
}

/** A restart policy with its defaults. Throws invalid_argument with dockerd's texts. */
export function checkRestartPolicy(
  asked: RestartPolicy | undefined,
  { autoRemove }: { autoRemove: boolean },
): Required<RestartPolicy> {
  const name = asked?.Name || 'no';
  const retries = wholeNumber('RestartPolicy.MaximumRetryCount', asked?.MaximumRetryCount);
  if (!['no', 'always', 'on-failure', 'unless-stopped'].includes(name)) {
    throw invalidArgument(
      `invalid restart policy: unknown policy '${name}'; use one of 'no', 'always', 'on-failure', or 'unless-stopped'`,
    );
  }
  if (name !== 'on-failure' && retries !== 0) {
    throw invalidArgument(
      "invalid restart policy: maximum retry count can only be used with 'on-failure'" +
        (retries < 0 ? ' and cannot be negative' : ''),
    );
  }
  if (retries < 0) {
    throw invalidArgument('invalid restart policy: maximum retry count cannot be negative');
  }
  if (autoRemove && name !== 'no') {
    throw invalidArgument("can't create 'AutoRemove' container with restart policy");
  }
  return { Name: name, MaximumRetryCount: retries };
}

function consoleSize(size: [number, number] | undefined): [number, number] {
  const [height = 0, width = 0] = size ?? [];
  for (const side of [height, width]) {
    if (wholeNumber('ConsoleSize', side) < 0 || side > CONSOLE_SIDE_MAX) {
      throw invalidArgument(`invalid ConsoleSize: ${height}x${width}`);
    }
  }
  return [height, width];
}

function oomScore(asked: HostConfig): number {
  const score = wholeNumber('OomScoreAdj', asked.OomScoreAdj);
  if (Math.abs(score) > OOM_SCORE_MAX) {
    throw invalidArgument(`Invalid value ${score}, range for oom score adj is [-1000, 1000]`);
  }
  return score;
}

function shmSize(asked: HostConfig, defaults: EngineDefaults): number {
  const size = wholeNumber('ShmSize', asked.ShmSize);
  if (size < 0) {
    throw invalidArgument('SHM size can not be less than 0');
  }
  return size === 0 ? defaults.shmSizeBytes : size;
}

function runtimeName(name: string, { runtime, runtimes }: EngineDefaults): string {
  if (name !== '' && !RUNC.has(name) && !runtimes.includes(name)) {
    throw invalidArgument(`unknown or invalid runtime name: ${name}`);
  }
  return name || runtime;
}

function isolation(name: string): string {
  if (name !== '' && name.toLowerCase() !== 'default') {
    throw invalidArgument(`invalid isolation (${name}): linux only supports 'default'`);
  }
  return name;
}

/** dockerd shows null for privileged containers and an empty list where a client emptied it. */
function nothing(privileged: boolean): string[] | null {
  return privileged ? null : [];
}

function checkPaths(field: string, paths: readonly string[] | null): void {
  const wrong = paths?.find((path) => !path.startsWith('/'));
  if (wrong !== undefined) {
    throw invalidArgument(`invalid ${field}: path must be absolute: ${wrong}`);
  }
}

function checkInit(
  hostConfig: NormalHostConfig,
  world: { facts: HostFacts; defaults: EngineDefaults },
): void {
  if ((hostConfig.Init ?? world.defaults.init) && world.facts.components.init === null) {
    throw invalidArgument('Init is not possible: no docker-init or tini binary was found on this host');
  }
}

function ulimitWarnings(ulimits: readonly Ulimit[], facts: HostFacts): string[] {
  if (facts.boundingSet.includes('CAP_SYS_RESOURCE')) {
    return [];
  }
  return ulimits
    .filter(({ Name, Hard }) => {
      const ceiling = facts.rlimits[Name]?.hard ?? null;
      return ceiling !== null && (Hard === -1 || Hard > ceiling);
    })
    .map(
      ({ Name }) =>
        `The daemon may not raise limits beyond its own (no CAP_SYS_RESOURCE): ${Name} is cut to ` +
        `${facts.rlimits[Name]?.hard}`,
    );
}
