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
  /** A Unix socket, in place of the URL's host. */
  socketPath?: string;
  timeoutMs?: number;
  /** A longer answer rejects; without it, one is cut to `logAnswerBytesMax`. */
  answerBytesMax?: number;
}

export interface HttpAnswer {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
}

/** One request to a receiver of logs or a plugin. Rejects when there is no answer, or none in time. */
export function callHttp(url: URL, call: HttpCall): Promise<HttpAnswer> {
  const { method, headers, body, tls, socketPath, timeoutMs, answerBytesMax } = call;
  const signal = AbortSignal.timeout(timeoutMs ?? limits.logSendTimeoutMs);
  const send = url.protocol === 'https:' ? requestHttps : requestHttp;
  const options = { method, headers: { ...headers, 'Content-Length': body?.length ?? 0 }, signal, ...tls };
  return new Promise((resolve, reject) => {
    const request = send(url, { ...options, ...(socketPath && { socketPath }) }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        text += chunk;
        if (answerBytesMax !== undefined && text.length > answerBytesMax) {
          request.destroy(new Error(`the answer is longer than ${answerBytesMax} bytes`));
        }
        text = text.slice(0, answerBytesMax ?? limits.logAnswerBytesMax);
      });
      response.once('end', () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text }),
      );
      response.once('error', reject);
    });
    request.once('error', reject);
    request.end(body);
  });
}
