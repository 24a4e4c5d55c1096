import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { pipeline } from 'node:stream';
import type { Readable } from 'node:stream';
import { EngineError, errnoOf } from '../../daemon/base/errors.ts';
import { authorities } from '../../daemon/base/http/authorities.ts';
import { beginRequest } from '../../daemon/base/http/outgoing.ts';
import type { Connections } from '../../daemon/base/http/outgoing.ts';
import { nameOf } from '../../daemon/base/http/proxies.ts';
import { networkWords } from '../../daemon/base/http/words.ts';
import { isProxyError, PROXY_REFUSES, proxyFailure, proxyRefusal } from '../../daemon/base/http/tunnel.ts';
import { limits } from '../../daemon/base/limits.ts';
import type { RegistryCertificates } from './certificates.ts';

/** How a host is trusted. */
export interface Trust extends RegistryCertificates {
  verified: boolean;
}

export interface HttpRequest {
  method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  url: URL;
  headers?: Readonly<Record<string, string>>;
  /** A stream comes with its content-length among the headers. */
  body?: string | Buffer | Readable;
  trust: Trust;
  /** Keeps connections between requests; without it each request has its own. */
  connections?: Connections;
  signal: AbortSignal;
}

/** An answer whose body is still to be read. Redirects are not followed: they are an answer like others. */
export interface HttpResponse {
  status: number;
  headers: IncomingHttpHeaders;
  body: IncomingMessage;
  /** The proxy that may have given this answer itself. */
  proxy?: string;
}

/**
 * One request to a registry or its token server. Rejects with EngineError remote when there is no answer, naming
 * method and address (never credentials), deadline_exceeded after `limits.registryAnswerTimeoutMs` without one.
 */
export function httpRequest(request: HttpRequest): Promise<HttpResponse> {
  const { method, url, headers, body, trust, connections, signal } = request;
  const what = `${METHOD_WORDS[method]} "${url.origin}${url.pathname}"`;
  return new Promise((resolve, reject) => {
    const { request: outgoing, proxy } = beginRequest(
      url,
      {
        method,
        headers: { 'user-agent': 'berth', ...headers },
        signal,
        ...(url.protocol === 'https:' && tlsOf(trust)),
      },
      connections && { connections },
    );
    outgoing.setTimeout(limits.registryResponseTimeoutMs, () => {
      outgoing.destroy(new EngineError('deadline_exceeded', `${what}: no answer in time`));
    });
    const fail = (error: Error): void =>
      reject(failureOf(what, proxy === undefined ? error : proxyFailure(proxy, error), signal));
    outgoing.on('error', fail);
    outgoing.once('response', (answer) => {
      // An answer that comes before the body is sent makes the rest of it pointless.
      answer.once('close', () => outgoing.writableFinished || outgoing.destroy());
      const { statusCode: status = 0, headers: told } = answer;
      if (proxy !== undefined && status === PROXY_REFUSES) {
        answer.destroy();
        fail(proxyRefusal(proxy, status));
        return;
      }
      resolve({ status, headers: told, body: answer, ...(proxy && { proxy: nameOf(proxy) }) });
    });
    if (body === undefined || typeof body === 'string' || Buffer.isBuffer(body)) {
      outgoing.end(body);
    } else {
      pipeline(body, outgoing, (error) => {
        if (error) {
          fail(error);
        }
      });
    }
  });
}

/** Go's words, which dockerd's messages begin with. */
const METHOD_WORDS = { GET: 'Get', HEAD: 'Head', POST: 'Post', PUT: 'Put', PATCH: 'Patch', DELETE: 'Delete' };

function failureOf(what: string, error: Error, signal: AbortSignal): EngineError {
  if (signal.aborted) {
    return new EngineError('canceled', `${what}: canceled`);
  }
  if (isProxyError(error)) {
    const { code, message, details } = error;
    return new EngineError(code, `${what}: ${message}`, { cause: error.cause, details });
  }
  return error instanceof EngineError
    ? error
    : new EngineError('remote', `${what}: ${networkWords(error)}`, {
        cause: error,
        details: { retryable: true, errno: errnoOf(error) },
      });
}

function tlsOf({ ca, cert, key, verified }: Trust): object {
  if (ca.length === 0 && cert === undefined) {
    return { rejectUnauthorized: verified };
  }
  return { rejectUnauthorized: verified, ca: [...authorities(), ...ca], ...(cert && key && { cert, key }) };
}

/** The whole body as text. Throws resource_exhausted past `bytesMax`. */
export async function textOf(answer: HttpResponse, bytesMax: number): Promise<string> {
  return (await bytesOf(answer, bytesMax)).toString('utf8');
}

/** The whole body. Throws resource_exhausted past `bytesMax`. */
export async function bytesOf({ body }: HttpResponse, bytesMax: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body) {
    // A message without an encoding yields Buffers.
    const data = chunk as Buffer;
    size += data.length;
    if (size > bytesMax) {
      body.destroy();
      throw new EngineError(
        'resource_exhausted',
        `the answer of a registry is longer than ${bytesMax} bytes`,
      );
    }
    chunks.push(data);
  }
  return Buffer.concat(chunks);
}
