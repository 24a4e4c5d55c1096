import { EngineError, failedPrecondition, isEngineError } from '../../daemon/base/errors.ts';

const OTHER = /^this manager does not lead the swarm, the leader is at (\S+)$/;
const NONE = 'this manager does not lead the swarm, and knows of no leader';

/** What a manager answers to calls that only the leader serves: failed_precondition with the leader's address. */
export function notLeader(leaderAddr: string | undefined): EngineError {
  const text =
    leaderAddr === undefined ? NONE : `this manager does not lead the swarm, the leader is at ${leaderAddr}`;
  return failedPrecondition(text, { details: { leader: leaderAddr } });
}

/** Whether it is such an answer, of a manager that is there. */
export function isNotLeader(error: unknown): boolean {
  return isEngineError(error, 'failed_precondition') && (error.message === NONE || OTHER.test(error.message));
}

/** The leader's `HOST:PORT` in such an answer; undefined for other errors, and where there is none. */
export function leaderIn(error: unknown): string | undefined {
  return isEngineError(error, 'failed_precondition') ? OTHER.exec(error.message)?.[1] : undefined;
}
