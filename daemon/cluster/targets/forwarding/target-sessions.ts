import { connect, type ClientHttp2Session } from 'node:http2';
import { targetLimits } from '../limits.ts';

/** Where a target takes connections by HTTP/2. */
export interface Http2Place {
  host: string;
  port: number;
  isTls: boolean;
}

/** Connections to targets that speak HTTP2: one to each, kept while it is used. */
export class TargetSessions implements Disposable {
  readonly #sessions = new Map<string, ClientHttp2Session>();

  /** The connection to a target, which may not stand yet. Errors of it reach the requests it has. */
  of({ host, port, isTls }: Http2Place): ClientHttp2Session {
    const url = `${isTls ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${port}`;
    const known = this.#sessions.get(url);
    if (known !== undefined) {
      return known;
    }
    // Certificates of targets are not verified, as in the original: the network vouches for them.
    const session = connect(url, { rejectUnauthorized: false, servername: '' });
    const forget = (): void => {
      if (this.#sessions.get(url) === session) {
        this.#sessions.delete(url);
      }
    };
    const timer = setTimeout(() => session.destroy(), targetLimits.connectMs);
    session.once('connect', () => clearTimeout(timer));
    session.setTimeout(targetLimits.idleMs, () => {
      // Requests that wait for an answer have a time of their own.
      forget();
      session.close();
    });
    session.once('goaway', forget);
    session.once('close', () => {
      clearTimeout(timer);
      forget();
    });
    session.on('error', forget);
    this.#sessions.set(url, session);
    return session;
  }

  [Symbol.dispose](): void {
    this.#sessions.forEach((session) => session.destroy());
  }
}
