import { randomUUID } from 'node:crypto';
import { notFound } from '../../base/errors.ts';
import { BuildTree } from './tree.ts';

/** A tree by an id that graphs can name; disposing forgets it. */
export interface KeptTree extends Disposable {
  id: string;
}

/** Trees that builds under way have made, for graphs that name them: results of other builds, contexts that came. */
export class HeldTrees {
  readonly #trees = new Map<string, BuildTree>();

  /** Holds a tree, `undefined` an empty one, until what is answered is disposed of. */
  keep(tree: BuildTree | undefined): KeptTree {
    const id = randomUUID();
    this.#trees.set(id, tree?.hold() ?? new BuildTree({ kind: 'layers', layerIds: [] }, () => undefined));
    return {
      id,
      [Symbol.dispose]: () => {
        this.#trees.get(id)?.[Symbol.dispose]();
        this.#trees.delete(id);
      },
    };
  }

  /** Held by who keeps it. Throws not_found: the build that made it is over, or there was none. */
  find(id: string): BuildTree {
    const tree = this.#trees.get(id);
    if (tree === undefined) {
      throw notFound(`no build that is under way has a result ${JSON.stringify(id)}`);
    }
    return tree;
  }
}
