import type { HostFacts } from '../../../runtime/host/facts.ts';

/**
 * What a container must not see: memory, keys, timings and powers of the host. /proc/interrupts and powercap are side
 * channels on other people's secrets (moby GHSA-6fw5-f8r9-fgfm, GHSA-jq35-85cj-fj4p).
 */
const MASKED_PATHS = [
  '/proc/acpi',
  '/proc/asound',
  '/proc/interrupts',
  '/proc/kcore',
  '/proc/keys',
  '/proc/latency_stats',
  '/proc/sched_debug',
  '/proc/scsi',
  '/proc/timer_list',
  '/proc/timer_stats',
  '/sys/devices/virtual/powercap',
  '/sys/firmware',
];

/** What it may look at and not change. */
export const READONLY_PATHS = ['/proc/bus', '/proc/fs', '/proc/irq', '/proc/sys', '/proc/sysrq-trigger'];

/** The default MaskedPaths on this machine. */
export function maskedPaths(facts: HostFacts): string[] {
  return [...MASKED_PATHS, ...facts.thermalThrottlePaths];
}
