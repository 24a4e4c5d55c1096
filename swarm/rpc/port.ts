/**
 * Calls between nodes: HTTP/2 over TLS on one port (2377), each side known by its certificate. Bodies are JSON, one
 * value or a line each, and bytes for a value that is a Buffer; errors carry the code of `EngineError`. Nothing here
 * knows what is called.
 */
import type { Identity } from '../ca/identity.ts';

/** Whose call it is. */
export interface Caller {
  /** Undefined where the caller showed no certificate of this swarm, or one that is blocked. */
  identity: Identity | undefined;
  /** Address of the connection, without port. */
  address: string;
}

/** Who may call: every call and every open stream is checked, also when the list of blocked nodes changes. */
export type Allowed = 'anyone' | 'node' | 'manager';

export type Method = { name: string; allowed: Allowed } & (
  | { kind: 'call'; handle(body: unknown, caller: Caller, signal: AbortSignal): Promise<unknown> }
  /** One value in, many out. */
  | { kind: 'stream'; handle(body: unknown, caller: Caller, signal: AbortSignal): AsyncIterable<unknown> }
  /** Many values in, one out: the first one says what follows. */
  | {
      kind: 'upload';
      handle(values: AsyncIterable<unknown>, caller: Caller, signal: AbortSignal): Promise<unknown>;
    }
);

/** A connection to one manager. Every call throws `EngineError`: `unavailable` where nobody answers. */
export interface RpcClient extends Disposable {
  readonly addr: string;
  /** Ends within `limits.swarmCallMs`, or `timeoutMs`. */
  call(
    method: string,
    body: unknown,
    options?: { signal?: AbortSignal; timeoutMs?: number },
  ): Promise<unknown>;
  stream(method: string, body: unknown, signal: AbortSignal): AsyncIterable<unknown>;
  upload(method: string, values: AsyncIterable<unknown>, signal: AbortSignal): Promise<unknown>;
}

/** Makes connections with this node's certificate as it is now. */
export type Dial = (addr: string) => RpcClient;
