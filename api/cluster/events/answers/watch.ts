import type { ServerResponse } from 'node:http';
import { EngineError } from '../../../../daemon/base/errors.ts';
import { limits } from '../../../../daemon/base/limits.ts';
import type { ClusterEventsPort, EventSelection, WatchedChange } from '../../../types/cluster/events.ts';
import type { ClusterResult, KnownRequest } from '../../family.ts';
import { flag, resourceVersion, selectionOf, wholeNumber } from '../parameters.ts';
import { statusOf } from '../status.ts';
import type { EventVersion } from '../version.ts';
import { formOf } from './accept.ts';
import { tooLarge } from './list.ts';
import { includeObject, tableOfOne } from './table.ts';
import { framesOf, WatchStream, type FrameForm } from './watch-streams.ts';

/** Watches that go on, so that a daemon that stops can end them. */
const running = new Set<WatchStream>();

export function endWatches(): void {
  running.forEach((stream) => stream.end());
}

interface Wanted {
  selection: EventSelection;
  form: FrameForm;
  /** Undefined = as it is now, all of which is told first. */
  from: number | undefined;
  hasBookmarks: boolean;
  /** All that is there is told first, and a bookmark says where it ends. */
  sendsInitial: boolean;
  timeoutS: number;
  apiVersion: string;
}

/** Changes of events, one frame a line, until the client leaves or the time is over. */
export function answerWatch(
  request: KnownRequest,
  events: ClusterEventsPort,
  version: EventVersion,
): ClusterResult {
  const wanted = wantedOf(request, version);
  if (running.size >= limits.clusterWatchesMax) {
    throw new EngineError('resource_exhausted', 'too many watches: try again later', {
      details: { reason: 'TooManyRequests' },
    });
  }
  if (wanted.from !== undefined && wanted.from > events.revision) {
    throw tooLarge(wanted.from, events.revision);
  }
  // A selector that makes no sense is told with a status of its own.
  events.list(wanted.selection, { limit: 1 });
  return { kind: 'taken', serve: (res) => serve(res, events, wanted) };
}

function wantedOf(request: KnownRequest, version: EventVersion): Wanted {
  const { query, req } = request;
  const from = resourceVersion(query);
  const sendsInitial = flag(query, 'sendInitialEvents');
  checkInitial(query, sendsInitial);
  const isTable = formOf(req.headers.accept) === 'table';
  const include = includeObject(query);
  return {
    selection: selectionOf(request, version),
    form: isTable
      ? {
          key: `table ${version.apiVersion} ${include}`,
          object: (event) => tableOfOne(event, version, { include, nowMs: Date.now(), hasColumns: true }),
        }
      : { key: version.apiVersion, object: (event) => version.text(event) },
    // 0 = as it is now, or may have been a moment ago.
    from: from === 0 || sendsInitial ? undefined : from,
    hasBookmarks: flag(query, 'allowWatchBookmarks'),
    sendsInitial,
    timeoutS: wholeNumber(query, 'timeoutSeconds') || limits.clusterWatchDefaultS * (1 + Math.random()),
    apiVersion: version.apiVersion,
  };
}

/** Throws invalid_argument (422), in the words that clients fall back by. */
function checkInitial(query: URLSearchParams, sendsInitial: boolean): void {
  const match = query.get('resourceVersionMatch') ?? '';
  const wrong = !query.has('sendInitialEvents')
    ? match === ''
      ? undefined
      : 'resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided'
    : match !== 'NotOlderThan'
      ? 'sendInitialEvents requires setting resourceVersionMatch to NotOlderThan'
      : sendsInitial && !flag(query, 'allowWatchBookmarks')
        ? 'sendInitialEvents requires setting allowWatchBookmarks to true'
        : undefined;
  if (wrong !== undefined) {
    throw new EngineError('invalid_argument', `ListOptions.meta.k8s.io "" is invalid: ${wrong}`, {
      details: {
        reason: 'Invalid',
        causes: [{ reason: 'FieldValueForbidden', message: wrong, field: 'resourceVersionMatch' }],
      },
    });
  }
}

function serve(res: ServerResponse, events: ClusterEventsPort, wanted: Wanted): void {
  const { selection, form, hasBookmarks, sendsInitial, timeoutS, apiVersion } = wanted;
  let watch: Disposable | undefined;
  let from: number;
  const timers: NodeJS.Timeout[] = [];
  const stream = new WatchStream(res, () => {
    running.delete(stream);
    timers.forEach((timer) => clearTimeout(timer));
    watch?.[Symbol.dispose]();
  });
  running.add(stream);
  try {
    if (wanted.from === undefined) {
      const page = events.list(selection);
      from = page.revision;
      const initial = page.items.map((event): WatchedChange => ({ type: 'ADDED', event }));
      if (initial.length > 0) {
        stream.write(framesOf(initial, form));
      }
      if (sendsInitial) {
        stream.write(bookmarkFrame(apiVersion, from, { 'k8s.io/initial-events-end': 'true' }));
      }
    } else {
      from = wanted.from;
    }
    watch = events.watch(selection, from, {
      onChanges: (changes) => stream.write(framesOf(changes, form)),
      onEnd: () => endExpired(stream),
    });
  } catch (error) {
    stream.write(errorFrame(error));
    stream.end();
    return;
  }
  if (stream.isEnded) {
    watch[Symbol.dispose]();
    return;
  }
  timers.push(setTimeout(() => stream.end(), Math.min(timeoutS, DAY_S) * 1_000));
  if (hasBookmarks) {
    const tell = (): void => stream.write(bookmarkFrame(apiVersion, Math.max(events.told, from), undefined));
    timers.push(setInterval(tell, limits.clusterBookmarkMs));
  }
}

const DAY_S = 86_400;

function endExpired(stream: WatchStream): void {
  stream.write(
    errorFrame(
      new EngineError('failed_precondition', 'too old resource version: the events are known anew', {
        details: { reason: 'Expired' },
      }),
    ),
  );
  stream.end();
}

function errorFrame(error: unknown): string {
  return `${JSON.stringify({ type: 'ERROR', object: statusOf(error) })}\n`;
}

function bookmarkFrame(apiVersion: string, revision: number, annotations: object | undefined): string {
  const metadata = {
    resourceVersion: String(revision),
    creationTimestamp: null,
    ...(annotations && { annotations }),
  };
  return `${JSON.stringify({ type: 'BOOKMARK', object: { kind: 'Event', apiVersion, metadata } })}\n`;
}
