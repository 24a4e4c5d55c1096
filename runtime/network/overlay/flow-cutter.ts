import { readFileSync } from 'node:fs';
import { addressBytes } from '../../../daemon/base/addresses/ip.ts';
import type { IpAddress } from '../../../daemon/base/addresses/ip.ts';
import { ifThere } from '../../../daemon/base/errors.ts';
import { failpoint } from '../../../daemon/base/failpoint.ts';
import type { Logger } from '../../../daemon/base/logger.ts';
import { UDP, forgetRedirected } from '../conntrack/conntrack.ts';
import type { NamespaceDirectory } from '../namespace-directory.ts';
import { KeptSockets } from './kept-sockets.ts';

/** Of the namespace of the thread that reads it. */
const COUNT = '/proc/sys/net/netfilter/nf_conntrack_count';

/** `udp`: it is alive and takes no new flows. `unanswered`: nobody hears of it, maybe for a moment. All: it is gone. */
const CUTS = ['udp', 'unanswered', 'all'] as const;
export type Cut = (typeof CUTS)[number];

/**
 * Forgets flows through virtual addresses and published ports to targets that are no longer among them. UDP flows
 * always: a client that goes on sending would stay with such a target for ever (moby#8795, moby#36878). TCP connections
 * once the target is gone: the next packet then gets a reset; those that a silent target has not answered yet go to
 * another with the next attempt of their client. One walk over the kernel's table, on a pool thread,
 * serves all that wait in a network.
 */
export class FlowCutter {
  readonly #namespaces: NamespaceDirectory;
  readonly #sockets: KeptSockets;
  readonly #log: Logger;
  /** Network -> target as hexadecimal digits -> what. */
  readonly #waiting = new Map<string, Map<string, Cut>>();
  /** What the walk that is under way looks for. */
  #taken: { networkId: string; targets: Map<string, Cut> } | undefined;
  #isUnderWay = false;
  #walk = Promise.resolve();

  constructor(deps: { namespaces: NamespaceDirectory; log: Logger }) {
    this.#namespaces = deps.namespaces;
    this.#sockets = new KeptSockets(deps.namespaces);
    this.#log = deps.log;
  }

  /** Soon. */
  cut(networkId: string, targets: readonly IpAddress[], what: Cut): void {
    const waiting = this.#waiting.get(networkId) ?? new Map<string, Cut>();
    for (const target of targets.map(digits)) {
      const before = waiting.get(target) ?? what;
      waiting.set(target, CUTS.indexOf(before) > CUTS.indexOf(what) ? before : what);
    }
    if (waiting.size > 0) {
      this.#waiting.set(networkId, waiting);
    }
    if (!this.#isUnderWay && this.#waiting.size > 0) {
      this.#isUnderWay = true;
      void this.#cutWaiting()
        .finally(() => (this.#isUnderWay = false))
        .catch((error: unknown) => this.#log.error({ err: error }, 'flows to targets that are gone stay'));
    }
  }

  /** These take flows again: none of theirs can be told from those of before. */
  keep(networkId: string, targets: readonly IpAddress[]): void {
    const waiting = this.#waiting.get(networkId);
    const taken = this.#taken?.networkId === networkId ? this.#taken.targets : undefined;
    for (const target of targets.map(digits)) {
      waiting?.delete(target);
      taken?.delete(target);
    }
  }

  /** The network's namespace is gone, with its flows. Never rejects. */
  async closed(networkId: string): Promise<void> {
    this.#waiting.delete(networkId);
    // It may be talking to the kernel.
    await this.#walk;
    await this.#sockets.close(networkId);
  }

  /** Never rejects. */
  async #cutWaiting(): Promise<void> {
    for (;;) {
      // What came in the same turn of the event loop shares the walk.
      await Promise.resolve();
      const [next] = this.#waiting;
      if (next === undefined) {
        return;
      }
      const [networkId, targets] = next;
      this.#waiting.delete(networkId);
      this.#taken = { networkId, targets };
      this.#walk = this.#cutIn(networkId, targets).catch((error: unknown) => {
        this.#log.error({ network: networkId, err: error }, 'flows to targets that are gone stay');
      });
      await this.#walk;
    }
  }

  async #cutIn(networkId: string, taken: ReadonlyMap<string, Cut>): Promise<void> {
    failpoint('overlay.flows.cut');
    // A namespace that is gone took its flows with it.
    const socket = ifThere(
      () => (this.#namespaces.enter(networkId, flowCount) === 0 ? undefined : this.#sockets.of(networkId)),
      ['ENOENT', 'EINVAL'],
    );
    if (socket === undefined) {
      return;
    }
    for (const family of familiesOf(taken)) {
      await forgetRedirected(socket, family, (target, { protocol, isAnswered }) => {
        const what = taken.get(target.toString('hex'));
        const isOpen = protocol !== UDP && isAnswered;
        return what === 'all' || (what === 'unanswered' && !isOpen) || (what === 'udp' && protocol === UDP);
      });
    }
  }
}

function familiesOf(targets: ReadonlyMap<string, Cut>): ('ip' | 'ip6')[] {
  const families = [...targets.keys()].map((target) => (target.length === 8 ? 'ip' : 'ip6'));
  return [...new Set(families)];
}

function digits(target: IpAddress): string {
  return addressBytes(target).toString('hex');
}

/** 1 where the kernel does not say: the walk finds out. */
function flowCount(): number {
  return Number(ifThere(() => readFileSync(COUNT, 'utf8')) ?? 1);
}
