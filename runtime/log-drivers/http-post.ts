import { request as requestHttp } from 'node:http';
import type { IncomingHttpHeaders } from 'node:http';
import { request as requestHttps } from 'node:https';
import { limits } from '../../daemon/base/limits.ts';

export interface HttpCall {
  method: string;
  headers?: Readonly<Record<string, string>>;
  body?: Buffer;
  /** Of HTTPS: `ca`, `servername`, `rejectUnauthorized`. */
  tls?: Readonly<Record<string, unknown>>;
  timeoutMs?: number;
}

export interface HttpAnswer {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
}

/** One request to a receiver; its answer is cut to `logAnswerBytesMax`. Rejects when there is no answer. */
export function callHttp(url: URL, { method, headers, body, tls, timeoutMs }: HttpCall): Promise<HttpAnswer> {
  const signal = AbortSignal.timeout(timeoutMs ?? limits.logSendTimeoutMs);
  const send = url.protocol === 'https:' ? requestHttps : requestHttp;
  return new Promise((resolve, reject) => {
    const request = send(
      url,
      { method, headers: { ...headers, 'Content-Length': body?.length ?? 0 }, signal, ...tls },
      (response) => {
        let text = '';
        response.on('data', (chunk: Buffer) => {
          text = (text + chunk.toString()).slice(0, limits.logAnswerBytesMax);
        });
        response.once('end', () =>
          resolve({ status: response.statusCode ?? 0, headers: response.headers, text }),
        );
        response.once('error', reject);
      },
    );
    request.once('error', reject);
    request.end(body);
  });
}
