import { Collection } from '../../records/collection.ts';
import type { Mirror } from '../../records/mirror.ts';
import type { RecordChange } from '../../records/port.ts';
import type { Note } from './note.ts';

/** Which repository has which note. */
export class NoteRecords {
  readonly #notes: Collection<Note>;

  constructor(mirror: Mirror) {
    this.#notes = new Collection(mirror, 'note/');
  }

  get(repository: number, digest: string): Note | undefined {
    return this.#notes.get(`${repository}/${digest}`);
  }

  /** By id, oldest first. */
  of(repository: number): Note[] {
    return this.#notes.in(`${repository}/`).toSorted((one, other) => one.id - other.id);
  }

  find(repository: number, id: number): Note | undefined {
    return this.#notes.in(`${repository}/`).find((note) => note.id === id);
  }

  /** As `Collection.put`. */
  put(repository: number, note: Note): RecordChange {
    return this.#notes.put(`${repository}/${note.digest}`, note);
  }

  delete(repository: number, digest: string): RecordChange {
    return this.#notes.delete(`${repository}/${digest}`);
  }
}
