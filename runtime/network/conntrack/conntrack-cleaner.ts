import { readFileSync } from 'node:fs';
import { errnoOf } from '../../../daemon/base/errors.ts';
import { failpoint } from '../../../daemon/base/failpoint.ts';
import type { IpAddress } from '../../../daemon/base/addresses/ip.ts';
import { limits } from '../../../daemon/base/limits.ts';
import type { Logger } from '../../../daemon/base/logger.ts';
import { forgetFlowsOf, forgetUdpFlows } from './conntrack.ts';
import type { NetlinkSocket } from '../netlink/netlink-socket.ts';
import type { HostPort } from '../port-reservations.ts';

/** Flows that the kernel keeps track of, all together, of this namespace; not there = it keeps none. */
const COUNT = '/proc/sys/net/netfilter/nf_conntrack_count';

/**
 * Forgets flows of containers that are gone. Each address costs walks over the kernel's table, so a pool thread takes
 * them, one address after the other, and no request waits for it.
 */
export class ConntrackCleaner {
  readonly #netfilter: NetlinkSocket;
  /** For walks on pool threads only. */
  readonly #walker: NetlinkSocket;
  readonly #log: Logger;
  readonly #waiting = new Set<IpAddress>();
  #isUnderWay = false;

  constructor(deps: { netfilter: NetlinkSocket; walker: NetlinkSocket; log: Logger }) {
    this.#netfilter = deps.netfilter;
    this.#walker = deps.walker;
    this.#log = deps.log;
  }

  /** The addresses belong to no container any more. Their flows are forgotten soon. */
  released(addresses: readonly IpAddress[]): void {
    addresses.forEach((address) => this.#waiting.add(address));
    if (!this.#isUnderWay) {
      this.#isUnderWay = true;
      void this.#forgetWaiting()
        .finally(() => (this.#isUnderWay = false))
        .catch((error: unknown) => {
          this.#log.error({ err: error }, 'flows of addresses that nobody has stay');
        });
    }
  }

  /**
   * The addresses are about to belong to another container. From here on its flows cannot be told from those of the
   * container before, so none of them is forgotten. The kernel resets the old container's connections.
   */
  allocated(addresses: readonly IpAddress[]): void {
    addresses.forEach((address) => this.#waiting.delete(address));
  }

  /** UDP flows to host ports, now. */
  forgetFlowsTo(ports: readonly HostPort[]): void {
    for (const port of ports.filter(({ protocol }) => protocol === 'udp')) {
      try {
        forgetUdpFlows(this.#netfilter, port);
      } catch (error) {
        this.#failed(port.hostPort, error);
      }
    }
  }

  /** Never rejects. */
  async #forgetWaiting(): Promise<void> {
    for (const address of this.#waiting) {
      try {
        failpoint('network.flows.forget');
        const count = flowCount();
        if (count > 0) {
          await forgetFlowsOf(this.#walker, address, {
            areFew: count <= limits.flowsLookedThroughMax,
            isWanted: () => this.#waiting.has(address),
          });
        }
      } catch (error) {
        this.#failed(address, error);
      }
      this.#waiting.delete(address);
    }
  }

  /**
   * Linux before 5.8 cannot filter. Old flows then end by their own timeout (UDP: 30 to 120 s): not worth failing for.
   */
  #failed(object: IpAddress | number, error: unknown): void {
    this.#log.warn(
      { object: String(object), code: errnoOf(error), err: error },
      'old flows could not be forgotten',
    );
  }
}

function flowCount(): number {
  try {
    return Number(readFileSync(COUNT, 'utf8'));
  } catch {
    // A kernel without the file, or without connection tracking: the walk finds out.
    return 1;
  }
}
