import { InvalidFieldsError, refuseInvalid, type InvalidField } from '../../../base/invalid-fields.ts';
import { limits } from '../../../base/limits.ts';
import type { Clock } from '../../../base/clock.ts';
import type { Outbox } from '../../occurrences/occurrence.ts';
import { Counters } from '../../records/counters.ts';
import type { Mirror } from '../../records/mirror.ts';
import type { RecordChange } from '../../records/port.ts';
import type { CheckedArtifact, KnownArtifacts } from '../../registry/artifacts/port.ts';
import type { By } from '../../registry/by.ts';
import type { BlobFiles } from '../../registry/files/port.ts';
import type { Manifest } from '../../registry/manifests/manifest.ts';
import type { ParsedManifest } from '../../registry/manifests/parse.ts';
import { refusal } from '../../registry/refusal.ts';
import { nowMsOf } from '../../registry/registry-deps.ts';
import type { NoteReader } from '../reader/port.ts';
import { titleOf, type NoteDocument } from '../document/document.ts';
import { noteSummary, NOTE_TYPES, type Note } from './note.ts';
import { NoteRecords } from './records.ts';
import { partsOf } from './unpack.ts';

interface Deps {
  mirror: Mirror;
  clock: Clock;
  files: BlobFiles;
  outbox: Outbox;
  reader: NoteReader;
}

/** Manifests that are notes: whoever pushes one pushes a right one, and its record is made and goes with it. */
export class NoteArtifacts implements KnownArtifacts {
  readonly #deps: Deps;
  readonly #records: NoteRecords;
  readonly #counters: Counters;

  constructor(deps: Deps) {
    this.#deps = deps;
    this.#records = new NoteRecords(deps.mirror);
    this.#counters = new Counters(deps.mirror);
  }

  async check(parsed: ParsedManifest): Promise<CheckedArtifact | undefined> {
    if (parsed.artifactType !== NOTE_TYPES.artifact) {
      return undefined;
    }
    const parts = partsOf(parsed);
    if (parts.problems !== undefined) {
      throw invalid(parts.problems);
    }
    const { config, layer } = parts;
    const [metadata, markdown] = [await this.#read(config.digest), await this.#read(layer.digest)];
    const unpacked = await this.#deps.reader.unpack(metadata, markdown);
    if (unpacked.problems !== undefined) {
      throw invalid(unpacked.problems);
    }
    const { document } = unpacked;
    return {
      changes: (by, manifest, replaced) =>
        this.#changes(by, manifest, { document, layer: layer.digest, replaced }),
    };
  }

  removals(by: By, { digest }: Manifest): readonly RecordChange[] {
    const note = this.#records.get(by.repository.id, digest);
    return note === undefined
      ? []
      : [this.#records.delete(by.repository.id, digest), ...this.#told(by, 'deleted', note)];
  }

  #changes(
    by: By,
    { digest, subject }: Manifest,
    given: { document: NoteDocument; layer: string; replaced: Manifest | undefined },
  ): readonly RecordChange[] {
    const { id: repository } = by.repository;
    const { document, layer, replaced } = given;
    if (this.#records.get(repository, digest) !== undefined) {
      refuseSame(replaced, digest);
      return [];
    }
    const old = replaced && this.#records.get(repository, replaced.digest);
    const nowMs = nowMsOf(this.#deps.clock);
    const counted = old === undefined ? this.#next(repository) : { id: old.id, changes: [] };
    const note: Note = {
      id: counted.id,
      digest,
      subject,
      metadata: document.metadata,
      title: titleOf(document),
      markdown: layer,
      createdMs: old?.createdMs ?? nowMs,
      updatedMs: nowMs,
    };
    return [
      ...counted.changes,
      ...(old === undefined ? [] : [this.#records.delete(repository, old.digest)]),
      this.#records.put(repository, note),
      ...this.#told(by, old === undefined ? 'created' : 'edited', note),
    ];
  }

  #next(repository: number): { id: number; changes: RecordChange[] } {
    if (this.#records.of(repository).length >= limits.hubNotesOfRepositoryMax) {
      throw refusal(
        'DENIED',
        `a repository has at most ${limits.hubNotesOfRepositoryMax} notes: delete some first`,
      );
    }
    const { id, change } = this.#counters.next('note');
    return { id, changes: [change] };
  }

  #told(by: By, action: 'created' | 'edited' | 'deleted', note: Note): readonly RecordChange[] {
    const { outbox, clock } = this.#deps;
    return outbox.intents({ kind: 'note', action, note: noteSummary(note), ...by, atMs: nowMsOf(clock) });
  }

  /** The repository has it: only the disk may have lost it. */
  async #read(digest: string): Promise<Buffer> {
    const bytes = await this.#deps.files.read(digest);
    if (bytes === undefined) {
      throw refusal('MANIFEST_BLOB_UNKNOWN', `blob ${digest} is not there any more: push it again`, {
        detail: { digest },
      });
    }
    return bytes;
  }
}

/** Throws InvalidFieldsError where a note would become the same as another one. */
function refuseSame(replaced: Manifest | undefined, digest: string): void {
  refuseInvalid([
    replaced === undefined || replaced.digest === digest
      ? undefined
      : {
          resource: 'Note',
          field: 'markdown',
          code: 'already_exists',
          message: 'is that of another note already',
        },
  ]);
}

function invalid(problems: readonly InvalidField[]): Error {
  return refusal('MANIFEST_INVALID', `manifest invalid: note: ${new InvalidFieldsError(problems).message}`, {
    detail: { errors: problems },
  });
}
