import type { Ulimit } from '../../../api/types/host-config.ts';
import type { LogDefaults } from './log-config.ts';

/** What the configuration of the daemon decides for containers that do not say. */
export interface EngineDefaults {
  shmSizeBytes: number;
  /** Whether others may join the IPC namespace. */
  ipcMode: 'private' | 'shareable';
  /** Empty = private on cgroup version 2, else the host's. */
  cgroupnsMode: '' | 'private' | 'host';
  init: boolean;
  noNewPrivileges: boolean;
  /** The runtime of containers that ask for none. */
  runtime: string;
  /** Names of those besides runc. */
  runtimes: readonly string[];
  log: LogDefaults;
  /** Applied unless the container has one of the same name. */
  ulimits: readonly Ulimit[];
  /** Name of a loaded AppArmor profile; null = none. */
  apparmorProfile: string | null;
  /** `builtin`, `unconfined` or the JSON of a profile, which has been checked. */
  seccomp: string;
}

/** The defaults of an unconfigured daemon. */
export const engineDefaults: EngineDefaults = {
  shmSizeBytes: 64 * 1024 * 1024,
  ipcMode: 'private',
  cgroupnsMode: '',
  init: false,
  noNewPrivileges: false,
  runtime: 'runc',
  runtimes: [],
  log: { driver: 'json-file', options: {} },
  ulimits: [],
  apparmorProfile: null,
  seccomp: 'builtin',
};
