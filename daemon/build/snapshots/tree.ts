import { randomBytes } from 'node:crypto';
import type { SentContext } from '../../../storage/contexts/sources.ts';
import type { HeldTree } from '../solver/ports.ts';

/** Layers of the image store, bottom first; or files that came from elsewhere, whose bytes lie in one file. */
export type TreeContent =
  | { kind: 'layers'; layerIds: readonly number[] }
  | { kind: 'files'; context: SentContext };

/** A tree of files that builds hold. The last hold gives back what keeps it. */
export class BuildTree implements HeldTree {
  readonly content: TreeContent;
  /** When it was made, in ms since 1970; undefined = what was there before any build. */
  createdMs: number | undefined;
  /** What the command that made it has made of trees mounted in it, by their numbers; they go with it. */
  readonly results = new Map<number, BuildTree>();
  readonly #release: () => void;
  #holds = 1;
  #id: string | undefined;

  constructor(content: TreeContent, release: () => void) {
    this.content = content;
    this.#release = release;
  }

  /** What errors name it by; only as long as it is held. */
  get id(): string {
    return (this.#id ??= randomBytes(16).toString('hex'));
  }

  hold(): this {
    this.#holds += 1;
    return this;
  }

  [Symbol.dispose](): void {
    this.#holds -= 1;
    if (this.#holds === 0) {
      this.#release();
      this.results.forEach((result) => result[Symbol.dispose]());
    }
  }
}

/** Layers of a tree, bottom first; of files of a client there are none. */
export function layersOfTree(tree: BuildTree | undefined): readonly number[] {
  return tree?.content.kind === 'layers' ? tree.content.layerIds : [];
}
