import { Agent, request as requestHttp } from 'node:http';
import type { ClientRequest as Outgoing, IncomingMessage, RequestOptions } from 'node:http';
import { Agent as TlsAgent, request as requestHttps } from 'node:https';
import type { Duplex } from 'node:stream';
import type { KnownPlaces } from '../health/places.ts';
import { targetLimits } from '../limits.ts';
import type { Chooser } from './choose.ts';
import {
  answerWithoutBody,
  beginAnswer,
  breakOff,
  hasBody,
  refuse,
  type ClientRequest,
  type ClientResponse,
} from './client-side.ts';
import { answerFunction, type FunctionRuns } from './functions.ts';
import { requestHeaders, responseHeaders } from './headers.ts';
import { exchangeByHttp2 } from './http2-exchange.ts';
import type { Destination, Routes } from './routes.ts';
import { TargetSessions } from './target-sessions.ts';
import { forwardUpgrade } from './upgrade.ts';

export interface ForwarderDeps {
  routes: Routes;
  places: KnownPlaces;
  functions: FunctionRuns;
  nowMs(): number;
}

/** A request of a client on its way to a target. */
interface Exchange {
  req: ClientRequest;
  res: ClientResponse;
  chooser: Chooser<Destination>;
  tried: Set<Destination>;
  /** Key of the listener's record. */
  listener: string;
  isClientGone: boolean;
}

/** Methods whose requests may be sent twice when a kept connection turns out to be dead (RFC 9110, 9.2.2). */
const REPEATABLE = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE', 'PUT', 'DELETE']);

/** Passes requests of listeners on to targets, over connections that are kept. */
export class Forwarder implements Disposable {
  readonly #deps: ForwarderDeps;
  readonly #agents = {
    HTTP: new Agent(KEPT),
    // Certificates of targets are not verified, as in the original: the network vouches for them.
    HTTPS: new TlsAgent({ ...KEPT, rejectUnauthorized: false }),
  };
  readonly #sessions = new TargetSessions();

  constructor(deps: ForwarderDeps) {
    this.#deps = deps;
  }

  /** Answers one request at a listener. */
  serve(listener: string, req: ClientRequest, res: ClientResponse): void {
    const route = this.#deps.routes.of(listener);
    if (route === undefined) {
      refuse(res, 503, 'this listener is gone');
      return;
    }
    if ('fixedResponse' in route.action) {
      req.resume();
      answerWithoutBody(res, route.action.fixedResponse.statusCode, ['Content-Length', '0']);
      return;
    }
    const { chooser } = route;
    const exchange = { req, res, chooser, listener, tried: new Set<Destination>(), isClientGone: false };
    res.once('close', () => {
      exchange.isClientGone = true;
    });
    this.#attempt(exchange);
  }

  /** A request for another protocol, websockets mostly: the bytes of both sides go on. */
  upgrade(listener: string, req: IncomingMessage, socket: Duplex, head: Buffer): void {
    forwardUpgrade(this.#deps, listener, { req, socket, head });
  }

  [Symbol.dispose](): void {
    this.#agents.HTTP.destroy();
    this.#agents.HTTPS.destroy();
    this.#sessions[Symbol.dispose]();
  }

  #attempt(exchange: Exchange): void {
    const { req, res, chooser, tried } = exchange;
    const to = chooser.next(tried);
    if (to === undefined) {
      const text = tried.size === 0 ? 'there is no target' : 'no target takes the request';
      refuse(res, tried.size === 0 ? 503 : 502, text);
      return;
    }
    tried.add(to);
    if (to.group.type === 'LAMBDA') {
      answerFunction(this.#deps, exchange.listener, to, { req, res }).catch(() => breakOff(res));
      return;
    }
    const place = this.#deps.places.of(to.group, to.target);
    if (place === undefined) {
      this.#attempt(exchange);
      return;
    }
    if ((to.group.config.protocolVersion ?? 'HTTP1') === 'HTTP1') {
      this.#send(exchange, to, place);
    } else {
      this.#sendByHttp2(exchange, to, place);
    }
  }

  #sendByHttp2(exchange: Exchange, to: Destination, place: { host: string; port: number }): void {
    const { req, res } = exchange;
    const isTls = to.group.config.protocol === 'HTTPS';
    to.underWay += 1;
    exchangeByHttp2(this.#sessions.of({ ...place, isTls }), {
      req,
      res,
      isTls,
      over: () => {
        to.underWay -= 1;
      },
      failed: ({ isUntouched, isLate }) => {
        if (exchange.isClientGone) {
          breakOff(res);
        } else if (isUntouched) {
          this.#attempt(exchange);
        } else {
          refuseFor(res, isLate);
        }
      },
    });
  }

  #send(exchange: Exchange, to: Destination, place: { host: string; port: number }): void {
    const { req, res } = exchange;
    const isWithBody = hasBody(req);
    const outgoing = this.#begin(req, to, place);
    let isConnected = false;
    let isAnswered = false;
    to.underWay += 1;
    outgoing.once('close', () => {
      to.underWay -= 1;
    });
    res.once('close', () => outgoing.destroy());
    whenConnected(outgoing, () => {
      isConnected = true;
      if (isWithBody) {
        req.pipe(outgoing);
      }
    });
    outgoing.once('response', (answer) => {
      isAnswered = true;
      answerWith(res, answer);
    });
    outgoing.once('timeout', () => outgoing.destroy(new AnswerTimeout()));
    outgoing.on('error', (error) => {
      if (isAnswered || exchange.isClientGone) {
        breakOff(res);
        return;
      }
      // Nothing of the request is lost where no byte of it was taken, or where it may be sent twice.
      const isRepeatable = !isWithBody && outgoing.reusedSocket && REPEATABLE.has(req.method ?? '');
      if (!isConnected || isRepeatable) {
        if (isRepeatable) {
          exchange.tried.delete(to);
        }
        this.#attempt(exchange);
        return;
      }
      req.unpipe(outgoing);
      refuseFor(res, error instanceof AnswerTimeout);
    });
    if (!isWithBody) {
      outgoing.end();
    }
  }

  #begin(req: ClientRequest, to: Destination, { host, port }: { host: string; port: number }): Outgoing {
    const isTls = to.group.config.protocol === 'HTTPS';
    const options: RequestOptions = {
      host,
      port,
      method: req.method ?? 'GET',
      path: req.url ?? '/',
      headers: requestHeaders(req),
      agent: isTls ? this.#agents.HTTPS : this.#agents.HTTP,
      timeout: targetLimits.answerMs,
    };
    return isTls ? requestHttps(options) : requestHttp(options);
  }
}

const KEPT = {
  keepAlive: true,
  maxFreeSockets: targetLimits.idleConnectionsMax,
  // The one used last: others may close for want of use.
  scheduling: 'lifo' as const,
};

class AnswerTimeout extends Error {}

function whenConnected(outgoing: Outgoing, then: () => void): void {
  outgoing.once('socket', (socket) => {
    if (!socket.connecting) {
      then();
      return;
    }
    const timer = setTimeout(
      () => outgoing.destroy(new Error('no connection in time')),
      targetLimits.connectMs,
    );
    socket.once('connect', () => {
      clearTimeout(timer);
      then();
    });
    socket.once('close', () => clearTimeout(timer));
  });
}

function answerWith(res: ClientResponse, answer: IncomingMessage): void {
  beginAnswer(res, answer.statusCode ?? 502, responseHeaders(answer), answer.statusMessage);
  answer.pipe(res);
  // A target that breaks off in the middle: the client must not take what came for all of it.
  answer.once('error', () => breakOff(res));
  answer.once('aborted', () => breakOff(res));
}

function refuseFor(res: ClientResponse, isLate: boolean): void {
  refuse(res, isLate ? 504 : 502, isLate ? 'the target did not answer in time' : 'the target broke off');
}
