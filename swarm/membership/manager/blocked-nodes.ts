import { keyChanged, type Cluster } from '../../cluster/cluster.ts';
import { blockedKey } from '../../objects/values.ts';
import type { Entry } from '../../store/port.ts';

const PREFIX = blockedKey('');

/** Removed nodes, with until when (milliseconds since 1970) their certificates are refused. */
export class BlockedNodes implements Disposable {
  readonly #blocked = new Map<string, number>();
  readonly #subscription: Disposable;

  /** `onChange` is called after each change. */
  constructor(cluster: Cluster, onChange: () => void) {
    for (const entry of cluster.values(PREFIX)) {
      this.#blocked.set(entry.key.slice(PREFIX.length), untilOf(entry));
    }
    this.#subscription = cluster.subscribeValues((changes) => {
      const mine = changes.filter((change) => keyChanged(change).startsWith(PREFIX));
      for (const change of mine) {
        const node = keyChanged(change).slice(PREFIX.length);
        if (change.kind === 'put') {
          this.#blocked.set(node, untilOf(change.entry));
        } else {
          this.#blocked.delete(node);
        }
      }
      if (mine.length > 0) {
        onChange();
      }
    });
  }

  get all(): ReadonlyMap<string, number> {
    return this.#blocked;
  }

  [Symbol.dispose](): void {
    this.#subscription[Symbol.dispose]();
  }
}

function untilOf({ value }: Entry): number {
  // Written with the removal of a node, by `Authority.removalOf`.
  return (JSON.parse(value.toString()) as { until: number }).until;
}
