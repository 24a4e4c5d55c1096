import type { SessionRequest } from '../protocol/session.ts';

/** What a node says of itself: with a session's first words, and when it has changed. */
export type SaidOfNode = Pick<SessionRequest, 'description' | 'subnets'>;
