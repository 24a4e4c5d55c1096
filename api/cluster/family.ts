import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ClusterCaller, ClusterCredentials, ClusterPorts } from '../types/cluster/ports.ts';

/** A request of the cluster interface. */
export interface ClusterRequest {
  method: string;
  /** Without query, as it was sent (percent-encoded). */
  path: string;
  /** Parameters of the route's path, decoded. */
  params: Readonly<Record<string, string>>;
  query: URLSearchParams;
  /** The query as it was sent, without `?`. */
  rawQuery: string;
  req: IncomingMessage;
  credentials: ClusterCredentials;
}

/** A request with who sends it. */
export interface KnownRequest extends ClusterRequest {
  caller: ClusterCaller;
}

/** What a handler answers; `taken` = it answers by itself. */
export type ClusterResult =
  | {
      kind: 'answer';
      status: number;
      /** Undefined = an empty body. */
      body: string | Buffer | undefined;
      contentType?: string;
      headers?: Readonly<Record<string, string | readonly string[]>>;
    }
  | { kind: 'taken'; serve: (res: ServerResponse) => void | Promise<void> };

export interface ClusterRoute {
  /** `events.list`. */
  id: string;
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** As @koa/router has it: `/apis/:group`. */
  path: string;
  /** Answers everybody, also those who show nothing. */
  isOpen?: boolean;
  handler(request: KnownRequest, ports: ClusterPorts): ClusterResult | Promise<ClusterResult>;
}

/** An answer that is an error. */
export interface ClusterFailure {
  status: number;
  headers: Readonly<Record<string, string>>;
  contentType: string;
  body: string;
  level: 'debug' | 'info' | 'error' | 'fatal';
}

/**
 * Operations that share the shapes of their errors and how callers show who they are: those of events are Kubernetes',
 * those of target groups another product's.
 */
export interface ClusterFamily {
  routes: readonly ClusterRoute[];
  /** Whether a request that no route was found for is one of these. The first family that says so answers. */
  isFor(path: string): boolean;
  /** What clients of these look for at a path that is not there on purpose: answered 501; undefined = nothing. */
  absent?(path: string): string | undefined;
  /** Who sends it. Throws unauthorized, forbidden. */
  identify(request: ClusterRequest, ports: ClusterPorts): ClusterCaller | Promise<ClusterCaller>;
  /** Total: everything that is thrown becomes an answer. */
  failure(error: unknown, request: { method: string; path: string }): ClusterFailure;
}
