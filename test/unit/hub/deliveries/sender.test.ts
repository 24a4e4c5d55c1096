import net from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { limits } from '../../../../daemon/base/limits.ts';
import { parseAllowedHosts } from '../../../../daemon/hub/deliveries/allowed-hosts.ts';
import { HttpSender } from '../../../../daemon/hub/deliveries/sender.ts';
import { receiver } from '../../../support/hub/receiver.ts';

const REQUEST = { headers: { 'content-type': 'application/json' }, body: Buffer.from('{}') };

type Resolve = NonNullable<ConstructorParameters<typeof HttpSender>[1]>;

/** A sender to whom names lead to these addresses, one list at each look-up. */
function sender(allowed: string[], ...answers: string[][]) {
  let turn = 0;
  const resolve = (
    _name: string,
    _options: object,
    callback: (error: null, found: object[]) => void,
  ): void => {
    const addresses = answers[Math.min(turn, answers.length - 1)] ?? [];
    turn += 1;
    callback(
      null,
      addresses.map((address) => ({ address, family: net.isIP(address) })),
    );
  };
  // Only the form of the call that the sender makes.
  const made = new HttpSender(parseAllowedHosts(allowed), resolve as unknown as Resolve);
  onTestFinished(() => made[Symbol.dispose]());
  return (url: string) => made.send({ url: new URL(url), isCertificateVerified: true }, REQUEST);
}

const REFUSED = { outcome: { status: 'URL host is not supported', code: 502 } };

test.each([
  ['http://10.0.0.1/', []],
  ['http://[::ffff:10.0.0.1]/', []],
  ['http://0x0a000001/', []],
  ['http://169.254.169.254/', []],
  ['http://name.test/', ['10.0.0.1']],
  ['http://name.test/', ['64:ff9b::a00:1', '::ffff:127.0.0.1']],
  ['https://name.test/', ['fe80::1']],
])('%s at %j is not called', async (url, addresses) => {
  expect(await sender(['external'], addresses)(url)).toMatchObject(REFUSED);
});

test('a name that leads elsewhere the second time is judged again', async () => {
  await using target = await receiver();
  // The receiver ends each connection, so that each delivery looks the name up.
  target.answer = (res) => res.writeHead(200, { connection: 'close' }).end();
  const url = target.url.replace('127.0.0.1', 'name.test');
  const send = sender(['127.0.0.1'], ['127.0.0.1'], ['127.0.0.2']);
  expect(await send(url)).toMatchObject({ outcome: { code: 200 } });
  expect(await send(url)).toMatchObject(REFUSED);
  expect(target.received).toHaveLength(1);
});

test('of several addresses only those that are allowed are called', async () => {
  await using target = await receiver();
  const send = sender(['127.0.0.1'], ['10.0.0.1', '127.0.0.1']);
  expect(await send(target.url.replace('127.0.0.1', 'name.test'))).toMatchObject({ outcome: { code: 200 } });
});

test('a redirect is an answer, and is not followed', async () => {
  await using target = await receiver();
  target.answer = (res) => res.writeHead(307, { location: `${target.url}/other`, 'set-cookie': 'a=b' }).end();
  expect(await sender(['loopback'])(target.url)).toMatchObject({
    outcome: { code: 307, status: 'Invalid HTTP Response: 307' },
    response: { headers: { 'set-cookie': '********' } },
  });
  expect(target.received).toHaveLength(1);
});

test.each([
  [404, 'missing'],
  [500, 'invalid'],
])('%i makes the hook %s', async (code, hookStatus) => {
  await using target = await receiver();
  target.answer = (res) => res.writeHead(code).end('no');
  expect(await sender(['loopback'])(target.url)).toMatchObject({
    outcome: { status: `Invalid HTTP Response: ${code}`, code, hookStatus },
    response: { payload: 'no' },
  });
});

test('of an endless answer only the start is read', async () => {
  await using target = await receiver();
  target.answer = (res) => {
    const more = (): void => {
      while (!res.destroyed && res.write('x'.repeat(10_000)));
      if (!res.destroyed) {
        res.once('drain', more);
      }
    };
    more();
  };
  const { outcome, response } = await sender(['loopback'])(target.url);
  expect([outcome.code, response.payload.length]).toEqual([200, limits.hubResponseBytesKept]);
});

test('a connection that the receiver has closed meanwhile is made anew', async () => {
  await using target = await receiver();
  const send = sender(['loopback']);
  target.answer = (res) => {
    const { socket } = res;
    res.end('ok', () => setImmediate(() => socket?.destroy()));
  };
  for (let count = 1; count <= 5; count += 1) {
    expect((await send(target.url)).outcome).toMatchObject({ code: 200 });
  }
});

test('name and password in an address are sent, a port and a query too', async () => {
  await using target = await receiver();
  let header: string | undefined;
  target.answer = (res) => {
    header = res.req.headers.authorization;
    res.end();
  };
  await sender(['loopback'])(`${target.url.replace('//', '//a:b%21@')}/x?y=1`);
  expect([header, target.received[0]?.path]).toEqual([
    `Basic ${Buffer.from('a:b!').toString('base64')}`,
    '/x?y=1',
  ]);
});

test('what cannot be reached says why', async () => {
  const { outcome } = await sender(['loopback'])('http://127.0.0.1:1/');
  expect(outcome).toEqual({ status: 'failed to connect to network', code: 502, hookStatus: 'misconfigured' });
});
