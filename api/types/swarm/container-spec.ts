/** What a service's task runs: `ContainerSpec` of the wire at API 1.55. Types only. */

import type { HealthConfig } from '../container.ts';
import type { MountRequest, Ulimit } from '../host-config.ts';
import type { StringMap } from '../maps.ts';

/** A secret or config as a file: mode is the integer of the permission bits (0444 is 292). */
interface FileTarget {
  Name: string;
  UID: string;
  GID: string;
  Mode: number;
}

/** Id and name must both be those of one existing secret. */
export interface SecretReference {
  File?: FileTarget;
  SecretID: string;
  SecretName: string;
}

/** As `SecretReference`; `Runtime` instead of `File` where the config is a credential spec. */
export interface ConfigReference {
  File?: FileTarget;
  Runtime?: Record<string, never>;
  ConfigID: string;
  ConfigName: string;
}

interface PrivilegesSpec {
  CredentialSpec?: { Config?: string; File?: string; Registry?: string } | null;
  SELinuxContext?: { Disable: boolean; User?: string; Role?: string; Type?: string; Level?: string } | null;
  Seccomp?: { Mode?: string; Profile?: string } | null;
  AppArmor?: { Mode?: string } | null;
  NoNewPrivileges?: boolean;
}

/** `Command` is an image's entrypoint, `Args` its command, unlike in a container. `StopGracePeriod` in nanoseconds. */
export interface ContainerSpec {
  Image?: string;
  Labels?: StringMap | null;
  Command?: string[] | null;
  Args?: string[] | null;
  Hostname?: string;
  Env?: string[] | null;
  Dir?: string;
  User?: string;
  Groups?: string[] | null;
  Privileges?: PrivilegesSpec | null;
  Init?: boolean | null;
  StopSignal?: string;
  TTY?: boolean;
  OpenStdin?: boolean;
  ReadOnly?: boolean;
  Mounts?: MountRequest[] | null;
  StopGracePeriod?: number | null;
  Healthcheck?: HealthConfig | null;
  /** `IP name aliases`, as a line of a hosts file. */
  Hosts?: string[] | null;
  DNSConfig?: { Nameservers?: string[]; Search?: string[]; Options?: string[] } | null;
  Secrets?: SecretReference[] | null;
  Configs?: ConfigReference[] | null;
  Isolation?: string;
  Sysctls?: StringMap | null;
  CapabilityAdd?: string[] | null;
  CapabilityDrop?: string[] | null;
  Ulimits?: Ulimit[] | null;
  /** -1000 to 1000; the higher, the sooner the kernel kills it when memory is short. */
  OomScoreAdj?: number;
}
