/** A note of a repository: Markdown with front matter, which is its metadata. */
export interface HubNote {
  id: number;
  url: string;
  html_url: string;
  /** `alice/app`. */
  repository: string;
  /** Of its manifest in the registry. */
  digest: string;
  /** The image that it is about; null = the repository as a whole. */
  subject: { digest: string; tags: readonly string[] } | null;
  title: string | null;
  /** As the published schema has it. */
  metadata: Readonly<Record<string, unknown>>;
  /** What annotations of the image say and the note does not. */
  defaults: Readonly<Record<string, unknown>>;
  created_at: string;
  updated_at: string;
}

/** One note, with its text. */
export interface HubNoteWithText extends HubNote {
  /** Without the front matter. */
  text: string;
  /** As it was written. */
  markdown: string;
}

/** A note that is sent: whole, or in its parts. */
export interface NoteRequest {
  /** With its front matter. */
  markdown?: string;
  metadata?: Readonly<Record<string, unknown>>;
  text?: string;
  /** Tag or digest of an image of the repository; null = the repository as a whole. Absent = that, or as it is. */
  subject?: string | null;
}

/** RFC 7396: null takes a field away. */
export interface NotePatchRequest {
  metadata?: Readonly<Record<string, unknown>> | null;
  text?: string | null;
  subject?: string | null;
}

export interface NoteSearch {
  category?: string | undefined;
  tag?: string | undefined;
  alias?: string | undefined;
  /** Words of its title, its names and its text. */
  q?: string | undefined;
}

/** Notes of repositories. What is wrong with one is an InvalidFieldsError with all of it. */
export interface HubNotesPort {
  /** JSON Schema of the metadata. */
  schema(): object;
  /** What a note that is not kept would be. */
  validate(request: NoteRequest): Promise<Pick<HubNoteWithText, 'title' | 'metadata' | 'text' | 'markdown'>>;
  /** Markdown as HTML that is safe to show. */
  rendered(text: string): Promise<string>;
  /** Of all repositories that the caller may see: best first where there are words, else oldest first. */
  search(search: NoteSearch): Promise<HubNote[]>;
  list(owner: string, name: string, search: NoteSearch): Promise<HubNote[]>;
  create(owner: string, name: string, request: NoteRequest): Promise<HubNoteWithText>;
  get(owner: string, name: string, note: number): Promise<HubNoteWithText>;
  replace(owner: string, name: string, note: number, request: NoteRequest): Promise<HubNoteWithText>;
  patch(owner: string, name: string, note: number, request: NotePatchRequest): Promise<HubNoteWithText>;
  remove(owner: string, name: string, note: number): Promise<void>;
  /** Repositories by their name, their description and their notes: what `docker search` asks for. */
  repositories(q: string): Promise<FoundRepository[]>;
}

export interface FoundRepository {
  /** `alice/app`. */
  name: string;
  description: string;
}
