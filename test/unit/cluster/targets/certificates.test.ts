import { execFileSync } from 'node:child_process';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { afterEach, expect, test } from 'vitest';
import { isEngineError } from '../../../../daemon/base/errors.ts';
import { selfSigned } from '../../../support/cluster/certificate.ts';
import { openTargets, type OpenTargets } from '../../../support/cluster/open-targets.ts';
import { serveTargets } from '../../../support/cluster/served-targets.ts';
import { until } from '../../../support/engine/http.ts';
import { ManualClock } from '../../../support/fakes/manual-clock.ts';
import { freePort } from '../../../support/free-port.ts';

const one = selfSigned('one');
const two = selfSigned('two');
const own = selfSigned('own');

const opened: TLSSocket[] = [];
afterEach(() => {
  opened.splice(0).forEach((socket) => socket.destroy());
});

const body = ({ certificate, key }: typeof one): object => ({ certificate, privateKey: key });

async function imported(open: OpenTargets, pair: typeof one, more: object = {}): Promise<string> {
  return String(Object(await open.targets.certificates.import({ ...body(pair), ...more })).certificateArn);
}

/** What is thrown, as a client sees it; `answered` where nothing is. */
async function refused(promise: Promise<unknown>): Promise<string> {
  try {
    return `answered ${JSON.stringify(await promise)}`;
  } catch (error) {
    return isEngineError(error) ? `${error.code}: ${error.message}` : String(error);
  }
}

/** A service with a listener of HTTPS that answers 204; its port. */
async function listening(open: OpenTargets, service: string): Promise<number> {
  const port = await freePort();
  const defaultAction = { fixedResponse: { statusCode: 204 } };
  const listener = { name: 'main', protocol: 'HTTPS', port, defaultAction };
  await open.ask('createListener', { params: { service }, body: listener });
  return port;
}

/** A connection of TLS that stands, and the common name of what it was shown. */
async function shownAt(port: number): Promise<string> {
  const socket = connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false });
  opened.push(socket);
  return await new Promise((resolve, reject) => {
    socket.once('error', reject);
    socket.once('secureConnect', () => resolve(String(Object(socket.getPeerCertificate().subject)['CN'])));
  });
}

test('a listener of HTTPS shows the certificate of its service, and a new one without being closed', async () => {
  await using open = await openTargets();
  const arn = await imported(open, one);
  const made = await open.ask('createService', { body: { name: 'shop', certificateArn: arn } });
  expect(made['certificateArn']).toBe(arn);
  const service = String(made['id']);
  const port = await listening(open, service);
  await open.targets.start();
  expect(await shownAt(port)).toBe('one');
  const [standing] = opened;

  expect(await imported(open, two, { certificateArn: arn })).toBe(arn);
  await until('the new one is shown', async () => (await shownAt(port)) === 'two');

  const other = await imported(open, own);
  const update = { params: { service }, body: { certificateArn: other } };
  expect(await open.ask('updateService', update)).toMatchObject({ id: service, certificateArn: other });
  await until('the other one is shown', async () => (await shownAt(port)) === 'own');
  expect(standing?.closed).toBe(false);
  standing?.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  await new Promise((resolve) => {
    standing?.once('data', resolve);
  });

  await open.targets.certificates.remove(arn);
  expect(await refused(open.targets.certificates.remove(other))).toBe(
    `conflict: the service ${service} shows the certificate`,
  );
  expect(Object(open.targets.certificates.list()).items).toEqual([
    expect.objectContaining({ certificateArn: other, subject: 'CN=own', inUseBy: [service] }),
  ]);
});

test('a service without a certificate shows that of the cluster interface', async () => {
  await using open = await openTargets({ certificate: own });
  const { id } = await open.ask('createService', { body: { name: 'shop' } });
  const port = await listening(open, String(id));
  await open.targets.start();
  expect(await shownAt(port)).toBe('own');
});

test('without any certificate a listener of HTTPS is refused', async () => {
  await using open = await openTargets();
  const { id } = await open.ask('createService', { body: { name: 'shop' } });
  expect(await refused(listening(open, String(id)))).toBe(
    'invalid_argument: protocol: needs a certificate: certificateArn of the service, or cluster.tls-cert and ' +
      'cluster.tls-key, not "HTTPS"',
  );
});

test('its authorities are shown with it', async () => {
  await using open = await openTargets();
  const arn = await imported(open, one, { certificateChain: own.certificate });
  const { certificate } = Object(open.targets.certificates.get(arn));
  expect(String(certificate).match(/BEGIN CERTIFICATE/g)).toHaveLength(2);
});

const locked = execFileSync('openssl', ['pkey', '-aes256', '-passout', 'pass:word'], {
  input: one.key,
  encoding: 'utf8',
});

test.each([
  [undefined, 'the body must be an object; certificate: is required; privateKey: is required'],
  [{}, 'certificate: is required; privateKey: is required'],
  [{ ...body(one), certificate: 'x' }, /^certificate: must be certificates as PEM/],
  [{ ...body(one), certificate: 7 }, /^certificate: must be certificates as PEM/],
  [
    { ...body(one), certificate: one.certificate.replace(/M/g, 'N') },
    /^certificate: must be certificates as PEM/,
  ],
  [
    { ...body(one), certificate: one.certificate.padEnd(70_000) },
    /^certificate: must be .* of at most 65536/,
  ],
  [{ ...body(one), certificateChain: 'x' }, /^certificateChain: must be certificates as PEM/],
  [{ ...body(one), privateKey: 'x' }, 'privateKey: must be a private key as PEM, without a passphrase'],
  [{ ...body(one), privateKey: locked }, 'privateKey: must be a private key as PEM, without a passphrase'],
  [{ ...body(one), privateKey: two.key }, 'privateKey: must be the key of the certificate'],
  [{ ...body(one), tags: {} }, /^tags: is not known/],
] as const)('%# is no certificate, and nothing of a key is told', async (given, expected) => {
  await using open = await openTargets();
  const told = await refused(open.targets.certificates.import(given));
  const [, code = '', message = ''] = /^(\w+): (.*)$/s.exec(told) ?? [];
  expect(code).toBe('invalid_argument');
  expect(message).toMatch(expected);
  for (const { key } of [one, two]) {
    expect(told).not.toContain(key.split('\n')[1]);
  }
});

test('one that has ended is refused', async () => {
  const clock = new ManualClock(BigInt(Date.now() + 3 * 86_400_000) * 1_000_000n);
  await using open = await openTargets({}, clock);
  expect(await refused(imported(open, one))).toMatch(
    /^invalid_argument: certificate: must be valid now; it has ended on /,
  );
});

test.each([
  ['arn:aws:acm:eu-west-1:123456789012:certificate/x', 'invalid_argument'],
  ['x', 'invalid_argument'],
  ['arn:berth:acm:local:000000000000:certificate/00000000-0000-0000-0000-000000000000', 'not_found'],
])('a service with the certificate %s is refused', async (certificateArn, code) => {
  await using open = await openTargets();
  const made = open.ask('createService', { body: { name: 'shop', certificateArn } });
  expect(await refused(made)).toMatch(new RegExp(`^${code}: `));
  const { id } = await open.ask('createService', { body: { name: 'shop' } });
  const update = { params: { service: String(id) }, body: { certificateArn } };
  expect(await refused(open.ask('updateService', update))).toMatch(new RegExp(`^${code}: `));
  expect(() => open.targets.certificates.get(certificateArn)).toThrow('there is no certificate');
});

test('there is an end to how many there may be', async () => {
  await using open = await openTargets();
  for (let count = 0; count < 100; count += 1) {
    await imported(open, one);
  }
  expect(await refused(imported(open, one))).toMatch(/^resource_exhausted: there are 100 certificates/);
});

test('at the listener of the cluster nobody brings or reads certificates', async () => {
  await using served = await serveTargets();
  for (const [method, path] of [
    ['POST', '/certificates'],
    ['GET', '/certificates'],
    ['GET', '/certificates/x'],
    ['DELETE', '/certificates/x'],
  ] as const) {
    const answer = await fetch(served.url + path, { method, headers: { authorization: 'Bearer alice' } });
    expect([answer.status, answer.headers.get('x-amzn-errortype')]).toEqual([403, 'AccessDeniedException']);
  }
});
