/** The part of the OCI runtime specification (config.json, v1.0.2) that the engine writes. Types only. */

export interface OciUser {
  uid: number;
  gid: number;
  umask?: number;
  additionalGids?: number[];
}

export interface OciCapabilities {
  bounding: string[];
  effective: string[];
  permitted: string[];
  inheritable: string[];
  ambient: string[];
}

export interface OciRlimit {
  type: string;
  /** Unlimited is 2^64 - 1, which only a bigint holds. */
  hard: number | bigint;
  soft: number | bigint;
}

export interface OciProcess {
  terminal: boolean;
  consoleSize?: { height: number; width: number };
  user: OciUser;
  args: string[];
  env: string[];
  cwd: string;
  capabilities?: OciCapabilities;
  rlimits?: OciRlimit[];
  noNewPrivileges: boolean;
  apparmorProfile?: string;
  oomScoreAdj?: number;
}

export interface OciMount {
  destination: string;
  type?: string;
  source?: string;
  options?: string[];
}

export interface OciDevice {
  type: 'b' | 'c' | 'u' | 'p';
  path: string;
  major?: number;
  minor?: number;
  fileMode?: number;
  uid?: number;
  gid?: number;
}

export interface OciDeviceRule {
  allow: boolean;
  type?: 'a' | 'b' | 'c';
  major?: number;
  minor?: number;
  access?: string;
}

/** A program of the host that the runtime calls; `timeout` in seconds. */
export interface OciHook {
  path: string;
  args?: string[];
  env?: string[];
  timeout?: number;
}

type OciHookName =
  | 'prestart'
  | 'createRuntime'
  | 'createContainer'
  | 'startContainer'
  | 'poststart'
  | 'poststop';

export interface OciNamespace {
  type: 'pid' | 'network' | 'ipc' | 'uts' | 'mount' | 'user' | 'cgroup';
  path?: string;
}

export interface OciResources {
  devices?: OciDeviceRule[];
  memory?: {
    limit?: number;
    reservation?: number;
    swap?: number;
    kernel?: number;
    swappiness?: number;
    disableOOMKiller?: boolean;
  };
  cpu?: {
    shares?: number;
    quota?: number;
    period?: number;
    realtimeRuntime?: number;
    realtimePeriod?: number;
    cpus?: string;
    mems?: string;
  };
  pids?: { limit: number };
  blockIO?: {
    weight?: number;
    weightDevice?: { major: number; minor: number; weight: number }[];
    throttleReadBpsDevice?: { major: number; minor: number; rate: number }[];
    throttleWriteBpsDevice?: { major: number; minor: number; rate: number }[];
    throttleReadIOPSDevice?: { major: number; minor: number; rate: number }[];
    throttleWriteIOPSDevice?: { major: number; minor: number; rate: number }[];
  };
}

export interface OciSeccomp {
  defaultAction: string;
  defaultErrnoRet?: number;
  architectures?: string[];
  flags?: string[];
  syscalls: {
    names: string[];
    action: string;
    errnoRet?: number;
    args?: { index: number; value: number | bigint; valueTwo?: number | bigint; op: string }[];
  }[];
}

export interface OciSpec {
  ociVersion: string;
  process: OciProcess;
  root: { path: string; readonly: boolean };
  hostname?: string;
  domainname?: string;
  mounts: OciMount[];
  annotations?: Record<string, string>;
  hooks?: Partial<Record<OciHookName, OciHook[]>>;
  linux: {
    namespaces: OciNamespace[];
    cgroupsPath: string;
    devices?: OciDevice[];
    resources: OciResources;
    seccomp?: OciSeccomp;
    maskedPaths?: string[];
    readonlyPaths?: string[];
    mountLabel?: string;
    rootfsPropagation?: string;
    sysctl?: Record<string, string>;
  };
}
