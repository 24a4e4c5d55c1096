import { isEngineError, notFound } from '../../base/errors.ts';
import { refuseInvalid } from '../../base/invalid-fields.ts';
import { limits } from '../../base/limits.ts';
import type { Descriptor } from '../occurrences/occurrence.ts';
import type { Mirror } from '../records/mirror.ts';
import type { By } from '../registry/by.ts';
import type { BlobFiles } from '../registry/files/port.ts';
import { MEDIA_TYPES } from '../registry/manifests/manifest.ts';
import { subjectOf } from '../registry/manifests/parse.ts';
import type { Registry } from '../registry/registry.ts';
import type { Repository } from '../repositories/repository.ts';
import type { Note } from './artifact/note.ts';
import { packNote } from './artifact/pack.ts';
import { NoteRecords } from './artifact/records.ts';
import type { NoteDocument } from './document/document.ts';

interface Deps {
  mirror: Mirror;
  files: BlobFiles;
  registry: Pick<Registry, 'blobs' | 'manifests'>;
}

/** A note as somebody wants it to be. */
export interface NoteDraft {
  document: NoteDocument;
  /** Undefined = it is about the repository as a whole. */
  subject: Descriptor | undefined;
}

/** The notes of all repositories. They are manifests of the registry, and made, replaced and deleted as such. */
export class Notes {
  readonly #deps: Deps;
  readonly #records: NoteRecords;

  constructor(deps: Deps) {
    this.#deps = deps;
    this.#records = new NoteRecords(deps.mirror);
  }

  /** By id, oldest first. */
  of({ id }: Pick<Repository, 'id'>): Note[] {
    return this.#records.of(id);
  }

  /** Throws not_found. */
  get(repository: Pick<Repository, 'id'>, id: number): Note {
    const note = this.#records.find(repository.id, id);
    if (note === undefined) {
      throw notFound('Not Found');
    }
    return note;
  }

  /** As it was written. Throws not_found when the disk has lost it. */
  async markdown({ markdown }: Note): Promise<string> {
    const bytes = await this.#deps.files.read(markdown);
    if (bytes === undefined) {
      throw notFound('Not Found');
    }
    return bytes.toString('utf8');
  }

  /** What a note is about, also where that is not there any more; undefined = the repository as a whole. */
  async subjectOf(repository: Repository, { digest, subject }: Note): Promise<Descriptor | undefined> {
    if (subject === null) {
      return undefined;
    }
    const { bytes } = await this.#deps.registry.manifests.read(repository, { kind: 'digest', digest });
    return subjectOf(bytes);
  }

  /** Throws InvalidFieldsError where it is there already; forbidden where the owner has no room. */
  async create(by: By, draft: NoteDraft): Promise<Note> {
    const { digest } = packNote(draft.document, draft.subject);
    refuseInvalid([
      this.#records.get(by.repository.id, digest) && {
        resource: 'Note',
        field: 'markdown',
        code: 'already_exists',
        message: 'is that of another note already',
      },
    ]);
    return this.#put(by, draft, undefined);
  }

  /** Decides on the note as it is, anew where another one was faster. Throws as `create`; not_found. */
  async edit(by: By, id: number, drafted: (note: Note) => Promise<NoteDraft>): Promise<Note> {
    for (let attempt = 1; ; attempt += 1) {
      const note = this.get(by.repository, id);
      const draft = await drafted(note);
      try {
        return await this.#put(by, draft, note.digest);
      } catch (error) {
        const isGone =
          isEngineError(error, 'not_found') && this.get(by.repository, id).digest !== note.digest;
        if (!isGone || attempt === limits.hubUpdateAttempts) {
          throw error;
        }
      }
    }
  }

  /** Throws not_found. */
  async remove(by: By, id: number): Promise<void> {
    const { digest } = this.get(by.repository, id);
    await this.#deps.registry.manifests.delete(by, { kind: 'digest', digest });
  }

  async #put(by: By, { document, subject }: NoteDraft, replaces: string | undefined): Promise<Note> {
    const { blobs, manifests } = this.#deps.registry;
    const { digest, manifest, blobs: parts } = packNote(document, subject);
    for (const { digest: part, size, bytes } of parts) {
      await blobs.adopt(by.repository, { digest: part, size }, () => this.#deps.files.put(part, bytes));
    }
    await manifests.put(
      by,
      { kind: 'digest', digest },
      { mediaType: MEDIA_TYPES.ociManifest, bytes: manifest, ...(replaces !== undefined && { replaces }) },
    );
    const note = this.#records.get(by.repository.id, digest);
    if (note === undefined) {
      // Somebody has deleted it at once.
      throw notFound('Not Found');
    }
    return note;
  }
}
