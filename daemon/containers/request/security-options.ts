import type { HostConfig } from '../../../api/types/host-config.ts';
import type { HostFacts } from '../../../runtime/host/facts.ts';
import { parseCapability, isAll, requestedCapabilities } from '../../../runtime/security/capabilities.ts';
import { parseSeccompProfile } from '../../../runtime/security/seccomp-profile.ts';
import { errorText, invalidArgument } from '../../base/errors.ts';
import { notSupportedYet } from './refuse.ts';

/** SecurityOpt, read. What is absent is up to the daemon's defaults. */
export interface SecurityOptions {
  /** `builtin`, `unconfined`, or the JSON of a profile. */
  seccomp?: string;
  noNewPrivileges?: boolean;
  apparmor?: string;
  /** Nothing of /proc and /sys is masked. */
  unmaskSystemPaths: boolean;
}

const BOOLEANS: Record<string, boolean> = {
  '1': true,
  t: true,
  T: true,
  true: true,
  TRUE: true,
  True: true,
  '0': false,
  f: false,
  F: false,
  false: false,
  FALSE: false,
  False: false,
};

/** Reads `key=value` (or the old `key:value`) options. Throws invalid_argument with dockerd's text for unknown ones. */
export function parseSecurityOptions(options: readonly string[]): SecurityOptions {
  const result: SecurityOptions = { unmaskSystemPaths: false };
  for (const option of options) {
    const [, key = '', value] = /^([a-z-]+)(?:[=:]([^]*))?$/.exec(option) ?? [];
    switch (key) {
      case 'no-new-privileges':
        result.noNewPrivileges = value === undefined || readBoolean(option, value);
        break;
      case 'seccomp':
        result.seccomp = value ?? '';
        break;
      case 'apparmor':
        result.apparmor = value ?? '';
        break;
      case 'systempaths':
        if (value !== 'unconfined') {
          throw invalidSecurityOption(option);
        }
        result.unmaskSystemPaths = true;
        break;
      case 'label':
      case 'disable':
        // Containers have no SELinux label, so switching it off is already so; any other label cannot be given.
        if (key === 'label' && value !== 'disable') {
          throw notSupportedYet('SecurityOpt', option);
        }
        break;
      default:
        throw invalidSecurityOption(option);
    }
  }
  return result;
}

function readBoolean(option: string, text: string): boolean {
  const value = BOOLEANS[text];
  if (value === undefined) {
    throw invalidSecurityOption(option);
  }
  return value;
}

function invalidSecurityOption(option: string): Error {
  return invalidArgument(`invalid --security-opt: ${JSON.stringify(option)}`);
}

/** Throws invalid_argument for options that this machine cannot put in force; a container must not run without. */
export function checkSecurityOptions(options: SecurityOptions, facts: HostFacts): void {
  const { seccomp, apparmor } = options;
  if (seccomp !== undefined && seccomp !== 'unconfined') {
    if (!facts.seccomp) {
      throw invalidArgument('seccomp is not enabled in your kernel, cannot run a custom seccomp profile');
    }
    if (seccomp !== 'builtin') {
      try {
        parseSeccompProfile(seccomp);
      } catch (error) {
        throw invalidArgument(`Decoding seccomp profile failed: ${errorText(error)}`, { cause: error });
      }
    }
  }
  if (apparmor !== undefined && apparmor !== 'unconfined' && !facts.apparmor) {
    throw invalidArgument(`SecurityOpt apparmor=${apparmor}: AppArmor is not enabled on this host`);
  }
}

/** Throws for unknown names; warns for those this daemon does not have itself and so cannot hand on. */
export function checkCapabilities(host: HostConfig, facts: HostFacts): string[] {
  for (const field of ['CapAdd', 'CapDrop'] as const) {
    for (const name of host[field] ?? []) {
      if (!isAll(name) && parseCapability(name) === undefined) {
        const full = name.toUpperCase().replace(/^(?!CAP_)/, 'CAP_');
        throw invalidArgument(`invalid ${field}: unknown capability: ${JSON.stringify(full)}`);
      }
    }
  }
  const missing = requestedCapabilities({
    privileged: host.Privileged ?? false,
    add: host.CapAdd ?? [],
    drop: host.CapDrop ?? [],
  }).filter((name) => !facts.boundingSet.includes(name));
  return missing.length === 0
    ? []
    : [
        `Not available in the environment of the daemon, so the container runs without: ${missing.join(', ')}`,
      ];
}

/** Parameters that each IPC namespace has of its own (ipc_namespaces(7)). */
const IPC_SYSCTLS = new Set([
  'kernel.msgmax',
  'kernel.msgmnb',
  'kernel.msgmni',
  'kernel.sem',
  'kernel.shmall',
  'kernel.shmmax',
  'kernel.shmmni',
  'kernel.shm_rmid_forced',
]);
const SYSCTL_NAME = /^[a-z]\w*(?:[./][\w-]+)+$/;

/** Only parameters of the container's own namespaces: everything else would change the host. */
export function checkSysctls(
  sysctls: Record<string, string>,
  modes: { NetworkMode: string; IpcMode: string; UTSMode: string },
): void {
  for (const key of Object.keys(sysctls)) {
    const name = key.replaceAll('/', '.');
    if (!SYSCTL_NAME.test(key)) {
      throw invalidArgument(`sysctl '${key}' is not allowed`);
    }
    if (name.startsWith('net.')) {
      if (modes.NetworkMode === 'host') {
        throw invalidArgument(`sysctl '${key}' is not allowed in the host's network namespace`);
      }
    } else if (IPC_SYSCTLS.has(name) || name.startsWith('fs.mqueue.')) {
      if (modes.IpcMode === 'host') {
        throw invalidArgument(`sysctl '${key}' is not allowed in the host's IPC namespace`);
      }
    } else if (name !== 'kernel.domainname' || modes.UTSMode === 'host') {
      throw invalidArgument(`sysctl '${key}' is not allowed`);
    }
  }
}
