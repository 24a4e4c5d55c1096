import { readFileSync, writeFileSync } from 'node:fs';
import type { Logger } from '../../../daemon/base/logger.ts';

const IPV4 = '/proc/sys/net/ipv4/ip_forward';
const IPV6 = '/proc/sys/net/ipv6/conf/all/forwarding';

/**
 * Lets the host pass packets on, without which containers reach nothing but each other. Of IPv6 only once a network has
 * it: a host that forwards no longer configures itself from its routers. Idempotent.
 */
export function switchOnForwarding(log: Logger, wanted: { ipv6: boolean } = { ipv6: false }): void {
  for (const file of wanted.ipv6 ? [IPV4, IPV6] : [IPV4]) {
    if (readFileSync(file, 'utf8').trim() !== '1') {
      writeFileSync(file, '1');
      log.info({ sysctl: file.slice('/proc/sys/'.length).replaceAll('/', '.') }, 'forwarding switched on');
    }
  }
}
