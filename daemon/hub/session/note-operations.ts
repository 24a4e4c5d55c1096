import type {
  FoundRepository,
  HubNote,
  HubNotesPort,
  HubNoteWithText,
  NotePatchRequest,
  NoteRequest,
  NoteSearch,
} from '../../../api/types/hub/notes.ts';
import { isEngineError } from '../../base/errors.ts';
import { InvalidFieldsError, refuseInvalid, type InvalidField } from '../../base/invalid-fields.ts';
import { limits } from '../../base/limits.ts';
import type { Caller } from '../identity/caller.ts';
import type { Note } from '../notes/artifact/note.ts';
import { defaultsOf } from '../notes/document/defaults.ts';
import { splitDocument, titleOf, type NoteDocument } from '../notes/document/document.ts';
import { mergeFields } from '../../base/json/merge-patch.ts';
import type { NoteDraft } from '../notes/notes.ts';
import { plainText } from '../notes/rendering/plain-text.ts';
import { NOTE_SCHEMA } from '../notes/schema/note-schema.ts';
import { withWebsiteStatus } from '../notes/schema/website-status.ts';
import { fits, wordsOf } from '../notes/search/filter.ts';
import type { By } from '../registry/by.ts';
import type { Manifest } from '../registry/manifests/manifest.ts';
import { readReference } from '../registry/names/name.ts';
import type { Need } from '../repositories/access.ts';
import type { Repository } from '../repositories/repository.ts';
import { noteView } from '../views/note-view.ts';
import { actorOf } from './actor.ts';
import { NEEDS } from './needs.ts';
import type { SessionDeps } from './session-deps.ts';

/** Notes of the repositories that the caller may pull from; who may push to one may change them. */
export class NoteOperations implements HubNotesPort {
  readonly #deps: SessionDeps;
  readonly #caller: Caller;

  constructor(deps: SessionDeps, caller: Caller) {
    this.#deps = deps;
    this.#caller = caller;
  }

  schema(): object {
    return NOTE_SCHEMA;
  }

  async validate(request: NoteRequest) {
    const document = await this.#read(request);
    const { metadata, text, markdown } = document;
    return { title: titleOf(document), metadata, text, markdown };
  }

  async rendered(text: string): Promise<string> {
    return (await this.#deps.noteReader.render(text)) ?? plainText(text);
  }

  async search(search: NoteSearch): Promise<HubNote[]> {
    return this.#found(
      this.#deps.repositories.all().filter((one) => this.#may(one)),
      search,
    );
  }

  async list(owner: string, name: string, search: NoteSearch): Promise<HubNote[]> {
    return this.#found([this.#granted(owner, name, NEEDS.pull)], search);
  }

  async create(owner: string, name: string, request: NoteRequest): Promise<HubNoteWithText> {
    const by = this.#by(owner, name);
    const document = await this.#read(request);
    const subject = this.#subject(by.repository, request.subject ?? null);
    return this.#withText(by.repository, await this.#deps.notes.create(by, { document, subject }));
  }

  async get(owner: string, name: string, id: number): Promise<HubNoteWithText> {
    const repository = this.#granted(owner, name, NEEDS.pull);
    return this.#withText(repository, this.#deps.notes.get(repository, id));
  }

  async replace(owner: string, name: string, id: number, request: NoteRequest): Promise<HubNoteWithText> {
    const by = this.#by(owner, name);
    const document = await this.#read(request);
    const note = await this.#deps.notes.edit(by, id, (current) =>
      this.#draft(by.repository, document, { said: request.subject, current }),
    );
    return this.#withText(by.repository, note);
  }

  async patch(owner: string, name: string, id: number, request: NotePatchRequest): Promise<HubNoteWithText> {
    const by = this.#by(owner, name);
    const note = await this.#deps.notes.edit(by, id, async (current) => {
      const { text } = request;
      const known = await this.#deps.notes.markdown(current);
      const document = await this.#read({
        metadata: request.metadata === null ? {} : mergeFields(current.metadata, request.metadata ?? {}),
        text: text === undefined ? (splitDocument(known)?.text ?? '') : (text ?? ''),
      });
      return this.#draft(by.repository, document, { said: request.subject, current });
    });
    return this.#withText(by.repository, note);
  }

  async remove(owner: string, name: string, id: number): Promise<void> {
    await this.#deps.notes.remove(this.#by(owner, name), id);
    this.#deps.registry.collector.soon();
  }

  async repositories(q: string): Promise<FoundRepository[]> {
    const words = wordsOf(q);
    const ids = new Set(await this.#deps.noteIndex.find(words));
    const isIn = (text: string | null): boolean =>
      words.every((word) => (text ?? '').toLowerCase().includes(word.toLowerCase()));
    const found = this.#deps.repositories
      .all()
      .filter((one) => this.#may(one))
      .map((one) => {
        const fullName = `${one.owner.name}/${one.name}`.toLowerCase();
        const notes = this.#deps.notes.of(one);
        const note = notes.find(({ id }) => ids.has(id));
        const rank = isIn(fullName) ? 0 : isIn(one.description) ? 1 : note === undefined ? undefined : 2;
        const title = (note ?? notes.find(({ subject }) => subject === null) ?? notes[0])?.title;
        return { name: fullName, description: one.description ?? title ?? '', rank };
      });
    return found
      .filter(({ rank }) => rank !== undefined)
      .toSorted((one, other) => (one.rank ?? 0) - (other.rank ?? 0))
      .map(({ name, description }) => ({ name, description }));
  }

  async #found(repositories: readonly Repository[], { q = '', ...filter }: NoteSearch): Promise<HubNote[]> {
    const words = wordsOf(q);
    const ranks = new Map(
      words.length === 0 ? [] : (await this.#deps.noteIndex.find(words)).map((id, rank) => [id, rank]),
    );
    const found = repositories.flatMap((repository) =>
      this.#deps.notes
        .of(repository)
        .filter((note) => fits(filter, note) && (words.length === 0 || ranks.has(note.id)))
        .map((note) => ({ repository, note })),
    );
    return found
      .toSorted(
        (one, other) =>
          (ranks.get(one.note.id) ?? 0) - (ranks.get(other.note.id) ?? 0) || one.note.id - other.note.id,
      )
      .map(({ repository, note }) => this.#view(repository, note));
  }

  /** Throws InvalidFieldsError with all that is wrong. */
  async #read(request: NoteRequest): Promise<NoteDocument> {
    const { subject: _, ...parts } = request;
    refuseParts(parts);
    const read = await this.#deps.noteReader.read(parts);
    if (read.problems !== undefined) {
      throw new InvalidFieldsError(read.problems);
    }
    return read.document;
  }

  #may(repository: Repository): boolean {
    return this.#deps.grants.may(this.#caller, NEEDS.pull, repository);
  }

  #by(owner: string, name: string): By {
    return { repository: this.#granted(owner, name, NEEDS.push), actor: actorOf(this.#caller) };
  }

  #granted(owner: string, name: string, need: Need): Repository {
    return this.#deps.grants.granted(this.#caller, { owner, name }, need);
  }

  /** `said`: undefined = it stays about what it is about, whether that is there or not. */
  async #draft(
    repository: Repository,
    document: NoteDocument,
    { said, current }: { said: string | null | undefined; current: Note },
  ): Promise<NoteDraft> {
    const { notes } = this.#deps;
    const subject =
      said === undefined ? await notes.subjectOf(repository, current) : this.#subject(repository, said);
    return { document, subject };
  }

  /** Throws InvalidFieldsError for what the repository does not have. */
  #subject(repository: Repository, said: string | null): Manifest | undefined {
    if (said === null) {
      return undefined;
    }
    try {
      return this.#deps.registry.manifests.find(repository, readReference(said));
    } catch (error) {
      if (!isEngineError(error)) {
        throw error;
      }
      const message = 'must be a tag or digest of an image of this repository, or null';
      throw new InvalidFieldsError([
        { resource: 'Note', field: 'subject', code: 'invalid', message, value: said },
      ]);
    }
  }

  async #withText(repository: Repository, note: Note): Promise<HubNoteWithText> {
    const markdown = await this.#deps.notes.markdown(note);
    return { ...this.#view(repository, note), text: splitDocument(markdown)?.text ?? markdown, markdown };
  }

  #view(repository: Repository, note: Note): HubNote {
    const { manifests } = this.#deps.registry;
    const about = note.subject === null ? undefined : manifests.peek(repository, note.subject);
    const facts = {
      tags: note.subject === null ? [] : manifests.tagsOf(repository, note.subject),
      defaults: about === undefined ? {} : defaultsOf(about, note.metadata),
    };
    const metadata = withWebsiteStatus(note.metadata, this.#deps.websiteStatus);
    return noteView({ ...note, metadata }, repository, facts, this.#deps.addresses);
  }
}

/** Before a thread has work with it. Throws InvalidFieldsError. */
function refuseParts({ markdown, metadata, text }: NoteRequest): void {
  const max = limits.hubNoteFrontMatterBytesMax;
  refuseInvalid([
    markdown !== undefined && (metadata ?? text) !== undefined
      ? wrong('markdown', 'goes with neither metadata nor text: it holds both')
      : undefined,
    metadata !== undefined && JSON.stringify(metadata).length > max
      ? wrong('metadata', `must be at most ${max} bytes`)
      : undefined,
  ]);
}

function wrong(field: string, message: string): InvalidField {
  return { resource: 'Note', field, code: 'invalid', message };
}
