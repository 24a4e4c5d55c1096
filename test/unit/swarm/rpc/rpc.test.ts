import { once } from 'node:events';
import { connect as connectHttp2 } from 'node:http2';
import {
  connect as connectTcp,
  createServer as createTcpServer,
  type AddressInfo,
  type Socket,
} from 'node:net';
import { connect as connectTls } from 'node:tls';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../../../daemon/base/clock.ts';
import { silentLogger } from '../../../../daemon/base/logger.ts';
import { limits } from '../../../../daemon/base/limits.ts';
import type { EngineError } from '../../../../daemon/base/errors.ts';
import type { Identity } from '../../../../swarm/ca/identity.ts';
import { createRoot, crossSign } from '../../../../swarm/ca/x509/issue.ts';
import type { Credentials } from '../../../../swarm/rpc/credentials.ts';
import { Dialer } from '../../../../swarm/rpc/dialer.ts';
import type { Method } from '../../../../swarm/rpc/port.ts';
import { RpcServer } from '../../../../swarm/rpc/server.ts';
import { MANAGER, nodeOf, NOW, ROOT, WORKER } from '../../../support/swarm/authority.ts';

function credentialsOf(
  identity: Identity,
  root = ROOT,
  options: Parameters<typeof nodeOf>[2] = {},
): Credentials {
  const { keyPem, certificate } = nodeOf(root, identity, options);
  return {
    rootsPem: root.certificate.pem,
    own: { certPem: certificate.pem, keyPem, cluster: identity.cluster },
  };
}

const never = new AbortController().signal;
const manager = credentialsOf(MANAGER);
const worker = credentialsOf(WORKER);
const gone: string[] = [];

const METHODS: Method[] = [
  {
    name: 'open',
    allowed: 'anyone',
    kind: 'call',
    handle: async (_, { identity }) => identity ?? 'stranger',
  },
  {
    name: 'node',
    allowed: 'node',
    kind: 'call',
    handle: async (body, { identity }) => [body, identity?.node],
  },
  { name: 'manager', allowed: 'manager', kind: 'call', handle: async () => 'yes' },
  {
    name: 'count',
    allowed: 'node',
    kind: 'stream',
    async *handle(body, _, signal) {
      signal.addEventListener('abort', () => gone.push('count'));
      for (let at = 0; at < Number(body); at += 1) {
        yield at;
      }
      await new Promise((resolve) => {
        signal.addEventListener('abort', resolve);
        if (Number(body) < 10) {
          resolve(undefined);
        }
      });
    },
  },
  {
    name: 'bytes',
    allowed: 'node',
    kind: 'stream',
    async *handle(body) {
      yield 'first';
      for (const size of Object.values(body ?? {})) {
        yield Buffer.alloc(Number(size), '\n');
      }
      yield 'last';
    },
  },
  {
    name: 'sum',
    allowed: 'node',
    kind: 'upload',
    async handle(values) {
      let sum = 0;
      for await (const value of values) {
        sum += Number(value);
      }
      return sum;
    },
  },
];

class Pair implements AsyncDisposable {
  readonly blocked = new Map<string, number>();
  readonly demoted = new Set<string>();
  server!: RpcServer;
  readonly #dialers: Dialer[] = [];
  own = manager;

  static async open(): Promise<Pair> {
    const pair = new Pair();
    const deps = { clock: systemClock, logger: silentLogger };
    pair.server = await RpcServer.listen(
      {
        ...deps,
        credentials: () => pair.own,
        blocked: () => pair.blocked,
        isManager: (node) => !pair.demoted.has(node),
      },
      { address: '127.0.0.1', port: 0 },
    );
    pair.server.add(METHODS);
    return pair;
  }

  get addr(): string {
    return `127.0.0.1:${this.server.port}`;
  }

  dialer(credentials: Credentials | undefined): Dialer {
    const dialer = new Dialer({ clock: systemClock, credentials: () => credentials });
    this.#dialers.push(dialer);
    return dialer;
  }

  client(credentials: Credentials | undefined): ReturnType<Dialer['dial']> {
    return this.dialer(credentials).dial(this.addr);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#dialers.forEach((dialer) => dialer[Symbol.dispose]());
    await this.server[Symbol.asyncDispose]();
  }
}

/** What a stranger is answered to a body that no client sends. */
async function answerTo({ addr }: Pair, body: string): Promise<string> {
  const session = connectHttp2(`https://${addr}`, { rejectUnauthorized: false });
  session.on('error', () => session.destroy());
  const stream = session.request({ ':method': 'POST', ':path': '/open' });
  const ended = new Promise<void>((resolve) => {
    stream.once('close', () => resolve());
  });
  stream.on('error', () => stream.destroy());
  let text = '';
  stream.on('data', (chunk: Buffer) => (text += chunk.toString()));
  stream.write(body);
  await Promise.race([ended, once(stream, 'end')]);
  session.destroy();
  return text;
}

async function* numbers(): AsyncGenerator<number> {
  yield 1;
  yield 2;
}

async function all(values: AsyncIterable<unknown>): Promise<unknown[]> {
  const found = [];
  for await (const value of values) {
    found.push(value);
  }
  return found;
}

const failed = async (work: Promise<unknown>): Promise<string> =>
  work.then(
    (value) => `answered ${JSON.stringify(value)}`,
    ({ code, message }: EngineError) => `${code}: ${message}`,
  );

let pair: Pair;
afterEach(() => pair[Symbol.asyncDispose]());

describe('calls between nodes', () => {
  test('a call, a stream and an upload, by the caller that its certificate names', async () => {
    pair = await Pair.open();
    const client = pair.client(worker);
    expect(await client.call('node', { a: 1 })).toEqual([{ a: 1 }, 'node2']);
    expect(await all(client.stream('count', 3, never))).toEqual([0, 1, 2]);
    expect(await client.upload('sum', numbers(), never)).toBe(3);
    expect(await client.call('open', 0)).toEqual(WORKER);
  });

  test('110: a worker is no manager, a stranger no node; both may ask for a certificate', async () => {
    pair = await Pair.open();
    expect(await failed(pair.client(worker).call('manager', 0))).toBe(
      'forbidden: Permission denied: remote certificate not part of OUs: [swarm-manager]',
    );
    expect(await pair.client(manager).call('manager', 0)).toBe('yes');
    const stranger = pair.client({ rootsPem: ROOT.certificate.pem });
    expect(await stranger.call('open', 0)).toBe('stranger');
    expect(await failed(stranger.call('node', 0))).toBe('unauthorized: no certificates to validate');
    expect(await failed(all(stranger.stream('count', 1, never)))).toMatch(/^unauthorized/);
  });

  test.each([
    ['of another swarm under the same root', credentialsOf({ ...WORKER, cluster: 'cluster2' }), /^forbidden/],
    [
      'that has expired',
      credentialsOf(WORKER, ROOT, { now: NOW - 7_300_000, expiryMs: 3_600_000 }),
      /^unauthorized/,
    ],
    ['that is not valid yet', credentialsOf(WORKER, ROOT, { now: NOW + 86_400_000 }), /^unauthorized/],
    [
      'of another root',
      credentialsOf(WORKER, createRoot(NOW)),
      /^unauthorized: certificate signed by unknown/,
    ],
  ])('a certificate %s is none', async (_, credentials, expected) => {
    pair = await Pair.open();
    // What the caller trusts is the right root: it is the server that refuses.
    const client = pair.client({
      rootsPem: ROOT.certificate.pem,
      own: { certPem: '', keyPem: '', ...credentials.own, cluster: 'cluster1' },
    });
    expect(await failed(client.call('node', 0))).toMatch(expected);
    expect(await client.call('open', 0)).toBe('stranger');
  });

  test('a server is believed only as a manager of this swarm', async () => {
    pair = await Pair.open();
    pair.own = worker;
    pair.server.refresh();
    expect(await failed(pair.client(worker).call('open', 0))).toMatch(/^forbidden.*OUs: \[swarm-manager\]/);
    pair.own = credentialsOf(MANAGER, createRoot(NOW));
    pair.server.refresh();
    expect(await failed(pair.client(worker).call('open', 0))).toMatch(/^unauthorized.*unknown authority/);
    pair.own = credentialsOf({ ...MANAGER, cluster: 'cluster2' });
    pair.server.refresh();
    expect(await failed(pair.client(worker).call('open', 0))).toMatch(/^forbidden.*organization: cluster1/);
    expect(await pair.client(undefined).call('open', 0)).toBe('stranger');
  });

  test('111: a node that is removed is refused, also on a stream that is open', async () => {
    pair = await Pair.open();
    const client = pair.client(worker);
    const stream = client.stream('count', 20, never);
    expect((await stream.next()).value).toBe(0);
    pair.blocked.set('node2', Date.now() + 1e6);
    pair.server.refresh();
    expect(await failed(all(stream))).toBe('forbidden: Permission denied: node node2 was removed from swarm');
    expect(await failed(client.call('node', 0))).toMatch(/^forbidden/);
    expect(await client.call('open', 0)).toBe('stranger');
  });

  test('115: a manager that was demoted is none any more, whatever its certificate says', async () => {
    pair = await Pair.open();
    const client = pair.client(manager);
    expect(await client.call('manager', 0)).toBe('yes');
    pair.demoted.add('node1');
    expect(await failed(client.call('manager', 0))).toMatch(/^forbidden.*OUs: \[swarm-manager\]/);
    expect(await client.call('node', 0)).toEqual([0, 'node1']);
  });

  test('112: while a root changes both sides of it meet', async () => {
    pair = await Pair.open();
    const next = createRoot(NOW);
    const crossed = crossSign(ROOT, next.certificate).pem;
    const renewed = (identity: Identity): Credentials => {
      const { own } = credentialsOf(identity, next);
      return { rootsPem: ROOT.certificate.pem, own: { ...own!, certPem: own!.certPem + crossed } };
    };
    expect(await pair.client(renewed(WORKER)).call('node', 1)).toEqual([1, 'node2']);
    pair.own = renewed(MANAGER);
    pair.server.refresh();
    expect(await pair.client(worker).call('node', 1)).toEqual([1, 'node2']);
    pair.own = { ...pair.own, rootsPem: next.certificate.pem };
    pair.server.refresh();
    expect(await failed(pair.client(worker).call('node', 1))).toMatch(/^unauthorized/);
    expect(await pair.client({ ...renewed(WORKER), rootsPem: next.certificate.pem }).call('node', 1)).toEqual(
      [1, 'node2'],
    );
  });

  test('errors come over with code, words and details; an unknown method is unavailable', async () => {
    pair = await Pair.open();
    const client = pair.client(worker);
    expect(await failed(client.call('none', 0))).toBe('unavailable: none: not served here now');
    using _more = pair.server.add([
      {
        name: 'bug',
        allowed: 'node',
        kind: 'call',
        handle: async () => {
          throw new TypeError('x is no function');
        },
      },
    ]);
    expect(await failed(client.call('bug', 0))).toBe('internal: x is no function');
  });

  test('a value past the bound is refused on both ways, and from strangers a much smaller one', async () => {
    pair = await Pair.open();
    const large = 'x'.repeat(4 * 1024 * 1024);
    expect(await failed(pair.client(worker).call('node', large))).toMatch(/^resource_exhausted/);
    expect(
      await failed(pair.client({ rootsPem: ROOT.certificate.pem }).call('open', 'x'.repeat(200_000))),
    ).toMatch(/^resource_exhausted/);
    expect(await pair.client(worker).call('node', 'x'.repeat(3_000_000))).toHaveLength(2);
  });

  test('bytes come as they are, among values', async () => {
    pair = await Pair.open();
    const sizes = [1, 100_000, 0, limits.swarmMessageBytesMax];
    const got: unknown[] = [];
    for await (const value of pair.client(worker).stream('bytes', sizes, never)) {
      got.push(Buffer.isBuffer(value) ? [value.length, value.every((byte) => byte === 10)] : value);
    }
    expect(got).toEqual(['first', [1, true], [100_000, true], [limits.swarmMessageBytesMax, true], 'last']);
    const tooMany = pair.client(worker).call('bytes', [limits.swarmMessageBytesMax + 1]);
    expect(await tooMany).toBe('first');
    const values = pair.client(worker).stream('bytes', [limits.swarmMessageBytesMax + 1], never);
    const rest = values[Symbol.asyncIterator]();
    expect(await rest.next()).toMatchObject({ value: 'first' });
    await expect(rest.next()).rejects.toMatchObject({ code: 'resource_exhausted' });
  });

  test('a stream keeps nothing of what it has sent', async () => {
    pair = await Pair.open();
    const made: WeakRef<Buffer>[] = [];
    using _served = pair.server.add([
      {
        name: 'endless',
        allowed: 'node',
        kind: 'stream',
        async *handle() {
          for (;;) {
            const bytes = Buffer.alloc(100_000);
            made.push(new WeakRef(bytes));
            yield bytes;
          }
        },
      },
    ]);
    const stream = pair.client(worker).stream('endless', 0, never)[Symbol.asyncIterator]();
    for (let count = 0; count < 200; count += 1) {
      await stream.next();
    }
    setFlagsFromString('--expose-gc');
    await expect
      .poll(() => {
        runInNewContext('gc()');
        return made.filter((bytes) => bytes.deref() !== undefined).length;
      })
      .toBeLessThan(50);
    await stream.return?.(undefined);
  });

  test.each([
    ['{"b":0}\n', 'invalid_argument'],
    ['{"b":-1}\n', 'invalid_argument'],
    ['{"b":"7"}\n', 'invalid_argument'],
    [`{"b":${limits.swarmMessageBytesMax + 1}}\n`, 'resource_exhausted'],
  ])('a count of bytes that makes no sense is refused: %s', async (text, code) => {
    pair = await Pair.open();
    expect(await answerTo(pair, text)).toContain(code);
  });

  test('a line without an end is not gathered beyond the bound', async () => {
    pair = await Pair.open();
    expect(await answerTo(pair, 'y'.repeat(300_000))).toContain('resource_exhausted');
  });

  test('a call ends in time, and a stream with its connection', async () => {
    pair = await Pair.open();
    using _slow = pair.server.add([
      { name: 'slow', allowed: 'node', kind: 'call', handle: () => new Promise(() => undefined) },
    ]);
    const client = pair.client(worker);
    // So that they are connected.
    await client.call('node', 0);
    expect(await failed(client.call('slow', 0, { timeoutMs: 50 }))).toMatch(
      /^deadline_exceeded: slow of 127/,
    );
    const stream = client.stream('count', 20, never);
    await stream.next();
    const rest = failed(all(stream));
    await pair.server[Symbol.asyncDispose]();
    expect(await rest).toMatch(/^unavailable: the connection to the other node is lost/);
    expect(await failed(client.call('node', 0))).toMatch(/^unavailable: connect to 127.0.0.1/);
    pair = await Pair.open();
  });

  test('the server learns that a caller has gone, and the caller may end a stream', async () => {
    pair = await Pair.open();
    gone.length = 0;
    const ends = new AbortController();
    const stream = pair.client(worker).stream('count', 20, ends.signal);
    await stream.next();
    ends.abort();
    expect(await failed(all(stream))).toBe('canceled: canceled');
    await expect.poll(() => gone).toEqual(['count']);
  });

  test('a stream on a connection that takes no new calls ends too when the other side is gone', async () => {
    pair = await Pair.open();
    const halves: Socket[] = [];
    const wire = createTcpServer((near) => {
      const far = connectTcp(pair.server.port, '127.0.0.1');
      halves.push(
        near.on('error', () => far.destroy()),
        far.on('error', () => near.destroy()),
      );
      near.pipe(far).pipe(near);
    });
    wire.listen(0, '127.0.0.1');
    await once(wire, 'listening');
    const { port } = wire.address() as AddressInfo;
    const dialer = pair.dialer(worker);
    const stream = dialer.dial(`127.0.0.1:${port}`).stream('count', 20, never);
    await stream.next();
    dialer.refresh();
    halves.forEach((half) => half.unpipe().pause());
    expect(await failed(all(stream))).toMatch(/^unavailable: .*: it does not answer$/);
    halves.forEach((half) => half.destroy());
    wire.close();
  });

  test('a server that ends does not wait for who is about to connect', async () => {
    pair = await Pair.open();
    const tcp = connectTcp(pair.server.port, '127.0.0.1');
    await once(tcp, 'connect');
    // Until the server has it too: it answers to what no client of TLS sends.
    const other = connectTcp(pair.server.port, '127.0.0.1');
    other.write('what is this\n');
    await once(other, 'close');
    const ended = pair.server[Symbol.asyncDispose]();
    const session = connectHttp2('https://swarm-manager', {
      createConnection: () => connectTls({ socket: tcp, ALPNProtocols: ['h2'], rejectUnauthorized: false }),
    });
    session.on('error', () => session.destroy());
    const left = new Promise<void>((resolve) => {
      session.once('close', () => resolve());
    });
    await Promise.all([ended, left]);
    pair = await Pair.open();
  });

  test('an address that is taken is said to be', async () => {
    pair = await Pair.open();
    const { port } = pair.server;
    const deps = {
      clock: systemClock,
      logger: silentLogger,
      credentials: () => manager,
      blocked: () => new Map(),
      isManager: () => true,
    };
    await expect(RpcServer.listen(deps, { address: '127.0.0.1', port })).rejects.toThrow(
      `listen tcp 127.0.0.1:${port}: bind: address already in use`,
    );
  });
});
