import { once } from 'node:events';
import http2 from 'node:http2';
import { connect } from 'node:net';
import type { Duplex } from 'node:stream';
import { expect, test } from 'vitest';
import { empty } from '../../../api/buildkit/proto/common.ts';
import { listWorkersResponse } from '../../../api/buildkit/proto/control.ts';
import { frame } from '../../../api/buildkit/rpc/framing.ts';
import { BROKEN, PREFACE, raw, SETTINGS } from '../../support/buildkit/frames.ts';
import { GraphClient } from '../../support/buildkit/graph-client.ts';
import { METHODS } from '../../support/buildkit/session-server.ts';
import { upgrade } from '../../support/buildkit/upgrade.ts';
import { describeEngine } from '../../support/engine/engine.ts';
import { SeededRandom } from '../../support/seeded-random.ts';

const ROUNDS = 40;
const CONTROL = '/moby.buildkit.v1.Control';
const BRIDGE = '/moby.buildkit.v1.frontend.LLBBridge';
const CALLS = [
  ...['Solve', 'Status', 'Prune', 'DiskUsage', 'Session', 'ListenBuildHistory'].map(
    (name) => `${CONTROL}/${name}`,
  ),
  ...[
    'Solve',
    'Return',
    'Warn',
    'ReadFile',
    'ResolveSourceMeta',
    'Inputs',
    'NewContainer',
    'ExecProcess',
  ].map((name) => `${BRIDGE}/${name}`),
  '/containerd.services.content.v1.Content/Read',
  '/nothing',
];

describeEngine('calls that are broken', (engine) => {
  const random = new SeededRandom(20_261_129);
  const bytes = (max: number): Buffer => Buffer.from(random.bytes(random.below(max)));
  const h2 = (): Duplex => connect(engine.daemon.paths.socket);
  const opened: [string, () => Promise<Duplex> | Duplex][] = [
    ['HTTP/2', h2],
    ['/grpc', () => upgrade(engine.daemon.paths.socket, '/grpc')],
    [
      '/session',
      () =>
        upgrade(engine.daemon.paths.socket, '/session', {
          'X-Docker-Expose-Session-Uuid': `broken-${random.below(2 ** 31)}`,
          'X-Docker-Expose-Session-Grpc-Method': METHODS,
        }),
    ],
  ];

  test(`${ROUNDS} rounds of nonsense: frames, messages, and clients that leave; the daemon lives`, async () => {
    const { pid } = engine.daemon;
    for (let round = 0; round < ROUNDS; round += 1) {
      const [door = '', open = h2] = opened[round % opened.length] ?? [];
      const connection = await open();
      connection.on('error', () => undefined /* it may break at any moment */).resume();
      const frames = Array.from({ length: 1 + random.below(6) }, () =>
        raw(random.below(12), { flags: random.below(256), stream: random.below(8), payload: bytes(64) }),
      );
      const begin = door === '/session' || random.below(8) === 0 ? [] : [PREFACE, raw(SETTINGS)];
      const broken = Object.values(BROKEN)[round % Object.keys(BROKEN).length] ?? PREFACE;
      const all = Buffer.concat([...begin, ...(random.below(2) === 0 ? frames : []), broken]);
      await new Promise<unknown>((resolve) => connection.write(all, resolve));
      connection.destroy();
      await nonsense(round);
    }
    expect(engine.daemon.pid).toBe(pid);
    await using client = await new GraphClient(engine.daemon).open();
    const workers = listWorkersResponse.decode(await client.call(`${CONTROL}/ListWorkers`, empty.encode({})));
    expect(workers.records).toHaveLength(1);
    expect((await engine.http.request('GET', '/_ping')).status).toBe(200);
  });

  /** Well-formed calls whose messages are none, some of which their client gives up. */
  async function nonsense(round: number): Promise<void> {
    const client = http2.connect('http://localhost', { createConnection: h2 });
    client.on('error', () => undefined /* it may break at any moment */);
    const path = CALLS[round % CALLS.length] ?? '';
    const message = frame(bytes(200));
    const cut = [message, message.subarray(0, random.below(message.length)), bytes(40), Buffer.alloc(0)];
    const stream = client.request({
      ':method': 'POST',
      ':path': path,
      'content-type': random.below(10) === 0 ? 'text/plain' : 'application/grpc',
      te: 'trailers',
      'buildkit-controlapi-buildid': `broken-${round}`,
      ...(random.below(2) === 0 && { 'grpc-timeout': '50m' }),
    });
    stream.on('error', () => undefined /* as above */).resume();
    const over = once(stream, 'close').catch(() => undefined /* as above */);
    stream.end(cut[random.below(cut.length)]);
    // A build that does not come is waited for: half of the clients have a deadline, the others leave.
    if (stream.sentHeaders['grpc-timeout'] === undefined) {
      await once(stream, 'ready').catch(() => undefined /* as above */);
      stream.close(http2.constants.NGHTTP2_CANCEL);
    }
    await over;
    client.destroy();
  }
});
