import { Semaphore } from '../../daemon/base/concurrency/semaphore.ts';
import { limits } from '../../daemon/base/limits.ts';

/** Who may read a layer now: so many in all, and fewer of one node, so that none keeps the others waiting. */
export class ReadSlots {
  readonly #all = new Semaphore(limits.swarmImageReadsMax);
  readonly #nodes = new Map<string, { slots: Semaphore; users: number }>();

  /** Released when it is disposed of. Throws canceled when the signal fires before there is one. */
  async acquire(node: string, signal: AbortSignal): Promise<Disposable> {
    const own = this.#nodes.get(node) ?? { slots: new Semaphore(limits.swarmImageReadsOfNodeMax), users: 0 };
    this.#nodes.set(node, own);
    own.users += 1;
    const held: Disposable[] = [{ [Symbol.dispose]: () => this.#leave(node, own) }];
    const slot = { [Symbol.dispose]: () => held.splice(0).forEach((part) => part[Symbol.dispose]()) };
    try {
      held.push(await own.slots.acquire(signal));
      held.push(await this.#all.acquire(signal));
      return slot;
    } catch (error) {
      slot[Symbol.dispose]();
      throw error;
    }
  }

  #leave(node: string, own: { users: number }): void {
    own.users -= 1;
    if (own.users === 0) {
      this.#nodes.delete(node);
    }
  }
}
