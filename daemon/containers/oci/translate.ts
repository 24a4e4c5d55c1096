import type { HostFacts } from '../../../runtime/host/facts.ts';
import type { OciNamespace, OciSeccomp, OciSpec } from '../../../runtime/runc/spec-types.ts';
import { compileSeccomp, parseSeccompProfile } from '../../../runtime/security/seccomp-profile.ts';
import { defaultSeccomp } from '../../../runtime/security/seccomp.ts';
import { limits } from '../../base/limits.ts';
import type { ContainerSpec } from '../request/container-spec.ts';
import { parseSecurityOptions } from '../request/security-options.ts';
import type { HostDevices } from './host-devices.ts';
import type { MountFacts } from './mounts.ts';
import { rootPropagation, translateMounts } from './mounts.ts';
import type { ProcessFacts } from './process.ts';
import { buildInitProcess } from './process.ts';
import type { DeviceNumber } from './resources.ts';
import { translateResources } from './resources.ts';

/** What is known only when a container starts. */
export interface LaunchFacts extends ProcessFacts {
  /** The mounted root file system. */
  rootPath: string;
  /** `<parent>/<id>`, as the runtime wants it. */
  cgroupsPath: string;
  /** The network namespace to join; null = the host's. */
  netnsPath: string | null;
  /** `/proc/<pid>/ns/pid` of the container whose processes are shared (PidMode `container:`). */
  pidNamespacePath?: string;
  /** `/proc/<pid>/ns/ipc` of the container whose IPC objects are shared (IpcMode `container:`). */
  ipcNamespacePath?: string;
  sharedMemory: MountFacts['sharedMemory'];
  files: MountFacts['files'];
  volumePaths: MountFacts['volumePaths'];
  pinnedSources: MountFacts['pinnedSources'];
  devices: HostDevices;
  blockDevices: ReadonlyMap<string, DeviceNumber>;
  /** A file system counts what it writes, in its own layer or in a volume. */
  hasQuota: boolean;
}

const OCI_VERSION = '1.0.2';
const CGROUP_ROOT = '/sys/fs/cgroup';

/** The runtime's configuration of a container. Pure: same specification and facts, same result. */
export function translate(spec: ContainerSpec, facts: LaunchFacts): OciSpec {
  const { config, hostConfig } = spec;
  const { host } = facts;
  const process = buildInitProcess(spec, facts);
  const seccomp = seccompOf(spec, facts, process.capabilities?.bounding ?? []);
  const propagation = rootPropagation(spec.mounts);
  const sysctl = sysctls(spec, facts);
  return {
    ociVersion: OCI_VERSION,
    process,
    root: { path: facts.rootPath, readonly: hostConfig.ReadonlyRootfs },
    ...(hostConfig.UTSMode === '' && { hostname: config.Hostname ?? '' }),
    mounts: translateMounts(spec, {
      defaults: facts.defaults,
      files: facts.files,
      sharedMemory: facts.sharedMemory,
      volumePaths: facts.volumePaths,
      pinnedSources: facts.pinnedSources,
      initPath: host.components.init?.path,
      recursiveReadOnly: host.recursiveReadOnly,
    }),
    ...annotations(spec, host),
    linux: {
      namespaces: namespaces(spec, facts),
      cgroupsPath: facts.cgroupsPath,
      ...(facts.devices.devices.length > 0 && { devices: facts.devices.devices }),
      resources: translateResources(hostConfig, facts.devices.rules, facts.blockDevices),
      ...(seccomp && { seccomp }),
      ...(hostConfig.MaskedPaths && { maskedPaths: hostConfig.MaskedPaths }),
      ...(hostConfig.ReadonlyPaths && {
        readonlyPaths: readonlyPaths(spec, hostConfig.ReadonlyPaths, facts),
      }),
      ...(propagation && { rootfsPropagation: propagation }),
      ...(Object.keys(sysctl).length > 0 && { sysctl }),
    },
  };
}

/**
 * Under the systemd driver runc takes properties of the scope from annotations. systemd ends the scope when the host
 * goes down (or an administrator stops it): with the container's own signal and patience, and leaves no failed unit
 * behind, which would be in the way of the next start. What the request says of a property holds.
 */
function annotations(spec: ContainerSpec, host: HostFacts): { annotations?: Record<string, string> } {
  const asked = spec.hostConfig.Annotations ?? {};
  if (host.cgroup.driver !== 'systemd') {
    return spec.hostConfig.Annotations ? { annotations: asked } : {};
  }
  const seconds = spec.stopTimeout ?? limits.stopTimeoutDefaultS;
  const property = 'org.systemd.property';
  return {
    annotations: {
      [`${property}.CollectMode`]: "'inactive-or-failed'",
      [`${property}.KillSignal`]: `int32 ${spec.stopSignal}`,
      // Negative = as long as it takes; systemd's word for that is the largest number.
      [`${property}.TimeoutStopUSec`]: `uint64 ${seconds < 0 ? '18446744073709551615' : seconds * 1_000_000}`,
      ...asked,
    },
  };
}

function namespaces(spec: ContainerSpec, facts: LaunchFacts): OciNamespace[] {
  const { IpcMode, PidMode, UTSMode, CgroupnsMode } = spec.hostConfig;
  const result: OciNamespace[] = [{ type: 'mount' }];
  if (facts.netnsPath !== null) {
    result.push({ type: 'network', path: facts.netnsPath });
  }
  if (UTSMode !== 'host') {
    result.push({ type: 'uts' });
  }
  if (PidMode !== 'host') {
    result.push({ type: 'pid', ...(facts.pidNamespacePath && { path: facts.pidNamespacePath }) });
  }
  if (IpcMode !== 'host') {
    result.push({ type: 'ipc', ...(facts.ipcNamespacePath && { path: facts.ipcNamespacePath }) });
  }
  if (CgroupnsMode === 'private') {
    result.push({ type: 'cgroup' });
  }
  return result;
}

/**
 * On cgroup version 1 runc mounts a tmpfs at /sys/fs/cgroup to hold the controllers, and leaves it writable even where
 * read-only was asked for; a container that has read-only paths, and no mount of its own there, gets this one too.
 */
function readonlyPaths(spec: ContainerSpec, paths: readonly string[], { host }: LaunchFacts): string[] {
  const isOurs = !spec.mounts.some(({ destination }) => /^\/sys(?:\/|$)/.test(destination));
  return paths.length > 0 && host.cgroup.version === 1 && isOurs ? [...paths, CGROUP_ROOT] : [...paths];
}

/** The filter asked for, else that of the daemon; privileged containers only have one they ask for. */
function seccompOf(
  spec: ContainerSpec,
  { host, defaults, hasQuota }: LaunchFacts,
  capabilities: readonly string[],
): OciSeccomp | undefined {
  const { Privileged, SecurityOpt } = spec.hostConfig;
  const asked =
    parseSecurityOptions(SecurityOpt ?? []).seccomp ?? (Privileged ? 'unconfined' : defaults.seccomp);
  const target = {
    architecture: host.imageArchitecture,
    kernelVersion: host.kernelVersion,
    capabilities,
  };
  if (asked === 'unconfined' || !host.seccomp) {
    return undefined;
  }
  return asked === 'builtin'
    ? defaultSeccomp(target, { keepsProjects: hasQuota })
    : compileSeccomp(parseSeccompProfile(asked), target);
}

/**
 * In a network of its own a container may ping and listen on low ports without capabilities, as in every engine;
 * parameters that the client sets win.
 */
function sysctls(spec: ContainerSpec, facts: LaunchFacts): Record<string, string> {
  const { hostConfig, config } = spec;
  const isOwnNetwork = facts.netnsPath !== null && !hostConfig.NetworkMode.startsWith('container:');
  return {
    ...(isOwnNetwork && {
      'net.ipv4.ping_group_range': '0 2147483647',
      'net.ipv4.ip_unprivileged_port_start': '0',
    }),
    ...(config.Domainname && hostConfig.UTSMode === '' && { 'kernel.domainname': config.Domainname }),
    ...hostConfig.Sysctls,
  };
}
