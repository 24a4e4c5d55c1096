import { constants, type ClientHttp2Session, type ClientHttp2Stream } from 'node:http2';
import type { IncomingHttpHeaders } from 'node:http2';
import { targetLimits } from '../limits.ts';
import {
  answerWithoutBody,
  beginAnswer,
  breakOff,
  hasBody,
  type ClientRequest,
  type ClientResponse,
} from './client-side.ts';
import { http2RequestHeaders, http2ResponseHeaders } from './headers.ts';

/** What became of a request before its answer began. */
export interface Http2Failure {
  /** The target has taken nothing of it: it may go to another one. */
  isUntouched: boolean;
  isLate: boolean;
}

interface Exchange {
  req: ClientRequest;
  res: ClientResponse;
  isTls: boolean;
  /** Called once, at the end of whatever happens. */
  over(): void;
  failed(failure: Http2Failure): void;
}

/** Passes a request on over a connection of HTTP/2, and the answer back, with trailers both ways. */
export function exchangeByHttp2(session: ClientHttp2Session, exchange: Exchange): void {
  const { req, res, isTls } = exchange;
  let stream: ClientHttp2Stream;
  try {
    stream = session.request(http2RequestHeaders(req, isTls), { waitForTrailers: true });
  } catch {
    // It was ended meanwhile; or HTTP/2 cannot carry these headers, which another connection cannot either.
    exchange.over();
    exchange.failed({ isUntouched: session.closed || session.destroyed, isLate: false });
    return;
  }
  const isWithBody = hasBody(req);
  let isTaken = false;
  let isAnswered = false;
  let isLate = false;
  stream.once('wantTrailers', () => stream.sendTrailers(trailersOf(req.trailers)));
  stream.setTimeout(targetLimits.answerMs, () => {
    isLate = true;
    stream.close(constants.NGHTTP2_CANCEL);
  });
  const take = (): void => {
    isTaken = true;
    if (isWithBody) {
      req.pipe(stream);
    }
  };
  if (session.connecting) {
    session.once('connect', take);
  } else {
    take();
  }
  if (!isWithBody) {
    stream.end();
  }
  stream.once('response', (headers, flags) => {
    isAnswered = true;
    answerBy(stream, res, headers, (flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0);
  });
  // What was wrong is seen in the codes when it closes.
  stream.on('error', () => undefined);
  res.once('close', () => stream.close(constants.NGHTTP2_CANCEL));
  stream.once('close', () => {
    session.off('connect', take);
    req.unpipe(stream);
    exchange.over();
    if (isAnswered) {
      if (stream.rstCode !== constants.NGHTTP2_NO_ERROR) {
        breakOff(res);
      }
      return;
    }
    const isRefused = stream.rstCode === constants.NGHTTP2_REFUSED_STREAM && !isWithBody;
    exchange.failed({ isUntouched: !isTaken || isRefused, isLate });
  });
}

function answerBy(
  stream: ClientHttp2Stream,
  res: ClientResponse,
  headers: IncomingHttpHeaders,
  isWhole: boolean,
): void {
  const status = Number(headers[':status']);
  if (isWhole) {
    answerWithoutBody(res, status, http2ResponseHeaders(headers));
    stream.resume();
    return;
  }
  let trailers: IncomingHttpHeaders = {};
  stream.once('trailers', (all) => {
    trailers = all;
  });
  beginAnswer(res, status, http2ResponseHeaders(headers));
  // The first bytes may be long in coming: a client of gRPC waits for the headers.
  if ('flushHeaders' in res) {
    res.flushHeaders();
  }
  stream.pipe(res, { end: false });
  stream.once('end', () => {
    if (stream.rstCode === constants.NGHTTP2_NO_ERROR) {
      res.addTrailers(trailersOf(trailers));
      res.end();
    }
  });
}

function trailersOf(all: object): Record<string, string> {
  const entries = Object.entries(all).filter(([name]) => !name.startsWith(':'));
  return Object.fromEntries(entries.map(([name, value]) => [name, String(value)]));
}
