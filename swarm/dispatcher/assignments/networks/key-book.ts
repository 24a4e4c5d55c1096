import type { NetworkKeys } from '../../../../api/types/swarm/overlay.ts';
import { errorText } from '../../../../daemon/base/errors.ts';
import type { Logger } from '../../../../daemon/base/logger.ts';
import { keyChanged, type Cluster } from '../../../cluster/cluster.ts';
import type { NetworkKeyRing } from '../../../objects/network-keys.ts';
import { sealedKey } from '../../../objects/values.ts';

interface Deps {
  cluster: Pick<Cluster, 'value' | 'subscribeValues'>;
  unseal(key: string, sealed: Buffer): Buffer;
  logger: Logger;
  /** Nodes with encrypted networks may have to be told. */
  changed(): void;
}

/** The keys of encrypted networks as they are stored, for the nodes that need them. */
export class KeyBook implements Disposable {
  readonly #deps: Deps;
  readonly #subscription: Disposable;
  /** null: to be read. */
  #ring: NetworkKeyRing | undefined | null = null;

  constructor(deps: Deps) {
    this.#deps = deps;
    this.#subscription = deps.cluster.subscribeValues((changes) => {
      if (changes.some((change) => keyChanged(change) === sealedKey.networkKeys())) {
        this.#ring = null;
        deps.changed();
      }
    });
  }

  /** What a node needs to talk to these nodes; undefined as long as there are no keys. */
  keysFor(node: string, others: Iterable<string>): NetworkKeys | undefined {
    this.#ring = this.#ring === null ? this.#read() : this.#ring;
    const ring = this.#ring;
    if (ring === undefined) {
      return undefined;
    }
    const ids = [...new Set([node, ...others])].toSorted();
    const numbers = ids.flatMap((id) => {
      const number = Object.hasOwn(ring.numbers, id) ? ring.numbers[id] : undefined;
      return number === undefined ? [] : [[id, number] as const];
    });
    return { node, ring: ring.keys, numbers: Object.fromEntries(numbers) };
  }

  [Symbol.dispose](): void {
    this.#subscription[Symbol.dispose]();
  }

  #read(): NetworkKeyRing | undefined {
    const { cluster, logger } = this.#deps;
    const key = sealedKey.networkKeys();
    const entry = cluster.value(key);
    try {
      // Only leaders have written it.
      return entry && (JSON.parse(this.#deps.unseal(key, entry.value).toString()) as NetworkKeyRing);
    } catch (error) {
      logger.error({ error: errorText(error) }, 'the keys of encrypted networks do not open');
      return undefined;
    }
  }
}
