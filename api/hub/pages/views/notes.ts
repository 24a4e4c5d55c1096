import type { HubNote, HubNoteWithText } from '../../../types/hub/notes.ts';
import { digestElement, scrolled, timeElement } from '../format.ts';
import { html, type Html } from '../html.ts';

/** The notes of a repository, as a part of its page; nothing where there are none. */
export function notesSection(notes: readonly HubNote[]): Html | undefined {
  return notes.length === 0
    ? undefined
    : html`<h2>Notes</h2>
        ${scrolled(
          'Notes',
          html`<table>
            <caption>
              ${notes.length} ${notes.length === 1 ? 'note' : 'notes'}
            </caption>
            <thead>
              <tr>
                <th scope="col">Note</th>
                <th scope="col">About</th>
                <th scope="col">Category</th>
                <th scope="col">Tags</th>
                <th scope="col">Changed</th>
              </tr>
            </thead>
            <tbody>
              ${notes.map(row)}
            </tbody>
          </table>`,
        )}`;
}

/** One note: what it is about, its metadata, its text as `prose`. */
export function noteView(note: HubNoteWithText, prose: Html): Html {
  const { repository, subject, metadata, defaults, text, digest } = note;
  return html`<h1>${titleOf(note)}</h1>
    <p>
      A note about ${about(subject, `the repository `)}<a href="/${repository}">${repository}</a>, changed
      ${timeElement(note.updated_at)}.
    </p>
    <h2>Metadata</h2>
    ${
      Object.keys(metadata).length + Object.keys(defaults).length === 0
        ? html`<p>None.</p>`
        : html`<dl>${fields(metadata)} ${fields(defaults, ' (of the image)')}</dl>`
    }
    <h2>Text</h2>
    ${text.trim() === '' ? html`<p>None.</p>` : prose}
    <p class="soft">Kept as ${digestElement(digest)} in the registry.</p>`;
}

function row(note: HubNote): Html {
  const { metadata, subject, repository, id, updated_at: changed } = note;
  return html`<tr>
    <th scope="row"><a href="/${repository}/notes/${id}">${titleOf(note)}</a></th>
    <td>${about(subject, 'repository')}</td>
    <td>${categoriesOf(metadata)}</td>
    <td>${labels(metadata['tags'])}</td>
    <td>${timeElement(changed)}</td>
  </tr> `;
}

function titleOf({ title, id }: Pick<HubNote, 'title' | 'id'>): string {
  return title ?? `Note ${id}`;
}

function about(subject: HubNote['subject'], whole: string): Html {
  return subject === null
    ? html`${whole}`
    : subject.tags.length > 0
      ? html`${subject.tags.join(', ')} `
      : html`${digestElement(subject.digest)} `;
}

function categoriesOf(metadata: HubNote['metadata']): string {
  return ['application', 'website-meta']
    .map((kind) => metadata[kind])
    .flatMap((value) =>
      typeof value === 'object' && value !== null && 'category' in value ? [String(value.category)] : [],
    )
    .join(', ');
}

function labels(value: unknown): readonly Html[] {
  const all: unknown[] = Array.isArray(value) ? value : [];
  return all.map((one) => html`<span class="label">${String(one)}</span> `);
}

/** `application.category` and the like, each with what it is. */
function fields(metadata: HubNote['metadata'], from = ''): readonly Html[] {
  return flat(metadata).map(
    ([name, value]) =>
      html`<dt>${name}${from}</dt>
        <dd>${value}</dd> `,
  );
}

function flat(value: object, before = ''): [string, Html][] {
  return Object.entries(value).flatMap(([name, inner]: [string, unknown]): [string, Html][] => {
    const path = before + name;
    if (Array.isArray(inner)) {
      return [[path, html`${inner.map((one) => html`${shown(one)} `)}`]];
    }
    return typeof inner === 'object' && inner !== null && Object.keys(inner).length > 0
      ? flat(inner, `${path}.`)
      : [[path, shown(inner)]];
  });
}

/** Addresses of the web are links; what else an address may be a browser might run. */
function shown(value: unknown): Html {
  if (typeof value === 'string') {
    return /^https?:\/\//i.test(value)
      ? html`<a href="${value}" rel="nofollow noopener noreferrer ugc">${value}</a>`
      : html`${value}`;
  }
  return typeof value === 'object' && value !== null ? html`is said` : html`${String(value)}`;
}
