import { readFileSync, writeFileSync } from 'node:fs';
import type { Logger } from '../../daemon/base/log.ts';

const SWITCH = '/proc/sys/net/ipv4/ip_forward';

/** Lets the host pass packets on, without which containers reach nothing but each other. Idempotent. */
export function switchOnForwarding(log: Logger): void {
  if (readFileSync(SWITCH, 'utf8').trim() !== '1') {
    writeFileSync(SWITCH, '1');
    log.info({ sysctl: 'net.ipv4.ip_forward' }, 'IPv4 forwarding switched on');
  }
}
