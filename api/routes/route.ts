import type { Duplex, Readable } from 'node:stream';
import type { Logger } from '../../daemon/base/logger.ts';
import type { Conversation, EnginePorts } from '../types/ports.ts';
import type { ByteStream } from '../types/requests.ts';
import type { SwarmRole } from '../types/swarm/ports.ts';
import type { FlatHeaders } from '../pipeline/reply.ts';
import type { Query } from '../query.ts';
import type { Schema } from '../schemas/schema.ts';
import type { Quirk } from '../versions/change.ts';
import type { ApiVersion } from '../versions/version.ts';

export type Method = 'GET' | 'HEAD' | 'POST' | 'PUT' | 'DELETE';

/** What a handler sees of a request: newest shapes only, validated. */
export interface ApiRequest<Body = undefined> {
  params: Readonly<Record<string, string>>;
  query: Query;
  body: Body;
  /** A header of the request, by its name in lower case. */
  header: (name: string) => string | undefined;
  /** The undecoded body (a tarball). Only for routes with `body: 'bytes'`. */
  bytes: Readable;
  /** Aborted when the client hangs up or the daemon stops. */
  signal: AbortSignal;
  /** True when the client's version has this behaviour. */
  speaks: (quirk: Quirk) => boolean;
}

/** Lines of JSON, or with a record separator before each (RFC 7464, `json-seq`). */
export type EventsType =
  | 'application/json'
  | 'application/jsonl'
  | 'application/x-ndjson'
  | 'application/json-seq';

/** What a handler answers. The pipeline turns it into bytes. */
export type Result =
  /** `legacy` is what older shapes still owe (see `VersionChange.response`). */
  | { kind: 'json'; status: 200 | 201; body: unknown; legacy?: unknown }
  | { kind: 'empty'; status: 200 | 201 | 204; headers?: FlatHeaders }
  /** Headers now, the body when `body` resolves. */
  | { kind: 'late-json'; body: Promise<unknown> }
  /** `isTold`: an error is a message too when it is the first, and no status. */
  | { kind: 'json-lines'; messages: AsyncIterable<unknown>; isTold?: boolean }
  | { kind: 'events'; events: AsyncIterable<unknown>; contentType?: EventsType }
  | { kind: 'tar'; bytes: Readable; contentType?: string; headers?: FlatHeaders }
  | { kind: 'frames'; stream: ByteStream }
  | { kind: 'hijack'; conversation: Conversation }
  /** HTTP/2 with prior knowledge on the connection, after an upgrade to `h2c`. */
  | { kind: 'h2c'; serve: (connection: Duplex, log: Logger) => { closed: Promise<void>; end: () => void } }
  /** `binary`: messages are bytes, else text. */
  | { kind: 'websocket'; conversation: Conversation; binary: boolean }
  | { kind: 'failure'; status: number; message: string }
  | { kind: 'pong'; swarm: SwarmRole };

/**
 * What body a route takes. `none`: a body is not read. `bytes`: the handler reads it. `must-be-empty`: more than an
 * empty object is refused with `message`. `json`: `empty` says what no body at all means, `accepts` what `prepare` and
 * the changes between versions understand beyond `schema`.
 */
export type BodyRule =
  | { kind: 'none' }
  | { kind: 'bytes' }
  | { kind: 'must-be-empty'; message: string }
  | {
      kind: 'json';
      schema: Schema;
      empty: 'refused' | 'allowed';
      accepts?: Schema;
      prepare?: (body: unknown) => unknown;
    };

interface RouteHead {
  /** `object.verb`, unique; version changes and the log refer to it. */
  id: string;
  method: Method;
  /** As @koa/router takes it: `:id` is one segment, `*name` is one or more (image names contain slashes). */
  path: string;
  /** Another path, without parameters, that is the same to dockerd. */
  alsoAt?: string;
  /** First version without it. */
  until?: ApiVersion;
}

export interface ServedRoute extends RouteHead {
  /** What of the operation is served, where it is not all of it. For API.md. */
  partly?: string;
  body: BodyRule;
  handler: (request: ApiRequest<unknown>, ports: EnginePorts) => Promise<Result>;
}

/** Known to the API, not to this engine. */
export interface RefusedRoute extends RouteHead {
  refused: string;
}

export type Route = ServedRoute | RefusedRoute;

export interface RouteDefinition<Body> extends RouteHead {
  partly?: string;
  body?: BodyRule;
  handler: (request: ApiRequest<Body>, ports: EnginePorts) => Promise<Result>;
}

/** One line of the route table. `Body` is what `body.schema` lets through. */
export function route<Body = undefined>(definition: RouteDefinition<Body>): ServedRoute {
  const { handler } = definition;
  return {
    ...definition,
    body: definition.body ?? { kind: 'none' },
    // The schema of the route has checked the body against `Body` before the handler sees it.
    handler: (request, ports) => handler(request as ApiRequest<Body>, ports),
  };
}

export const ok = (body: unknown, legacy?: unknown): Result => ({ kind: 'json', status: 200, body, legacy });
export const created = (body: unknown): Result => ({ kind: 'json', status: 201, body });
export const empty = (status: 200 | 201 | 204): Result => ({ kind: 'empty', status });
