import type { Http2Session } from 'node:http2';

/** One may wait behind work of our own. */
const UNANSWERED_MAX = 2;

/**
 * Ends a connection whose peer answers none of two pings, one each `everyMs`: its host is gone, or it stands still. So
 * it goes with one on which a broken frame came, too: node:http2 reads nothing more of it and says nothing, and would
 * keep it when its peer has long gone.
 */
export function endWithoutPings(session: Http2Session, everyMs: number): void {
  let unanswered = 0;
  const timer = setInterval(() => {
    if (unanswered === UNANSWERED_MAX) {
      session.destroy();
      return;
    }
    unanswered += 1;
    session.ping((error) => {
      unanswered = error === null ? 0 : unanswered;
    });
  }, everyMs);
  timer.unref();
  session.once('close', () => clearInterval(timer));
}
