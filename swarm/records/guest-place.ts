import { limits } from '../../daemon/base/limits.ts';
import type { ManagerContext } from '../membership/ports.ts';
import { keptLeaseKey } from '../objects/values.ts';
import type { Leadership } from '../store/port.ts';
import type { OtherManagers, RecordsGuest, RecordsPlace } from './ports.ts';
import { SwarmRecords } from './swarm-records.ts';

/** What a guest has of one manager's store, for as long as the manager is one. */
export class GuestPlace implements RecordsPlace, AsyncDisposable {
  readonly #context: ManagerContext;
  readonly #guest: RecordsGuest;
  readonly #opened: SwarmRecords[] = [];

  constructor(context: ManagerContext, guest: RecordsGuest) {
    this.#context = context;
    this.#guest = guest;
    guest.opened(this);
  }

  get node(): string {
    return this.#context.nodeId;
  }

  get cluster(): string {
    return this.#context.clusterId;
  }

  open(name: string): SwarmRecords {
    const { clock, logger, cluster, sealer } = this.#context;
    const records = new SwarmRecords({ clock, logger, cluster, sealer, name });
    this.#opened.push(records);
    return records;
  }

  isNode(node: string): boolean {
    return this.#context.cluster.state.nodes.has(node);
  }

  async lead(name: string, signal: AbortSignal): Promise<Leadership> {
    const { cluster, nodeId } = this.#context;
    const key = keptLeaseKey(name);
    const value = Buffer.from(nodeId);
    const led = await cluster.store.elect({ key, value, ttlMs: limits.swarmLeaderTtlMs, signal });
    try {
      await cluster.reached(led.fence.created);
      return led;
    } catch (error) {
      await led.resign();
      throw error;
    }
  }

  get stays(): string {
    return this.#guest.stays ?? '';
  }

  async leaving(): Promise<void> {
    await this.#guest.leaving(await this.#others());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#guest.closed();
    this.#opened.forEach((records) => records[Symbol.dispose]());
  }

  async #others(): Promise<OtherManagers> {
    const { members, cluster } = this.#context;
    try {
      const all = await members.list();
      // Only a majority answers this; the prefix is one that no key has.
      for await (const _page of cluster.store.view('~', { keysOnly: true })) {
        break;
      }
      return all.length > 1 ? 'some' : 'none';
    } catch {
      return 'unknown';
    }
  }
}
