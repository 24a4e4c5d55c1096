import { isDeepStrictEqual } from 'node:util';
import type { NodeDescription, NodeState } from '../../../api/types/swarm/node.ts';
import type { Clock } from '../../../daemon/base/clock.ts';
import { pause } from '../../../daemon/base/concurrency/pause.ts';
import { errorText } from '../../../daemon/base/errors.ts';
import { limits } from '../../../daemon/base/limits.ts';
import type { Logger } from '../../../daemon/base/logger.ts';
import type { Leading } from '../../leader/ports.ts';
import { keyOf } from '../../objects/keys.ts';
import { put, type Write } from '../../objects/parts.ts';

/** What is to be stored of a node. */
export interface NodeNews {
  state?: NodeState;
  message?: string;
  addr?: string;
  /** Null: it has no other address for overlay traffic. */
  dataAddr?: string | null;
  /** The two go together. */
  description?: NodeDescription;
  subnets?: string[];
}

/** Nodes of one transaction: two parts each. */
const NODES_MAX = 50;

/**
 * Writes what is observed of nodes, where it differs from what is stored: several nodes at a time, again until it
 * stands. Others write the same records (roles): each write is on the condition of what was read.
 */
export class NodeWriter {
  readonly #leading: Leading;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #waiting = new Map<string, NodeNews>();
  #isWriting = false;

  constructor({ leading, clock, logger }: { leading: Leading; clock: Clock; logger: Logger }) {
    this.#leading = leading;
    this.#clock = clock;
    this.#logger = logger;
  }

  write(node: string, news: NodeNews): void {
    this.#waiting.set(node, { ...this.#waiting.get(node), ...news });
    if (!this.#isWriting) {
      this.#isWriting = true;
      void this.#run().catch((error: unknown) => {
        this.#logger.error({ error: errorText(error) }, 'the states of nodes are written no more');
      });
    }
  }

  /** Until nothing waits, or the leadership ends. */
  async #run(): Promise<void> {
    const { signal } = this.#leading;
    let retryMs: number = limits.swarmStoreRetryMs;
    while (this.#waiting.size > 0 && !signal.aborted) {
      const batch = [...this.#waiting].slice(0, NODES_MAX);
      try {
        await this.#commit(batch.flatMap(([node, news]) => this.#writesOf(node, news)));
        for (const [node, news] of batch) {
          // What came meanwhile waits yet.
          if (this.#waiting.get(node) === news) {
            this.#waiting.delete(node);
          }
        }
        retryMs = limits.swarmStoreRetryMs;
      } catch (error) {
        this.#logger.warn({ error: errorText(error) }, 'the states of nodes could not be stored yet');
        await pause(this.#clock, retryMs, signal);
        retryMs = Math.min(retryMs * 2, limits.swarmStoreRetryMaxMs);
      }
    }
    this.#isWriting = false;
  }

  async #commit(parts: Write[]): Promise<void> {
    if (parts.length > 0) {
      const { cluster } = this.#leading;
      const conditions = parts.map(({ part, id }) => ({
        key: keyOf(part, id),
        revision: cluster.revisionOf(part, id),
      }));
      await this.#leading.commit({ parts, conditions });
    }
  }

  #writesOf(node: string, { description, subnets = [], dataAddr, ...news }: NodeNews): Write[] {
    const { cluster } = this.#leading;
    const stored = cluster.part('nodeState', node);
    if (stored === undefined) {
      // Removed meanwhile.
      return [];
    }
    const writes: Write[] = [];
    const { dataAddr: known, ...rest } = stored;
    const reached = dataAddr === undefined ? known : (dataAddr ?? undefined);
    const state = { ...rest, ...(reached && { dataAddr: reached }), ...news };
    if (!isDeepStrictEqual(state, stored)) {
      const since = state.state === stored.state ? stored.since : this.#now();
      writes.push(put('nodeState', { ...state, since }));
    }
    if (description !== undefined) {
      const said = { id: node, description, ...(subnets.length > 0 && { subnets }) };
      if (!isDeepStrictEqual(said, cluster.part('nodeDescription', node))) {
        writes.push(put('nodeDescription', said));
      }
    }
    return writes;
  }

  #now(): number {
    return Number(this.#clock.nowNano() / 1_000_000n);
  }
}
