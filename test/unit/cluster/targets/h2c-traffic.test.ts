import { createServer, connect as connectHttp2, type ClientHttp2Session } from 'node:http2';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { openTargets, startTarget, type OpenTargets } from '../../../support/cluster/open-targets.ts';
import { until } from '../../../support/engine/http.ts';
import { freePort } from '../../../support/free-port.ts';

const opened: (() => void)[] = [];
afterEach(() => {
  opened.splice(0).forEach((close) => close());
});

/** Targets of HTTP1 or HTTP2 at a port of this host, behind a listener of HTTP; its port. */
async function served(
  open: OpenTargets,
  target: number,
  protocolVersion: 'HTTP1' | 'HTTP2',
): Promise<number> {
  const config = { healthCheck: { enabled: false }, protocolVersion };
  const params = {
    group: String((await open.ask('createTargetGroup', { body: { name: 'web', type: 'IP', config } }))['id']),
  };
  await until(
    'the group is active',
    async () => (await open.ask('getTargetGroup', { params }))['status'] === 'ACTIVE',
  );
  await open.ask('registerTargets', { params, body: { targets: [{ id: '127.0.0.1', port: target }] } });
  const service = String((await open.ask('createService', { body: { name: 'shop' } }))['id']);
  const defaultAction = { forward: { targetGroups: [{ targetGroupIdentifier: params.group }] } };
  const port = await freePort();
  const body = { name: 'main', protocol: 'HTTP', port, defaultAction };
  await open.ask('createListener', { params: { service }, body });
  await open.targets.start();
  return port;
}

/** A target of HTTP/2 that says how it was asked. */
async function modernTarget(): Promise<number> {
  const server = createServer((req, res) => {
    res.write(`${req.httpVersion} ${req.method} ${req.url} `);
    req.pipe(res);
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  opened.push(() => server.close());
  // It listens at an address.
  return (server.address() as AddressInfo).port;
}

function session(port: number): ClientHttp2Session {
  const made = connectHttp2(`http://127.0.0.1:${port}`);
  made.on('error', () => undefined);
  opened.push(() => made.destroy());
  return made;
}

async function asked(by: ClientHttp2Session, headers: object, body?: string): Promise<[unknown, string]> {
  return await new Promise((resolve, reject) => {
    const stream = by.request({ ...headers }, { endStream: body === undefined });
    let status: unknown;
    let text = '';
    stream.once('response', (found) => (status = found[':status']));
    stream.setEncoding('utf8').on('data', (piece: string) => (text += piece));
    stream.once('error', reject);
    stream.once('end', () => resolve([status, text]));
    if (body !== undefined) {
      stream.end(body);
    }
  });
}

/** A connection to which bytes are written as they are, and what has come of it. */
function raw(port: number): { socket: Socket; text: () => string } {
  const socket = connect(port, '127.0.0.1').setNoDelay(true);
  let text = '';
  socket.setEncoding('latin1').on('data', (piece: string) => (text += piece));
  opened.push(() => socket.destroy());
  return { socket, text: () => text };
}

/** What was sent in pieces, without what stands between these. */
function unframed(text: string): string {
  return text.replaceAll(/\r\n[0-9a-f]+\r\n/g, '');
}

/** Each byte is a segment of its own. */
async function trickled(socket: Socket, text: string): Promise<void> {
  for (const byte of text) {
    socket.write(byte);
    await new Promise((resolve) => {
      setTimeout(resolve, 2);
    });
  }
}

describe('a listener of HTTP', () => {
  test('answers clients that begin with HTTP/2, beside those of HTTP/1.1', async () => {
    await using target = await startTarget((req, res) => {
      res.write(
        `${req.httpVersion} ${req.method} ${req.url} ${req.headers.host} ${String(req.headers['x-forwarded-proto'])} `,
      );
      req.pipe(res);
    });
    await using open = await openTargets();
    const port = await served(open, target.port, 'HTTP1');
    const modern = session(port);
    const all = await Promise.all(
      Array.from({ length: 20 }, (_none, index) =>
        asked(modern, { ':method': 'POST', ':path': `/${index}` }, 'x'.repeat(50_000)),
      ),
    );
    expect(all).toEqual(
      all.map((_one, index) => [200, `1.1 POST /${index} 127.0.0.1:${port} http ${'x'.repeat(50_000)}`]),
    );
    const old = await fetch(`http://127.0.0.1:${port}/old`, { method: 'POST', body: 'hello' });
    expect(await old.text()).toBe(`1.1 POST /old 127.0.0.1:${port} http hello`);
  });

  test('passes HTTP/2 on to targets of HTTP2', async () => {
    await using open = await openTargets();
    const port = await served(open, await modernTarget(), 'HTTP2');
    expect(await asked(session(port), { ':method': 'PUT', ':path': '/a' }, 'hello')).toEqual([
      200,
      '2.0 PUT /a hello',
    ]);
  });

  test('waits until a client has said enough', async () => {
    await using target = await startTarget((req, res) => res.end(`${req.method} ${req.url}`));
    await using open = await openTargets();
    const port = await served(open, target.port, 'HTTP1');
    const old = raw(port);
    await trickled(old.socket, 'PROPFIND /slow HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    await until('it is answered', () => old.text().includes('PROPFIND /slow'));
    const modern = raw(port);
    await trickled(modern.socket, 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
    // Settings of the server: a frame of type 4 for stream 0.
    await until('it speaks HTTP/2', () => modern.text().slice(3, 9).startsWith('\x04\x00\x00\x00\x00\x00'));
    const ended = raw(port);
    ended.socket.end('PR');
    await until('a client that says no more is let go', () => ended.socket.closed);
    const wrong = raw(port);
    wrong.socket.write('PRI x\r\n\r\n'.padEnd(100, ' '));
    await until('what only looks like it is let go', () => wrong.socket.closed);
    expect((await fetch(`http://127.0.0.1:${port}/still`)).status).toBe(200);
  });

  test.each(['HTTP1', 'HTTP2'] as const)(
    'does not take an offer to go on by HTTP/2: a target of %s gets the request without it',
    async (version) => {
      const heard: (string | undefined)[] = [];
      await using old = await startTarget((req, res) => {
        heard.push(
          req.headers.upgrade,
          String(req.headers['http2-settings']),
          req.headers['x-kept']?.toString(),
        );
        res.write(`1.1 ${req.method} ${req.url} `);
        req.pipe(res);
      });
      await using open = await openTargets();
      const port = await served(open, version === 'HTTP1' ? old.port : await modernTarget(), version);
      const { socket, text } = raw(port);
      const offer =
        'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA\r\n';
      for (const path of ['/one', '/two']) {
        // In two pieces: the body's end comes behind what is read again.
        socket.write(
          `POST ${path} HTTP/1.1\r\nHost: x\r\nX-Kept: yes\r\n${offer}Content-Length: 10\r\n\r\nhello`,
        );
        await new Promise((resolve) => {
          setTimeout(resolve, 20);
        });
        socket.write('there');
        await until('it is answered', () => unframed(text()).includes(`POST ${path} hellothere`));
      }
      expect(text()).toMatch(/^HTTP\/1\.1 200 OK/);
      expect(text()).toContain(`${version === 'HTTP1' ? '1.1' : '2.0'} POST /two`);
      expect(heard).toEqual(
        version === 'HTTP1' ? [undefined, 'undefined', 'yes', undefined, 'undefined', 'yes'] : [],
      );
    },
  );

  test('that is removed lets clients of HTTP/2 go', async () => {
    await using target = await startTarget((_req, res) => res.end('ok'));
    await using open = await openTargets();
    const modern = session(await served(open, target.port, 'HTTP1'));
    await asked(modern, { ':path': '/' });
    const [service] = [(await open.ask('listServices'))['items']].flat();
    const params = { service: String(Object(service)['id']) };
    const [listener] = [(await open.ask('listListeners', { params }))['items']].flat();
    await open.ask('deleteListener', { params: { ...params, listener: String(Object(listener)['id']) } });
    await until('the client is gone', () => modern.closed);
  });
});
