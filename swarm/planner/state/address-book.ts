import type { NetworkAddresses } from '../../objects/network.ts';

interface Page {
  /** By address as text: how many records have it. One each, unless the store was tampered with. */
  taken: Map<string, number>;
  /** Grows when an address is nobody's any more. */
  freed: number;
  /** Its network was removed: kept for those who have something in it. */
  isOver: boolean;
}

const NOTHING: readonly NetworkAddresses[] = [];

/**
 * Which addresses somebody has, by network. An index over the records that say so (tasks that have not ended, services,
 * attachments, nodes) and no book of its own: it costs per change what the changed record names.
 */
export class AddressBook {
  readonly #pages = new Map<string, Page>();
  #freedInAll = 0;

  /** A number that grows with each address that becomes nobody's, in whatever network. */
  get freedInAll(): number {
    return this.#freedInAll;
  }

  has(network: string, address: string): boolean {
    return this.#pages.get(network)?.taken.has(address) === true;
  }

  /** How many addresses of a network somebody has. */
  count(network: string): number {
    return this.#pages.get(network)?.taken.size ?? 0;
  }

  /** The addresses of a network that somebody has. */
  of(network: string): Iterable<string> {
    return this.#pages.get(network)?.taken.keys() ?? [];
  }

  /** A number that grows with each address of the network that becomes nobody's. */
  freed(network: string): number {
    return this.#pages.get(network)?.freed ?? 0;
  }

  /** Every address that somebody has, with how many have it. */
  *entries(): Iterable<{ network: string; address: string; holders: number }> {
    for (const [network, { taken }] of this.#pages) {
      for (const [address, holders] of taken) {
        yield { network, address, holders };
      }
    }
  }

  /** What a record named before and what it names now. What is in both is not freed in between. */
  change(before: readonly NetworkAddresses[] = NOTHING, after: readonly NetworkAddresses[] = NOTHING): void {
    if (before === after) {
      return;
    }
    for (const { network, addresses } of after) {
      addresses.forEach((address) => this.#take(network, address));
    }
    for (const { network, addresses } of before) {
      addresses.forEach((address) => this.#release(network, address));
    }
  }

  /** The network is gone. What is still taken in it is kept for those who have it. */
  forget(network: string): void {
    const page = this.#pages.get(network);
    if (page?.taken.size === 0) {
      this.#pages.delete(network);
    } else if (page !== undefined) {
      page.isOver = true;
    }
  }

  #take(network: string, address: string): void {
    let page = this.#pages.get(network);
    if (page === undefined) {
      page = { taken: new Map(), freed: 0, isOver: false };
      this.#pages.set(network, page);
    }
    page.taken.set(address, (page.taken.get(address) ?? 0) + 1);
  }

  #release(network: string, address: string): void {
    const page = this.#pages.get(network);
    const holders = (page?.taken.get(address) ?? 0) - 1;
    if (page === undefined) {
      return;
    }
    if (holders > 0) {
      page.taken.set(address, holders);
    } else {
      page.taken.delete(address);
      page.freed += 1;
      this.#freedInAll += 1;
      if (page.isOver && page.taken.size === 0) {
        this.#pages.delete(network);
      }
    }
  }
}
