import { readFileSync, writeFileSync } from 'node:fs';
import { errnoOf, errorText } from '../../../daemon/base/errors.ts';
import type { Logger } from '../../../daemon/base/logger.ts';

/** How virtual addresses are balanced: by rules for what the bridge carries, or not on this kernel. */
export type OverlayBalance = 'bridge' | 'none';

/**
 * Settings of an overlay network's namespace, which the calling thread is in, before it has interfaces. Where addresses
 * are to be balanced, packets on the bridge pass the firewall of the namespace; elsewhere they go past it, which saves
 * what that takes of each. `none`: they go past it, because that is asked for or the kernel has no br_netfilter.
 */
export function tuneOverlay(wanted: OverlayBalance): OverlayBalance {
  // For what rules send elsewhere; there is no way out of the namespace but its bridge.
  write('ipv4/ip_forward', '1');
  write('ipv6/conf/all/forwarding', '1');
  // Nobody in there is to be told of a shorter way past a virtual address.
  write('ipv4/conf/all/send_redirects', '0');
  write('ipv4/conf/default/send_redirects', '0');
  // What may pass is told by rules. A host that looks for the way back to each sender would do so here too, per packet.
  write('ipv4/conf/all/rp_filter', '0');
  write('ipv4/conf/default/rp_filter', '0');
  const passes = wanted === 'bridge' ? '1' : '0';
  const ipv4 = write('bridge/bridge-nf-call-iptables', passes);
  const ipv6 = write('bridge/bridge-nf-call-ip6tables', passes);
  return ipv4 && ipv6 ? wanted : 'none';
}

/**
 * IPv6 for a link of a network that has it: namespaces are born without. Nobody else can have its addresses, also its
 * link-local one, without which it asks for no neighbours: nothing is to wait two seconds for that.
 */
export function allowIpv6(link: string): void {
  write(`ipv6/conf/${link}/accept_ra`, '0');
  write(`ipv6/conf/${link}/accept_dad`, '0');
  write(`ipv6/conf/${link}/disable_ipv6`, '0');
}

/** A table of IPv6 neighbours for a link that gets no address, also none of the link alone. */
export function allowNeighbours6(link: string): void {
  write(`ipv6/conf/${link}/addr_gen_mode`, ADDRESSES_NONE);
  allowIpv6(link);
}

/** IN6_ADDR_GEN_MODE_NONE */
const ADDRESSES_NONE = '1';

/** False where the kernel has no such setting. */
function write(setting: string, value: string): boolean {
  try {
    writeFileSync(`/proc/sys/net/${setting}`, value);
    return true;
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') {
      return false;
    }
    throw error;
  }
}

/**
 * Entries that the kernel's tables of neighbours, one for all namespaces, hold: below the first nothing is thrown away,
 * past the last nothing is taken.
 */
const NEIGHBOUR_LIMITS = { gc_thresh1: 8192, gc_thresh2: 49_152, gc_thresh3: 65_536 };

/** Raises them where they are lower. Belongs in the host's namespace. What is refused is logged. */
export function raiseNeighbourLimits(log: Logger): void {
  for (const family of ['ipv4', 'ipv6']) {
    for (const [name, wanted] of Object.entries(NEIGHBOUR_LIMITS).toReversed()) {
      const file = `/proc/sys/net/${family}/neigh/default/${name}`;
      try {
        if (Number(readFileSync(file, 'utf8')) < wanted) {
          writeFileSync(file, String(wanted));
        }
      } catch (error) {
        // Only the host's own namespace has them; a kernel without IPv6 has none of that.
        if (errnoOf(error) !== 'ENOENT' || family === 'ipv4') {
          log.warn(
            `${file} cannot be set to ${wanted} here (${errnoOf(error) ?? errorText(error)}): networks of ` +
              'a swarm with thousands of members may need it, set on the host',
          );
        }
        return;
      }
    }
  }
}
