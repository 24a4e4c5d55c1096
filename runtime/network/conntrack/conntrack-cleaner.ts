import { readFileSync } from 'node:fs';
import { errnoOf } from '../../../daemon/base/errors.ts';
import { failpoint } from '../../../daemon/base/failpoint.ts';
import { formatIp, isIpv4 } from '../../../daemon/base/addresses/ip.ts';
import type { IpAddress } from '../../../daemon/base/addresses/ip.ts';
import type { Clock } from '../../../daemon/base/clock.ts';
import { limits } from '../../../daemon/base/limits.ts';
import type { Logger } from '../../../daemon/base/logger.ts';
import { forgetFlowsOf, forgetUdpFlows } from './conntrack.ts';
import type { NetlinkSocket } from '../netlink/netlink-socket.ts';
import type { HostPort } from '../port-reservations.ts';

/** Flows that the kernel keeps track of, all together, of this namespace; not there = it keeps none. */
const COUNT = '/proc/sys/net/netfilter/nf_conntrack_count';

/**
 * Forgets flows of containers that are gone. That costs walks over the kernel's table, which has its full length also
 * where there are few flows: a pool thread takes them, for all addresses that wait, and rests in between; no request
 * waits for it.
 */
export class ConntrackCleaner {
  readonly #netfilter: NetlinkSocket;
  /** For walks on pool threads only. */
  readonly #walker: NetlinkSocket;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #waiting = new Set<IpAddress>();
  #isUnderWay = false;

  constructor(deps: { netfilter: NetlinkSocket; walker: NetlinkSocket; clock: Clock; log: Logger }) {
    this.#netfilter = deps.netfilter;
    this.#walker = deps.walker;
    this.#clock = deps.clock;
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
    while (this.#waiting.size > 0) {
      const startMs = this.#clock.monotonicMs();
      const addresses = [...this.#waiting];
      await this.#forget(addresses.filter((address) => isIpv4(address)));
      await this.#forget(addresses.filter((address) => !isIpv4(address)));
      addresses.forEach((address) => this.#waiting.delete(address));
      await this.#rest(limits.flowsRestFactor * (this.#clock.monotonicMs() - startMs));
    }
  }

  /** Addresses of one family. Never rejects. */
  async #forget(addresses: readonly IpAddress[]): Promise<void> {
    if (addresses.length === 0) {
      return;
    }
    try {
      failpoint('network.flows.forget');
      const count = flowCount();
      if (count > 0) {
        await forgetFlowsOf(this.#walker, addresses, {
          areFew: count <= limits.flowsLookedThroughMax,
          isWanted: (address) => this.#waiting.has(address),
        });
      }
    } catch (error) {
      this.#failed(addresses.map(formatIp).join(', '), error);
    }
  }

  /** Those that come meanwhile are looked for together. */
  async #rest(wantedMs: number): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#clock.setTimeout(resolve, Math.min(wantedMs, limits.flowsRestMsMax));
    });
  }

  /**
   * Linux before 5.8 cannot filter. Old flows then end by their own timeout (UDP: 30 to 120 s): not worth failing for.
   */
  #failed(object: string | number, error: unknown): void {
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
