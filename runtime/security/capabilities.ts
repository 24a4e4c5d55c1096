import { invariant } from '../../daemon/base/errors.ts';

/** Every capability of the kernel; its place is its bit (linux/capability.h). New ones are only ever appended. */
export const CAPABILITIES = [
  'CAP_CHOWN',
  'CAP_DAC_OVERRIDE',
  'CAP_DAC_READ_SEARCH',
  'CAP_FOWNER',
  'CAP_FSETID',
  'CAP_KILL',
  'CAP_SETGID',
  'CAP_SETUID',
  'CAP_SETPCAP',
  'CAP_LINUX_IMMUTABLE',
  'CAP_NET_BIND_SERVICE',
  'CAP_NET_BROADCAST',
  'CAP_NET_ADMIN',
  'CAP_NET_RAW',
  'CAP_IPC_LOCK',
  'CAP_IPC_OWNER',
  'CAP_SYS_MODULE',
  'CAP_SYS_RAWIO',
  'CAP_SYS_CHROOT',
  'CAP_SYS_PTRACE',
  'CAP_SYS_PACCT',
  'CAP_SYS_ADMIN',
  'CAP_SYS_BOOT',
  'CAP_SYS_NICE',
  'CAP_SYS_RESOURCE',
  'CAP_SYS_TIME',
  'CAP_SYS_TTY_CONFIG',
  'CAP_MKNOD',
  'CAP_LEASE',
  'CAP_AUDIT_WRITE',
  'CAP_AUDIT_CONTROL',
  'CAP_SETFCAP',
  'CAP_MAC_OVERRIDE',
  'CAP_MAC_ADMIN',
  'CAP_SYSLOG',
  'CAP_WAKE_ALARM',
  'CAP_BLOCK_SUSPEND',
  'CAP_AUDIT_READ',
  'CAP_PERFMON',
  'CAP_BPF',
  'CAP_CHECKPOINT_RESTORE',
] as const;

export type Capability = (typeof CAPABILITIES)[number];

/** What a container gets when nothing else is asked for: the fourteen of every Docker-compatible engine. */
export const DEFAULT_CAPABILITIES: readonly Capability[] = [
  'CAP_CHOWN',
  'CAP_DAC_OVERRIDE',
  'CAP_FSETID',
  'CAP_FOWNER',
  'CAP_MKNOD',
  'CAP_NET_RAW',
  'CAP_SETGID',
  'CAP_SETUID',
  'CAP_SETFCAP',
  'CAP_SETPCAP',
  'CAP_NET_BIND_SERVICE',
  'CAP_SYS_CHROOT',
  'CAP_KILL',
  'CAP_AUDIT_WRITE',
];

const known = new Map<string, Capability>(CAPABILITIES.map((name) => [name, name]));

/** The capability a client means by `net_admin`, `NET_ADMIN` or `CAP_NET_ADMIN`; undefined when there is none. */
export function parseCapability(text: string): Capability | undefined {
  const upper = text.toUpperCase();
  return known.get(upper.startsWith('CAP_') ? upper : `CAP_${upper}`);
}

/** Names of the set bits of a mask as proc(5) prints it (`CapBnd: 000001ffffffffff`), lowest bit first. */
export function capabilitiesOfMask(hexadecimal: string): Capability[] {
  const mask = BigInt(`0x${hexadecimal}`);
  return CAPABILITIES.filter((_, bit) => (mask >> BigInt(bit)) & 1n);
}

/** The mask of these capabilities, 16 hexadecimal digits as proc(5) prints it. */
export function maskOfCapabilities(names: readonly string[]): string {
  const wanted = new Set(names);
  const mask = CAPABILITIES.reduce(
    (sum, name, bit) => (wanted.has(name) ? sum | (1n << BigInt(bit)) : sum),
    0n,
  );
  return mask.toString(16).padStart(16, '0');
}

/**
 * Capabilities that this process may hand on: its bounding set, from the contents of /proc/self/status. A container
 * asking for one outside it cannot be started at all (capset(2) answers EPERM).
 */
export function boundingSetOf(status: string): Capability[] {
  const mask = /^CapBnd:\s*([0-9a-f]+)$/m.exec(status)?.[1];
  invariant(mask !== undefined, 'no CapBnd in /proc/self/status');
  return capabilitiesOfMask(mask);
}

export interface CapabilityRequest {
  privileged: boolean;
  /** Names in any spelling that `parseCapability` takes, or `ALL`. Unknown ones are skipped: check them before. */
  add: readonly string[];
  drop: readonly string[];
}

/**
 * The capabilities asked for, in the kernel's order. `ALL` in `add` is everything but `drop`, `ALL` in `drop` is
 * nothing but `add`; otherwise the defaults without `drop` and with `add`.
 */
export function requestedCapabilities(request: CapabilityRequest): Capability[] {
  const add = new Set(request.add.map((name) => parseCapability(name)));
  const drop = new Set(request.drop.map((name) => parseCapability(name)));
  const addsAll = request.add.some(isAll);
  const dropsAll = request.drop.some(isAll);
  return CAPABILITIES.filter((name) => {
    if (request.privileged) {
      return true;
    }
    if (addsAll) {
      return !drop.has(name);
    }
    if (dropsAll) {
      return add.has(name);
    }
    return add.has(name) || (DEFAULT_CAPABILITIES.includes(name) && !drop.has(name));
  });
}

/** True for the word that means every capability. */
export function isAll(name: string): boolean {
  return name.toUpperCase() === 'ALL';
}
