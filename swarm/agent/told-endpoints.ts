import type { AttachAnswer } from '../protocol/attachments.ts';
import type { NetworksChange } from '../protocol/networks.ts';

/** Attachments of this node that its engine was told of, with their networks. */
export class ToldEndpoints {
  readonly #node: string;
  /** Addresses by network and attachment. */
  readonly #told = new Map<string, string>();
  readonly #waiting = new Set<() => void>();

  constructor(node: string) {
    this.#node = node;
  }

  /** The engine follows this change. */
  take({ full, endpoints, removedEndpoints, removedNetworks }: NetworksChange): void {
    if (full) {
      this.#told.clear();
    }
    for (const { network, id, node, service, addresses } of endpoints) {
      if (node === this.#node && service === undefined) {
        this.#told.set(keyOf({ network, id }), addresses.join(' '));
      }
    }
    removedEndpoints.forEach((gone) => this.#told.delete(keyOf(gone)));
    for (const key of this.#told.keys()) {
      if (removedNetworks.some((network) => key.startsWith(`${network}/`))) {
        this.#told.delete(key);
      }
    }
    this.#waiting.forEach((look) => look());
  }

  /** Resolves when the engine knows of it, or at the signal. */
  wait(answer: AttachAnswer, signal: AbortSignal): Promise<void> {
    const isTold = (): boolean => this.#told.get(keyOf(answer)) === answer.addresses.join(' ');
    return new Promise((resolve) => {
      const look = (): void => {
        if (isTold() || signal.aborted) {
          this.#waiting.delete(look);
          signal.removeEventListener('abort', look);
          resolve();
        }
      };
      this.#waiting.add(look);
      signal.addEventListener('abort', look);
      look();
    });
  }
}

function keyOf({ network, id }: { network: string; id: string }): string {
  return `${network}/${id}`;
}
