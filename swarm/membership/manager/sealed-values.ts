import type { RootState } from '../../ca/roots/root.ts';
import type { Cluster } from '../../cluster/cluster.ts';
import { sealedKey } from '../../objects/values.ts';
import type { Condition, Write } from '../../store/port.ts';
import type { Sealer } from '../ports.ts';
import type { StoreAuthority } from './store-identity.ts';

/** How a sealed value of trust looks when it is open, by its key. */
interface Values {
  root: RootState;
  storeAuthority: StoreAuthority;
  /** base64; `''`: managers are not locked. */
  unlockKey: { key: string };
}

/** The sealed values of trust, opened once per change of theirs. */
export class SealedValues {
  readonly #cluster: Cluster;
  readonly #sealer: Sealer;
  readonly #opened = new Map<string, { revision: number; value: unknown }>();

  constructor(cluster: Cluster, sealer: Sealer) {
    this.#cluster = cluster;
    this.#sealer = sealer;
  }

  /** Throws failed_precondition where it is sealed with a key that this manager lacks. */
  read<N extends keyof Values>(name: N): Values[N] | undefined {
    const key = sealedKey[name]();
    const entry = this.#cluster.value(key);
    if (entry === undefined) {
      return undefined;
    }
    const known = this.#opened.get(key);
    if (known?.revision === entry.revision) {
      // The key says which one it is.
      return known.value as Values[N];
    }
    // Only `write` has written it.
    const value = JSON.parse(this.#sealer.open(key, entry.value).toString()) as Values[N];
    this.#opened.set(key, { revision: entry.revision, value });
    return value;
  }

  /** That it is as it was read. */
  condition(name: keyof Values): Condition {
    const key = sealedKey[name]();
    return { key, revision: this.#cluster.value(key)?.revision ?? 0 };
  }

  write<N extends keyof Values>(name: N, value: Values[N]): Write {
    return sealedWrite(this.#sealer, name, value);
  }
}

export function sealedWrite<N extends keyof Values>(sealer: Sealer, name: N, value: Values[N]): Write {
  const key = sealedKey[name]();
  return { kind: 'put', key, value: sealer.seal(key, Buffer.from(JSON.stringify(value))) };
}
