import { invalidArgument } from '../../../daemon/base/errors.ts';
import { refuseInvalid } from '../../../daemon/base/invalid-fields.ts';
import { limits } from '../../../daemon/base/limits.ts';
import type { NotePatchRequest, NoteRequest, NoteSearch } from '../../types/hub/notes.ts';
import type { BodySchema } from '../request/body.ts';
import {
  hubRoute,
  idParam,
  list,
  made,
  none,
  ok,
  param,
  type AcceptedTokens,
  type HubRequest,
  type ServedHubRoute,
} from './route.ts';

const NOTES = '/repos/:owner/:repo/notes';
const NOTE = `${NOTES}/:note_id`;

const READ: AcceptedTokens = {
  permissions: 'packages=read',
  scopes: ['read:packages', 'repo', 'write:packages'],
};
const WRITE: AcceptedTokens = { permissions: 'packages=write', scopes: ['repo', 'write:packages'] };

/** As JSON, or the Markdown itself with its type. What the metadata may be the published schema says. */
const BODY: BodySchema = {
  title: 'Note',
  type: 'object',
  properties: {
    markdown: { type: 'string' },
    metadata: { type: 'object' },
    text: { type: 'string' },
    subject: { type: ['string', 'null'] },
  },
  additionalProperties: false,
  text: { mediaType: 'text/markdown', field: 'markdown' },
  bytesMax: limits.hubNoteBodyBytesMax,
  valuesMax: limits.hubNoteValuesMax,
};

const PATCH: BodySchema = {
  title: 'Note',
  type: 'object',
  properties: {
    metadata: { type: ['object', 'null'] },
    text: { type: ['string', 'null'] },
    subject: { type: ['string', 'null'] },
  },
  additionalProperties: false,
  bytesMax: limits.hubNoteBodyBytesMax,
  valuesMax: limits.hubNoteValuesMax,
};

/** Notes of repositories and of all of them (seed 002 section 2D). */
export const noteRoutes: readonly ServedHubRoute[] = [
  hubRoute({
    id: 'note.schema',
    method: 'GET',
    path: '/schemas/note-metadata.json',
    isFree: true,
    handler: ({ session }) => ok(session.notes.schema()),
  }),
  hubRoute<NoteRequest>({
    id: 'note.validate',
    method: 'POST',
    path: '/notes/validate',
    body: BODY,
    handler: async ({ session, body }) => ok(await session.notes.validate(body)),
  }),
  hubRoute({
    id: 'note.search',
    method: 'GET',
    path: '/notes',
    accepts: READ,
    handler: async ({ session, query }) => list(await session.notes.search(readSearch(query))),
  }),
  hubRoute({
    id: 'note.list',
    method: 'GET',
    path: NOTES,
    accepts: READ,
    handler: async ({ session, query, ...request }) =>
      list(await session.notes.list(...repositoryOf(request), readSearch(query))),
  }),
  hubRoute<NoteRequest>({
    id: 'note.create',
    method: 'POST',
    path: NOTES,
    accepts: WRITE,
    body: BODY,
    handler: async ({ session, ...request }) =>
      made(await session.notes.create(...repositoryOf(request), bodyOf(request))),
  }),
  hubRoute({
    id: 'note.get',
    method: 'GET',
    path: NOTE,
    accepts: READ,
    handler: async ({ session, ...request }) => ok(await session.notes.get(...noteOf(request))),
  }),
  hubRoute<NoteRequest>({
    id: 'note.replace',
    method: 'PUT',
    path: NOTE,
    accepts: WRITE,
    body: BODY,
    handler: async ({ session, ...request }) =>
      ok(await session.notes.replace(...noteOf(request), bodyOf(request))),
  }),
  hubRoute<NotePatchRequest>({
    id: 'note.patch',
    method: 'PATCH',
    path: NOTE,
    accepts: WRITE,
    body: PATCH,
    handler: async ({ session, body, ...request }) => ok(await session.notes.patch(...noteOf(request), body)),
  }),
  hubRoute({
    id: 'note.remove',
    method: 'DELETE',
    path: NOTE,
    accepts: WRITE,
    handler: async ({ session, ...request }) => {
      await session.notes.remove(...noteOf(request));
      return none();
    },
  }),
];

function repositoryOf(request: Pick<HubRequest<unknown>, 'params'>): [string, string] {
  return [param(request, 'owner'), param(request, 'repo')];
}

function noteOf(request: Pick<HubRequest<unknown>, 'params'>): [string, string, number] {
  return [...repositoryOf(request), idParam(request, 'note_id')];
}

/** What lists of any kind take beside. */
const PAGE = ['page', 'per_page'];
const SEARCHED = ['category', 'tag', 'alias', 'q'] as const;

/** A filter that was misspelt must not find everything. Throws invalid_argument. */
function refuseOthers(query: URLSearchParams, known: readonly string[]): void {
  const other = [...query.keys()].find((name) => !known.includes(name));
  if (other !== undefined) {
    throw invalidArgument(
      `query: no such field: ${JSON.stringify(other.slice(0, 100))}, there are ${known.join(', ')}`,
    );
  }
}

/** Markdown that is sent as such says in the query what it is about. */
function bodyOf({ body, query }: Pick<HubRequest<NoteRequest>, 'body' | 'query'>): NoteRequest {
  refuseOthers(query, ['subject']);
  const subject = query.get('subject');
  return subject === null || body.subject !== undefined ? body : { ...body, subject };
}

/** Throws InvalidFieldsError for what stands twice: to find one of two is not asked for; invalid_argument. */
function readSearch(query: URLSearchParams): NoteSearch {
  refuseOthers(query, [...SEARCHED, ...PAGE]);
  refuseInvalid(
    SEARCHED.map((field) =>
      query.getAll(field).length > 1
        ? {
            resource: 'Search',
            field,
            code: 'invalid',
            message: 'must stand once',
            value: query.getAll(field),
          }
        : undefined,
    ),
  );
  return Object.fromEntries(SEARCHED.map((name) => [name, query.get(name) ?? undefined]));
}
