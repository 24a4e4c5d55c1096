import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { RegistrySession } from '../../../storage/registry/session.ts';
import { until } from '../../support/engine/http.ts';

async function ask(session: RegistrySession, signal = new AbortController().signal): Promise<number> {
  return (await session.request({ method: 'GET', url: session.url('/v2/'), signal })).status;
}

describe('a registry with a token service', () => {
  let server: Server;
  let base: string;
  /** Requests as they come: the path, for the registry with what authorizes them. */
  let seen: string[];
  /** What the token service does with a request. */
  let serve: (response: ServerResponse) => unknown;
  beforeEach(async () => {
    seen = [];
    server = createServer(({ url = '', headers: { authorization = '' } }, response) => {
      if (url.startsWith('/token')) {
        seen.push('token');
        serve(response);
        return;
      }
      seen.push(`${url} ${authorization}`);
      const isKnown = authorization === 'Bearer good';
      response.writeHead(isKnown ? 200 : 401, { 'www-authenticate': `Bearer realm="${base}/token"` });
      response.end();
    });
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve);
    });
    // A server that listens on an address has one.
    base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterEach(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => {
      server.close(resolve);
    });
  });

  const open = (): RegistrySession =>
    new RegistrySession({ base, verified: false }, { ca: [], verified: false }, {});

  it.each([
    [401, '{"details":"incorrect username or password"}', 'unauthorized: incorrect username or password'],
    [401, '{"errors":[{"code":"UNAUTHORIZED","message":"no"}]}', 'unauthorized: no'],
    [401, 'a page', 'unauthorized: authentication required'],
    [403, '{"details":"account is disabled"}', 'denied: account is disabled'],
    [429, '', 'toomanyrequests: too many requests'],
    [400, '{"details":"bad scope"}', 'unknown: bad scope'],
    [404, '', 'received unexpected HTTP status: 404 Not Found'],
    [200, '{}', 'the token service BASE/token answered without a token'],
  ])('%i %s is told with the request that it stopped', async (status, body, words) => {
    serve = (response) => response.writeHead(status).end(body);
    using session = open();
    await expect(ask(session)).rejects.toMatchObject({
      code: 'remote',
      message: `Get "${base}/v2/": ${words.replace('BASE', base)}`,
    });
  });

  it('a token comes for the others although the request that began it has gone', async () => {
    const asked: ServerResponse[] = [];
    serve = (response) => asked.push(response);
    using session = open();
    const leaving = new AbortController();
    const first = ask(session, leaving.signal);
    await until('the token service to be asked', () => asked.length === 1);
    const second = ask(session);
    await until('the second to be refused', () => seen.filter((what) => what === '/v2/ ').length === 2);
    leaving.abort();
    await expect(first).rejects.toMatchObject({ code: 'canceled' });
    // Where the refusal of the second is still on its way, a second token is asked for.
    serve = (response) => response.end('{"token":"good"}');
    asked.forEach(serve);
    expect(await second).toBe(200);
  });

  it('a token that nobody waits for any more is given up', async () => {
    let closed = false;
    serve = (response) => {
      response.on('close', () => (closed = true));
    };
    using session = open();
    const leaving = new AbortController();
    const only = ask(session, leaving.signal);
    await until('the token service to be asked', () => seen.includes('token'));
    leaving.abort();
    await expect(only).rejects.toMatchObject({ code: 'canceled' });
    await until('the connection to be closed', () => closed);
    serve = (response) => response.end('{"token":"good"}');
    expect(await ask(session)).toBe(200);
  });
});
