import type { Http2Session } from 'node:http2';
import type { Clock } from '../../daemon/base/clock.ts';
import { limits } from '../../daemon/base/limits.ts';

/**
 * Ends a connection whose other side answers no pings, one each `periodMs`: a host that lost power says nothing. Pings
 * are counted and not the time: a daemon that was stopped itself has not asked meanwhile.
 */
export function keepAlive(clock: Clock, session: Http2Session, periodMs: number): void {
  let unanswered = 0;
  let timer: Disposable | undefined;
  const look = (): void => {
    if (session.destroyed) {
      return;
    }
    if (unanswered >= limits.swarmPingsUnansweredMax) {
      session.destroy(new Error('it does not answer'));
      return;
    }
    // Also one that takes no new calls: those that run on it have to learn that the other side is gone.
    unanswered += 1;
    session.ping((error) => {
      unanswered = error === null ? 0 : unanswered;
    });
    timer = clock.setTimeout(look, periodMs);
  };
  timer = clock.setTimeout(look, periodMs);
  session.once('close', () => timer?.[Symbol.dispose]());
}
