import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { setImmediate } from 'node:timers/promises';
import { limits } from '../../../../daemon/base/limits.ts';
import type {
  ClusterEventsPort,
  EventPage,
  EventSelection,
  StoredEvent,
} from '../../../types/cluster/events.ts';
import { EngineError } from '../../../../daemon/base/errors.ts';
import type { ClusterResult, KnownRequest } from '../../family.ts';
import { badRequest, resourceVersion, selectionOf, wholeNumber } from '../parameters.ts';
import type { EventVersion } from '../version.ts';
import { formOf } from './accept.ts';
import { isPretty, prettied } from './pretty.ts';
import { includeObject, tableHead, tableRow, TABLE_END } from './table.ts';

/** What a page of a list goes on from, as clients send it back. */
interface Continued {
  /** Revision of the first page: all pages have it, so that a watch from it misses nothing. */
  rv: number;
  /** The last key of the page before. */
  after: string;
}

/** A list, or one page of it. */
export function answerList(
  request: KnownRequest,
  events: ClusterEventsPort,
  version: EventVersion,
): ClusterResult {
  const { query, req } = request;
  const selection = selectionOf(request, version);
  const form = formOf(req.headers.accept);
  const { page, revision } = pageOf(query, selection, events);
  const metadata = JSON.stringify({
    resourceVersion: String(revision),
    ...(page.next !== undefined && { continue: encode({ rv: revision, after: page.next }) }),
    ...(page.next !== undefined && isWhole(selection) && { remainingItemCount: page.remaining }),
  });
  const include = includeObject(query);
  const nowMs = Date.now();
  const parts =
    form === 'table'
      ? {
          head: tableHead(metadata),
          item: (event: StoredEvent) => tableRow(event, version, { include, nowMs }),
          end: TABLE_END,
        }
      : {
          head: `{"kind":"EventList","apiVersion":"${version.apiVersion}","metadata":${metadata},"items":[`,
          item: (event: StoredEvent) => version.text(event),
          end: ']}\n',
        };
  const pretty = isPretty(query);
  if (pretty) {
    const text = parts.head + page.items.map(parts.item).join(',') + parts.end;
    return { kind: 'answer', status: 200, body: prettied(text) };
  }
  return { kind: 'taken', serve: (res) => send(res, page, parts) };
}

interface Parts {
  head: string;
  item: (event: StoredEvent) => string;
  end: string;
}

/** In pieces, each in its own turn of the event loop, and none before the client has taken those before. */
async function send(res: ServerResponse, { items }: EventPage, { head, item, end }: Parts): Promise<void> {
  res.writeHead(200, { 'Content-Type': 'application/json' });
  let piece = head;
  const gone = new AbortController();
  res.once('close', () => gone.abort());
  for (const [index, event] of items.entries()) {
    piece += index === 0 ? item(event) : `,${item(event)}`;
    if (piece.length >= limits.clusterListChunk) {
      const isTaken = res.write(piece);
      piece = '';
      await setImmediate();
      if (!isTaken && !(await drained(res, gone.signal))) {
        return;
      }
    }
  }
  res.end(piece + end);
}

/** False when the client is gone. */
async function drained(res: ServerResponse, signal: AbortSignal): Promise<boolean> {
  if (signal.aborted) {
    return false;
  }
  if (!res.writableNeedDrain) {
    return true;
  }
  const timeout = AbortSignal.timeout(limits.clusterWatchStalledMs);
  try {
    await once(res, 'drain', { signal: AbortSignal.any([signal, timeout]) });
    return true;
  } catch {
    // It left, or reads nothing: whoever goes on sending to it fills the memory.
    res.destroy();
    return false;
  }
}

function pageOf(
  query: URLSearchParams,
  selection: EventSelection,
  events: ClusterEventsPort,
): { page: EventPage; revision: number } {
  const limit = wholeNumber(query, 'limit') || undefined;
  const token = query.get('continue') ?? '';
  const wanted = resourceVersion(query);
  const match = query.get('resourceVersionMatch') ?? '';
  checkMatch(match, wanted, token);
  const bounds = limit === undefined ? {} : { limit };
  if (token === '') {
    refuseRevision(events, wanted, match);
    const page = events.list(selection, bounds);
    return { page, revision: page.revision };
  }
  if (wanted !== undefined && wanted !== 0) {
    throw badRequest('specifying resource version is not allowed when using continue');
  }
  const { rv, after } = decode(token);
  const page = events.list(selection, { ...bounds, after });
  if (rv < events.oldest || rv > page.revision) {
    throw new EngineError(
      'failed_precondition',
      'The provided continue parameter is too old to display a consistent list result. You can start a new list ' +
        'without the continue parameter, or use the continue token in this response to retrieve the remainder of ' +
        'the results. Continuing with the provided token results in an inconsistent list - objects that were ' +
        'created, modified, or deleted between the time the first chunk was returned and now may show up in the list.',
      { details: { reason: 'Expired', continue: encode({ rv: page.revision, after }) } },
    );
  }
  return { page, revision: rv };
}

function checkMatch(match: string, wanted: number | undefined, token: string): void {
  if (match === '') {
    return;
  }
  if (match !== 'Exact' && match !== 'NotOlderThan') {
    throw badRequest(
      `resourceVersionMatch: Unsupported value: ${JSON.stringify(match)}: supported values: "Exact", "NotOlderThan"`,
    );
  }
  if (wanted === undefined) {
    throw badRequest('resourceVersionMatch is forbidden unless resourceVersion is provided');
  }
  if (token !== '') {
    throw badRequest('resourceVersionMatch is forbidden when continue is provided');
  }
  if (match === 'Exact' && wanted === 0) {
    throw badRequest('resourceVersionMatch "Exact" is forbidden for resourceVersion "0"');
  }
}

/** A revision that is not there yet, or not any more. */
function refuseRevision(events: ClusterEventsPort, wanted: number | undefined, match: string): void {
  if (wanted !== undefined && wanted > events.revision) {
    throw tooLarge(wanted, events.revision);
  }
  if (match === 'Exact' && wanted !== undefined && wanted < events.revision) {
    throw new EngineError(
      'failed_precondition',
      `The resourceVersion for the provided list is too old: ${wanted}`,
      {
        details: { reason: 'Expired' },
      },
    );
  }
}

export function tooLarge(wanted: number, revision: number): EngineError {
  return new EngineError('deadline_exceeded', `Too large resource version: ${wanted}, current: ${revision}`, {
    details: {
      reason: 'Timeout',
      causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version', field: '' }],
    },
  });
}

function isWhole({ fieldSelector, labelSelector }: EventSelection): boolean {
  return fieldSelector === '' && labelSelector === '';
}

function encode(continued: Continued): string {
  return Buffer.from(JSON.stringify({ v: 'meta.k8s.io/v1', ...continued })).toString('base64url');
}

function decode(token: string): Continued {
  try {
    const parsed: unknown = JSON.parse(Buffer.from(token, 'base64url').toString());
    const { rv, after }: { rv?: unknown; after?: unknown } = { ...Object(parsed) };
    if (typeof rv === 'number' && typeof after === 'string') {
      return { rv, after };
    }
  } catch (error) {
    throw badToken(error);
  }
  throw badToken(undefined);
}

function badToken(cause: unknown): EngineError {
  return new EngineError('invalid_argument', 'continue key is not valid', {
    cause,
    details: { reason: 'BadRequest' },
  });
}
