import { EngineError, type ErrorCode } from '../../../daemon/base/errors.ts';

/**
 * Codes of the control API of dockerd's managers, as they stand in its messages, with what they are to clients (moby
 * errdefs from gRPC): clients and scripts match both. `Unknown` is 500 and yet no fault of the engine.
 */
const CODES = {
  InvalidArgument: 'invalid_argument',
  FailedPrecondition: 'invalid_argument',
  OutOfRange: 'invalid_argument',
  NotFound: 'not_found',
  AlreadyExists: 'conflict',
  PermissionDenied: 'forbidden',
  Unauthenticated: 'unauthorized',
  Unimplemented: 'not_implemented',
  Unavailable: 'unavailable',
  Unknown: 'failed_precondition',
} as const satisfies Record<string, ErrorCode>;

export type RpcCode = keyof typeof CODES;

/** What a manager decides: its text carries the prefix that dockerd's clients know. */
export function rpcError(code: RpcCode, text: string, cause?: unknown): EngineError {
  return new EngineError(
    CODES[code],
    `rpc error: code = ${code} desc = ${text}`,
    cause === undefined ? {} : { cause },
  );
}

export function outOfSequence(): EngineError {
  return rpcError('Unknown', 'update out of sequence');
}

/** @param seen The managers and whether they answer this one, for the user to see which are missing. */
export function noLeader(
  seen: readonly { name: string; addr: string; reachability: string }[],
  cause?: unknown,
): EngineError {
  const managers = seen.map(({ name, addr, reachability }) => `${name} (${addr}) is ${reachability}`);
  return rpcError(
    'Unknown',
    "The swarm does not have a leader. It's possible that too few managers are online. Make sure more than half of " +
      `the managers are online.${managers.length === 0 ? '' : ` Seen from here: ${managers.join(', ')}.`}`,
    cause,
  );
}
