import type { Logger } from '../../../base/logger.ts';
import { limits } from '../../../base/limits.ts';
import type { Mirror } from '../../records/mirror.ts';
import type { BlobFiles } from '../../registry/files/port.ts';
import type { Note } from '../artifact/note.ts';
import { splitDocument } from '../document/document.ts';
import { categoriesOf } from '../schema/metadata.ts';
import type { TextIndex } from './port.ts';

interface Deps {
  mirror: Mirror;
  files: BlobFiles;
  log: Logger;
  index: TextIndex;
}

/**
 * Finds notes by their words. The index follows the records: before it is asked, what has changed since is put in, at
 * the first question all of it. So nothing that changes notes has to think of it, and who never searches pays nothing.
 */
export class NoteIndex {
  readonly #deps: Deps;
  /** What is in the index: digests of manifests by the ids of their notes. */
  readonly #known = new Map<number, string>();
  #following: Promise<void> = Promise.resolve();

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** Ids of notes, best first; of all notes where there is no word. */
  async find(words: readonly string[]): Promise<number[]> {
    const follow = this.#following.then(() => this.#follow());
    // Who comes next begins where this one ends, however it does: it is told to this one.
    this.#following = follow.catch(() => undefined);
    await follow;
    return this.#deps.index.find(words, limits.hubSearchFoundMax);
  }

  async #follow(): Promise<void> {
    const { mirror, index } = this.#deps;
    // Records of this kind are notes.
    const notes = Array.from(mirror.below('note/'), ({ value }) => value as Note);
    const living = new Set(notes.map(({ id }) => id));
    for (const id of this.#known.keys()) {
      if (!living.has(id)) {
        index.remove(id);
        this.#known.delete(id);
      }
    }
    for (const note of notes) {
      if (this.#known.get(note.id) !== note.digest) {
        await this.#put(note);
      }
    }
  }

  async #put(note: Note): Promise<void> {
    const { files, index, log } = this.#deps;
    const { id, digest, title, metadata, markdown } = note;
    const bytes = await files.read(markdown);
    if (bytes === undefined) {
      log.error({ note: id, digest: markdown }, 'the text of a note is not on the disk');
    }
    const text = splitDocument(bytes?.toString('utf8') ?? '')?.text ?? '';
    const names = [...categoriesOf(metadata), ...(metadata.tags ?? []), ...(metadata.aliases ?? [])];
    index.put(id, { title: title ?? '', names: names.join('\n'), text });
    this.#known.set(id, digest);
  }
}
