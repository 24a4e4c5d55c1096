import type { IncomingHttpHeaders } from 'node:http';
import { beginRequest } from '../../daemon/base/http/outgoing.ts';
import { PROXY_REFUSES, proxyFailure, proxyRefusal } from '../../daemon/base/http/tunnel.ts';
import { limits } from '../../daemon/base/limits.ts';

export interface HttpCall {
  method: string;
  headers?: Readonly<Record<string, string>>;
  body?: Buffer;
  /** Of HTTPS: `ca`, `servername`, `rejectUnauthorized`. */
  tls?: Readonly<Record<string, unknown>>;
  /** A Unix socket, in place of the URL's host. */
  socketPath?: string;
  /** Never through a proxy: what belongs to this machine. */
  isDirect?: boolean;
  timeoutMs?: number;
  /** A longer answer rejects; without it, one is cut to `logResponseBytesMax`. */
  responseBytesMax?: number;
}

export interface HttpResponse {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
}

/** One request to a receiver of logs or a plugin. Rejects when there is no answer, or none in time. */
export function callHttp(url: URL, call: HttpCall): Promise<HttpResponse> {
  const { method, headers, body, tls, socketPath, timeoutMs, responseBytesMax } = call;
  const isDirect = call.isDirect === true || socketPath !== undefined;
  return new Promise((resolve, reject) => {
    const { request, proxy } = beginRequest(
      url,
      {
        method,
        headers: { ...headers, 'Content-Length': body?.length ?? 0 },
        signal: AbortSignal.timeout(timeoutMs ?? limits.logSendTimeoutMs),
        ...(url.protocol === 'https:' && tls),
        ...(socketPath && { socketPath }),
      },
      { isDirect },
    );
    request.once('response', (response) => {
      const { statusCode: status = 0, headers: told } = response;
      if (proxy !== undefined && status === PROXY_REFUSES) {
        response.destroy();
        reject(proxyRefusal(proxy, status));
        return;
      }
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        text += chunk;
        if (responseBytesMax !== undefined && text.length > responseBytesMax) {
          request.destroy(new Error(`the answer is longer than ${responseBytesMax} bytes`));
        }
        text = text.slice(0, responseBytesMax ?? limits.logResponseBytesMax);
      });
      response.once('end', () => resolve({ status, headers: told, text }));
      response.once('error', reject);
    });
    request.once('error', (error) => reject(proxy === undefined ? error : proxyFailure(proxy, error)));
    request.end(body);
  });
}
