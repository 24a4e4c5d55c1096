import type { IncomingHttpHeaders } from 'node:http';
import { STATUS_CODES } from 'node:http';
import { Readable } from 'node:stream';
import { EngineError, errorText, isEngineError, type ErrorCode } from '../../daemon/base/errors.ts';
import { limits } from '../../daemon/base/limits.ts';
import { httpRequest, textOf, type HttpResponse } from '../registry/http.ts';

/** Something that comes by HTTP; its bytes are still to be read. */
export interface Download {
  headers: IncomingHttpHeaders;
  /** As the server says it; undefined = it does not. */
  size: number | undefined;
  body: Readable;
}

const REDIRECTS = new Set([301, 302, 303, 307, 308]);
const CODES: Readonly<Record<number, ErrorCode>> = {
  400: 'invalid_argument',
  401: 'unauthorized',
  403: 'forbidden',
  404: 'not_found',
};

/**
 * Gets what a client's URL names. User and password in it go to its own host only; a redirect never leads from https to
 * http, or to anything else. Throws what the server says (`failed to GET URL with status 404 Not Found`), remote
 * without an answer, deadline_exceeded when nothing comes for `limits.registryAnswerTimeoutMs`; reading the body, too.
 */
export async function download(address: URL, signal: AbortSignal): Promise<Download> {
  const deadline = AbortSignal.timeout(limits.downloadTimeoutMs);
  const ends = AbortSignal.any([signal, deadline]);
  try {
    const { url, answer } = await follow(address, ends);
    return await accepted(url, answer, deadline);
  } catch (error) {
    throw deadline.aborted ? tooLong(address) : error;
  }
}

/** Without what may be secret in it: user, password and query. */
export function showUrl({ origin, pathname }: URL): string {
  return `${origin}${pathname}`;
}

async function follow(address: URL, signal: AbortSignal): Promise<{ url: URL; answer: HttpResponse }> {
  let url = address;
  for (let hops = 0; ; hops += 1) {
    const answer = await httpRequest({ method: 'GET', url, trust: { ca: [], verified: true }, signal });
    const { location } = answer.headers;
    if (!REDIRECTS.has(answer.status) || location === undefined) {
      return { url, answer };
    }
    answer.body.destroy();
    if (hops >= limits.downloadRedirectsMax) {
      throw new EngineError(
        'remote',
        `Get "${showUrl(address)}": stopped after ${limits.downloadRedirectsMax} redirects`,
      );
    }
    url = redirected(url, location);
  }
}

async function accepted(url: URL, answer: HttpResponse, deadline: AbortSignal): Promise<Download> {
  const { status, headers } = answer;
  if (status < 200 || status > 299) {
    const text = await textOf(answer, limits.downloadErrorBytesMax).catch(() => {
      // The status is enough.
      return '';
    });
    const said = text.trim().slice(0, limits.downloadErrorLengthMax);
    const through = answer.proxy === undefined ? '' : ` (through the proxy ${answer.proxy})`;
    throw new EngineError(
      CODES[status] ?? 'remote',
      `failed to GET ${showUrl(url)} with status ${status} ${STATUS_CODES[status] ?? ''}${through}: ${said}`,
    );
  }
  const length = headers['content-length'];
  return {
    headers,
    size: length === undefined ? undefined : Number(length),
    body: Readable.from(pieces(url, answer, deadline), { objectMode: true, highWaterMark: 1 }),
  };
}

async function* pieces(url: URL, { body }: HttpResponse, deadline: AbortSignal): AsyncGenerator<Buffer> {
  try {
    // A message without an encoding yields Buffers.
    yield* body as AsyncIterable<Buffer>;
  } catch (error) {
    if (deadline.aborted) {
      throw tooLong(url);
    }
    throw isEngineError(error)
      ? error
      : new EngineError('remote', `Get "${showUrl(url)}": cut off: ${errorText(error)}`, {
          cause: error,
        });
  } finally {
    body.destroy();
  }
}

function tooLong(url: URL): EngineError {
  return new EngineError('deadline_exceeded', `Get "${showUrl(url)}": took too long`);
}

function redirected(from: URL, location: string): URL {
  const to = URL.canParse(location, from.href) ? new URL(location, from) : undefined;
  const isDowngrade = from.protocol === 'https:' && to?.protocol === 'http:';
  if (to === undefined || (to.protocol !== 'http:' && to.protocol !== 'https:') || isDowngrade) {
    throw new EngineError(
      'remote',
      `Get "${showUrl(from)}": redirected to ${isDowngrade ? 'an address without TLS' : 'what is no address'}`,
    );
  }
  return to;
}
