import type { ApiVersion } from './version.ts';

/**
 * Behaviour beyond shapes (headers, framing, timing, status) that came with a version. A handler asks for it by this
 * name (`request.speaks('...')`), never by number.
 */
export type Quirk =
  | 'wait-sends-headers-at-once'
  | 'multiplexed-content-type'
  | 'exec-resize-answers-200'
  | 'websocket-sends-binary'
  | 'websocket-selects-streams'
  | 'no-swarm-is-503'
  | 'client-pins-images'
  | 'kernel-memory-is-ignored'
  | 'kernel-memory-tcp-is-ignored'
  | 'endpoints-alone-have-macs'
  | 'events-are-json-lines';

/** What a change may edit of an older request. `body` is JSON as it arrived, not validated yet. */
export interface ChangeableRequest {
  query: URLSearchParams;
  body: unknown;
}

/** Facts about the host that decide old defaults. */
export interface HostFacts {
  cgroupVersion: 1 | 2;
}

/**
 * One difference between API versions, in the only direction each part needs:
 * - `request` lifts a request of a client older than `since` to `since`: deletes what that client cannot have meant,
 *   sets the defaults that it relies on, refuses (throws invalid_argument) what would be dangerous to ignore;
 * - `response` lowers the answer; it returns a changed copy, as the engine may keep the original. `legacy` is what
 *   older shapes still owe and the newest lacks; the handler hands it over beside the body;
 * - `item` lowers one element of a stream, or drops it (undefined);
 * - `quirk` names a behaviour that clients from `since` on get.
 * Pure, and total over any JSON: they reach into it only by the helpers of `json.ts`.
 */
export interface VersionChange {
  id: string;
  since: ApiVersion;
  /** Ids of routes. */
  routes: readonly string[];
  /** A sentence for API.md: what is new in `since`. */
  description: string;
  request?: (request: ChangeableRequest, facts: HostFacts) => void;
  response?: (body: unknown, legacy: unknown) => unknown;
  item?: (item: unknown) => unknown;
  quirk?: Quirk;
}

/** Keeps the literal types and checks the shape. */
export function change(definition: VersionChange): VersionChange {
  return definition;
}
