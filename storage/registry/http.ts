import { request as requestHttp } from 'node:http';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { request as requestHttps } from 'node:https';
import { rootCertificates } from 'node:tls';
import { EngineError } from '../../daemon/base/errors.ts';
import { limits } from '../../daemon/base/limits.ts';
import type { RegistryCertificates } from './certificates.ts';

/** How a host is trusted. */
export interface Trust extends RegistryCertificates {
  verified: boolean;
}

export interface HttpRequest {
  method: 'GET' | 'HEAD' | 'POST';
  url: URL;
  headers?: Readonly<Record<string, string>>;
  body?: string;
  trust: Trust;
  signal: AbortSignal;
}

/** An answer whose body is still to be read. Redirects are not followed: they are an answer like others. */
export interface HttpAnswer {
  status: number;
  headers: IncomingHttpHeaders;
  body: IncomingMessage;
}

/**
 * One request to a registry or its token server. Rejects with EngineError unavailable when there is no answer, naming
 * method and address (never credentials), deadline_exceeded after `limits.registryAnswerTimeoutMs` without one.
 */
export function httpRequest(request: HttpRequest): Promise<HttpAnswer> {
  const { method, url, headers, body, trust, signal } = request;
  const what = `${method === 'GET' ? 'Get' : method} "${url.origin}${url.pathname}"`;
  return new Promise((resolve, reject) => {
    const options = { method, headers: { 'user-agent': 'berth', ...headers }, signal };
    const outgoing =
      url.protocol === 'https:'
        ? requestHttps(url, { ...options, ...tlsOf(trust) })
        : requestHttp(url, options);
    outgoing.setTimeout(limits.registryAnswerTimeoutMs, () => {
      outgoing.destroy(new EngineError('deadline_exceeded', `${what}: no answer in time`));
    });
    outgoing.once('error', (error) => {
      reject(
        error instanceof EngineError
          ? error
          : new EngineError('unavailable', `${what}: ${error.message}`, { cause: error }),
      );
    });
    outgoing.once('response', (answer) => {
      resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body: answer });
    });
    outgoing.end(body);
  });
}

function tlsOf({ ca, cert, key, verified }: Trust): object {
  return {
    rejectUnauthorized: verified,
    ...(ca.length > 0 && { ca: [...rootCertificates, ...ca] }),
    ...(cert && key && { cert, key }),
  };
}

/** The whole body as text. Throws resource_exhausted past `bytesMax`. */
export async function textOf({ body }: HttpAnswer, bytesMax: number): Promise<string> {
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
  return Buffer.concat(chunks).toString('utf8');
}
