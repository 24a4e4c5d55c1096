import type { Http2Session } from 'node:http2';
import type { Clock } from '../../daemon/base/clock.ts';
import { limits } from '../../daemon/base/limits.ts';

/** Ends a connection whose other side answers no pings: a host that lost power says nothing. */
export function keepAlive(clock: Clock, session: Http2Session): void {
  let heardMs = clock.monotonicMs();
  let timer: Disposable | undefined;
  const look = (): void => {
    if (session.destroyed) {
      return;
    }
    if (clock.monotonicMs() - heardMs > limits.swarmPingSilenceMs) {
      session.destroy(new Error('it does not answer'));
      return;
    }
    if (!session.closed) {
      session.ping((error) => {
        heardMs = error === null ? clock.monotonicMs() : heardMs;
      });
    }
    timer = clock.setTimeout(look, limits.swarmPingMs);
  };
  timer = clock.setTimeout(look, limits.swarmPingMs);
  session.once('close', () => timer?.[Symbol.dispose]());
}
