import { randomUUID } from 'node:crypto';
import { notFound } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import type { BuildLayers } from '../ports.ts';
import { BuildTree, type TreeContent } from './tree.ts';

/** A tree by an id that graphs can name; disposing forgets it. */
export interface KeptTree extends Disposable {
  id: string;
}

/**
 * Trees that builds under way have made, for graphs that name them: results of other builds, contexts that came. Layers
 * are found also after their build, as long as something else keeps them: clients ask for the result of a build that
 * has just ended in a further one, to look into it.
 */
export class HeldTrees {
  readonly #layers: Pick<BuildLayers, 'pin' | 'chainId' | 'chainNamed'>;
  readonly #trees = new Map<string, BuildTree>();
  /** Names of the layers of trees that nobody keeps any more, the oldest first. */
  readonly #ended = new Map<string, string>();

  constructor(layers: Pick<BuildLayers, 'pin' | 'chainId' | 'chainNamed'>) {
    this.#layers = layers;
  }

  /** Holds a tree, `undefined` an empty one, until what is answered is disposed of. */
  keep(tree: BuildTree | undefined): KeptTree {
    const id = randomUUID();
    this.#trees.set(id, tree?.hold() ?? new BuildTree({ kind: 'layers', layerIds: [] }, () => undefined));
    return { id, [Symbol.dispose]: () => this.#end(id) };
  }

  /** What it is. Throws not_found: the build that made it is over, or there was none. */
  content(id: string): TreeContent {
    return this.#trees.get(id)?.content ?? { kind: 'layers', layerIds: this.#endedLayers(id) };
  }

  /** Held by the caller. Throws as `content`. */
  hold(id: string): BuildTree {
    const tree = this.#trees.get(id);
    if (tree !== undefined) {
      return tree.hold();
    }
    const { layerIds, pin } = this.#layers.pin(this.#endedLayers(id));
    return new BuildTree({ kind: 'layers', layerIds }, () => pin[Symbol.dispose]());
  }

  #end(id: string): void {
    const tree = this.#trees.get(id);
    this.#trees.delete(id);
    if (tree?.content.kind === 'layers') {
      this.#ended.set(id, this.#layers.chainId(tree.content.layerIds));
      const [oldest] = this.#ended.keys();
      if (oldest !== undefined && this.#ended.size > limits.buildResultsEndedMax) {
        this.#ended.delete(oldest);
      }
    }
    tree?.[Symbol.dispose]();
  }

  #endedLayers(id: string): readonly number[] {
    const chainId = this.#ended.get(id);
    const layerIds = chainId === '' || chainId === undefined ? [] : this.#layers.chainNamed(chainId);
    if (chainId === undefined || layerIds === undefined) {
      throw notFound(`no build that is under way has a result ${JSON.stringify(id)}`);
    }
    return layerIds;
  }
}
