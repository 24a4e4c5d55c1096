import { createHash } from 'node:crypto';
import { encodeHeader, padding, TAR_END } from '../../tar/encode.ts';
import type { TarMember } from '../../tar/parser.ts';
import type { AppliedLayer } from '../apply-request.ts';
import { attributePolicy } from '../attributes.ts';
import type { RecipeWriter } from '../recipe.ts';

/** The tar of a layer, which is stored nowhere: its digest, and the recipe to write it from the layer's files. */
export class ComposedTar {
  readonly #recipe: RecipeWriter;
  readonly #hash = createHash('sha256');
  #bytes = 0;
  #contentBytes = 0;

  constructor(recipe: RecipeWriter) {
    this.#recipe = recipe;
  }

  /** `content` is of as many bytes as the member says. */
  member(member: TarMember, content: Iterable<Buffer>): void {
    const { name, size } = member;
    this.#raw(headerOf(member));
    if (size === 0) {
      return;
    }
    this.#recipe.content(name, size);
    for (const chunk of content) {
      this.#hash.update(chunk);
    }
    this.#bytes += size;
    this.#contentBytes += size;
    this.#raw(padding(size));
  }

  end(): Pick<AppliedLayer, 'diffId' | 'digest' | 'tarBytes' | 'contentBytes'> {
    this.#raw(TAR_END);
    this.#recipe.finish(this.#bytes);
    const diffId = `sha256:${this.#hash.digest('hex')}`;
    return { diffId, digest: diffId, tarBytes: this.#bytes, contentBytes: this.#contentBytes };
  }

  #raw(bytes: Buffer): void {
    if (bytes.length > 0) {
      this.#hash.update(bytes);
      this.#bytes += bytes.length;
      this.#recipe.raw(bytes);
    }
  }
}

function headerOf(member: TarMember): Buffer {
  const { type, name, mode, attributes } = member;
  return encodeHeader({
    ...member,
    name: type === 'directory' ? `${name}/` : name,
    mode: type === 'symlink' ? 0o777 : mode,
    attributes:
      attributes.size === 0
        ? attributes
        : new Map(
            type === 'symlink' ? [] : [...attributes].filter(([key]) => attributePolicy(key) === 'apply'),
          ),
  });
}
