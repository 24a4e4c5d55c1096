import { limits } from '../../../daemon/base/limits.ts';
import type { Demand } from '../placement/demand.ts';
import { isOfKind, type Asking } from './filters.ts';
import type { NodeLoad } from './node-load.ts';

const UNKNOWN = 0;
const FITS = 1;
const FITS_NOT = 2;

/**
 * Which nodes satisfy the constraints, platforms and plugins of which templates: judged when first asked for, and again
 * after the node has changed. Services that ask for the same share the answers.
 */
export class FitMemory {
  /** By what is asked for, then by the node's index. The least recently used stands first. */
  readonly #answers = new Map<string, number[]>();
  readonly #keys = new WeakMap<Demand, string>();

  /** Whether a node is of the kind that this template wants. The function is for one pass over nodes. */
  judge(asking: Asking): (node: NodeLoad) => boolean {
    const key = this.#keyOf(asking.demand);
    if (key === NOTHING_ASKED) {
      return () => true;
    }
    const answers = this.#answers.get(key) ?? [];
    this.#answers.delete(key);
    this.#answers.set(key, answers);
    if (this.#answers.size > limits.swarmFitsRemembered) {
      const oldest = this.#answers.keys().next().value;
      this.#answers.delete(oldest ?? key);
    }
    return (node) => {
      const known = answers[node.index] ?? UNKNOWN;
      if (known !== UNKNOWN) {
        return known === FITS;
      }
      const fits = isOfKind(node, asking);
      answers[node.index] = fits ? FITS : FITS_NOT;
      return fits;
    };
  }

  forget(node: NodeLoad): void {
    for (const answers of this.#answers.values()) {
      answers[node.index] = UNKNOWN;
    }
  }

  #keyOf(demand: Demand): string {
    const known = this.#keys.get(demand);
    if (known !== undefined) {
      return known;
    }
    const key = JSON.stringify([demand.constraints, demand.platforms, demand.plugins]);
    this.#keys.set(demand, key);
    return key;
  }
}

const NOTHING_ASKED = JSON.stringify([[], [], []]);
