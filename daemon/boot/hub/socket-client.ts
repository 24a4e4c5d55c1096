import http from 'node:http';
import { EngineError, errorText, invalidArgument } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';

export interface HubRequest {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Without `/hub`. */
  path: string;
  body?: object;
}

/**
 * Asks the hub of the daemon behind a Unix socket, as root. Answers the JSON, undefined where there is none. Throws
 * EngineError with what the hub said.
 */
export async function askHub(socketPath: string, { method, path, body }: HubRequest): Promise<unknown> {
  const { status, text } = await exchange(socketPath, {
    method,
    path: `/hub${path}`,
    body: body && JSON.stringify(body),
  });
  if (status < 300) {
    return text === '' ? undefined : JSON.parse(text);
  }
  throw new EngineError('remote', messageOf(status, text));
}

/** All pages of a list. */
export async function askHubForAll(socketPath: string, path: string): Promise<unknown[]> {
  const all: unknown[] = [];
  for (let page = 1; ; page += 1) {
    const answer = await askHub(socketPath, { method: 'GET', path: `${path}?per_page=100&page=${page}` });
    const items: unknown[] = Array.isArray(answer) ? answer : [];
    all.push(...items);
    if (items.length < 100) {
      return all;
    }
  }
}

/** One request of the daemon behind a Unix socket. Throws unavailable. */
export function exchange(
  socketPath: string,
  {
    method,
    path,
    body,
    headers: more = {},
  }: { method: string; path: string; body: string | undefined; headers?: Readonly<Record<string, string>> },
): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const headers = {
      Host: 'daemon',
      ...more,
      ...(body !== undefined && {
        'Content-Type': 'application/json',
        'Content-Length': String(Buffer.byteLength(body)),
      }),
    };
    const request = http.request({ socketPath, method, path, headers }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (piece: string) => {
        text += piece;
      });
      response.once('end', () => resolve({ status: response.statusCode ?? 0, text }));
      response.once('error', reject);
    });
    request.setTimeout(limits.commandTimeoutMs, () => request.destroy(new Error('no answer in time')));
    request.once('error', (error) => {
      reject(
        new EngineError('unavailable', `cannot reach the daemon at ${socketPath}: ${errorText(error)}`, {
          cause: error,
        }),
      );
    });
    request.end(body);
  });
}

function messageOf(status: number, text: string): string {
  const body = jsonOrNot(text);
  if (typeof body !== 'object' || body === null || !('message' in body)) {
    return `the daemon answered ${status}`;
  }
  if (status === 404 && body.message === 'page not found') {
    return 'the hub is off: set hub.address in daemon.json, or --hub-address';
  }
  const errors: unknown[] = 'errors' in body && Array.isArray(body.errors) ? body.errors : [];
  return [String(body.message), ...errors.map(fieldText)].join('; ');
}

function fieldText(error: unknown): string {
  const { field, message, value }: Record<string, unknown> = { ...Object(error) };
  return `${String(field)} ${String(message)}${value === undefined ? '' : `, not ${JSON.stringify(value)}`}`;
}

function jsonOrNot(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw invalidArgument(`the daemon's answer is no JSON: ${text.slice(0, 200)}`, { cause: error });
  }
}
