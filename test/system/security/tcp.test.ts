import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { TestDaemon } from '../../support/engine/daemon.ts';
import { describeEngine, onReference } from '../../support/engine/engine.ts';
import { needs } from '../../support/needs.ts';

const PLAIN = 'tcp://127.0.0.1:2375';
const CREATE = JSON.stringify({ Image: 'busybox', Cmd: ['true'], HostConfig: { NetworkMode: 'none' } });

/** Sends a request from the daemon's network namespace; answers `status body`, 000 when there was no answer. */
async function curl(daemon: TestDaemon, ...args: string[]): Promise<string> {
  const options = [
    '--silent',
    '--max-time',
    '15',
    '--noproxy',
    '*',
    '--output',
    '-',
    '--write-out',
    '\n%{http_code}',
  ];
  try {
    const text = await daemon.netns.run('curl', ...options, ...args);
    const [code = '', ...body] = text.split('\n').toReversed();
    return `${code} ${body.toReversed().join('\n').trim()}`;
  } catch {
    // curl's own failures (refused, no handshake) are its exit code.
    return '000 ';
  }
}

describeEngine('TCP without TLS', (engine) => {
  beforeAll(async () => {
    if (!onReference) {
      const { daemon } = engine;
      daemon.configure({ hosts: [`unix://${daemon.paths.socket}`, PLAIN] });
      await daemon.restart();
    }
  });

  test.runIf(!onReference).each([
    ['a name of the attacker', ['-H', 'Host: evil.example:2375'], 403],
    ['no name', ['-H', 'Host:', '--http1.0'], 403],
    ['a name with an address in it', ['-H', 'Host: 127.0.0.1.evil.example'], 403],
    ['a user in the name', ['-H', 'Host: localhost@evil.example'], 403],
    ['another origin', ['-H', 'Origin: http://evil.example'], 403],
    ['no origin to tell', ['-H', 'Origin: null'], 403],
    ['another port of this host', ['-H', 'Origin: http://127.0.0.1:3000'], 403],
    ['another site', ['-H', 'Sec-Fetch-Site: cross-site'], 403],
    ['another host of this site', ['-H', 'Sec-Fetch-Site: same-site'], 403],
    [
      'an upgrade of another origin',
      ['-H', 'Origin: http://evil.example', '-H', 'Upgrade: tcp', '-H', 'Connection: Upgrade'],
      403,
    ],
    ['nothing a browser adds', [], 200],
    ['the name of this host', ['-H', 'Host: localhost:2375'], 200],
    ['its own origin', ['-H', 'Origin: http://127.0.0.1:2375'], 200],
    ['a typed address', ['-H', 'Sec-Fetch-Site: none'], 200],
  ])('class 9: a request with %s is answered by its headers', async (_what, headers, status) => {
    const answer = await curl(engine.daemon, ...headers, 'http://127.0.0.1:2375/containers/json');
    expect(answer.slice(0, 3)).toBe(String(status));
  });

  test
    .runIf(!onReference)
    .each([
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
      'text/plain; application/json',
      '',
    ])('class 9: a form of a web page, of type %j, makes no container', async (type) => {
    const url = 'http://127.0.0.1:2375/containers/create?name=forged';
    const answer = await curl(engine.daemon, '-X', 'POST', '-H', `Content-Type:${type}`, '-d', CREATE, url);
    expect(answer.slice(0, 3)).toBe('400');
    expect(await engine.list()).toEqual([]);
  });

  test.runIf(!onReference)('class 9: no answer allows another site to read it', async () => {
    const headers = await engine.daemon.netns.run(
      'curl',
      '--silent',
      '--include',
      '-X',
      'OPTIONS',
      '-H',
      'Access-Control-Request-Method: POST',
      'http://127.0.0.1:2375/containers/create',
    );
    expect(headers).not.toMatch(/^access-control/im);
  });

  test.runIf(!onReference)('class 9: a container reaches the API at no address of its gateway', async () => {
    const id = await engine.start(['sleep', '600'], { NetworkMode: 'bridge' });
    const { NetworkSettings } = await engine.inspect(id);
    const addresses = await engine.daemon.netns.run('hostname', '-I');
    for (const address of new Set([
      NetworkSettings.Networks['bridge']?.Gateway,
      ...addresses.trim().split(/\s+/),
    ])) {
      const probe = `echo | nc -w 1 ${address} 2375 >/dev/null 2>&1 && echo reached; true`;
      expect([address, (await engine.exec(id, ['sh', '-c', probe])).stdout]).toEqual([address, '']);
    }
  });
});

needs(
  'root',
  'runc',
  'conmon',
  'built',
)('TCP', () => {
  test.each(['tcp://0.0.0.0:2375', 'tcp://[::]:2375', 'tcp://10.0.0.1:2375', 'tcp://host.example:2375'])(
    'class 9: %s without TLS is refused at the start of the daemon',
    async (host) => {
      await expect(TestDaemon.start({ config: { hosts: [host] } })).rejects.toThrow(/tls/i);
    },
  );
});

needs(
  'root',
  'runc',
  'conmon',
  'built',
)('TCP with TLS', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'bth-tls-'));
  const at = (name: string): string => path.join(folder, name);
  let daemon: TestDaemon;

  beforeAll(async () => {
    certify('ca');
    certify('other-ca');
    certify('server', 'ca', 'subjectAltName=IP:127.0.0.1,DNS:build.example');
    certify('client', 'ca', 'extendedKeyUsage=clientAuth');
    certify('server-only', 'ca', 'extendedKeyUsage=serverAuth');
    certify('stranger', 'other-ca');
    certify('self');
    daemon = await TestDaemon.start();
    daemon.configure({
      hosts: [`unix://${daemon.paths.socket}`, 'tcp://127.0.0.1:2376'],
      tlsverify: true,
      tlscacert: at('ca.pem'),
      tlscert: at('server.pem'),
      tlskey: at('server.key'),
    });
    // What the machine trusts counts for nothing: a public authority would let everybody in.
    await daemon.restart({
      env: { NODE_EXTRA_CA_CERTS: at('other-ca.pem'), SSL_CERT_FILE: at('other-ca.pem') },
    });
  });
  afterAll(async () => {
    await daemon[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true });
  });

  /** Makes `<name>.pem` and `<name>.key`, signed by `issuer` or by itself. */
  function certify(name: string, issuer?: string, extension = 'subjectAltName=IP:127.0.0.1'): void {
    const request = 'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2';
    const files = ['-keyout', at(`${name}.key`), '-out', at(`${name}.pem`), '-addext', extension];
    const signer = issuer === undefined ? [] : ['-CA', at(`${issuer}.pem`), '-CAkey', at(`${issuer}.key`)];
    execFileSync('openssl', [...request.split(' '), '-subj', `/CN=${name}`, ...files, ...signer], {
      stdio: 'pipe',
    });
  }

  const as = (name: string): string[] => [
    '--cacert',
    at('ca.pem'),
    '--cert',
    at(`${name}.pem`),
    '--key',
    at(`${name}.key`),
  ];

  test.each([
    ['a certificate of its own authority', (): string[] => as('client'), '200'],
    ['a certificate of another authority', (): string[] => as('stranger'), '000'],
    ['a certificate that signed itself', (): string[] => as('self'), '000'],
    ['a certificate for servers only', (): string[] => as('server-only'), '000'],
    ['no certificate', (): string[] => ['--cacert', at('ca.pem')], '000'],
    ['TLS 1.1', (): string[] => [...as('client'), '--tls-max', '1.1'], '000'],
  ])('class 9: with %s a client gets in or not', async (_what, options, status) => {
    const answer = await curl(daemon, ...options(), 'https://127.0.0.1:2376/_ping');
    expect(answer.slice(0, 3)).toBe(status);
  });

  test('class 9: without TLS the same port answers nobody', async () => {
    expect(await curl(daemon, 'http://127.0.0.1:2376/_ping')).not.toMatch(/OK/);
  });

  test('class 9: a daemon is called by the names of its certificate and by no other', async () => {
    const answers: string[] = [];
    for (const name of ['build.example', 'evil.example']) {
      const host = ['-H', `Host: ${name}:2376`];
      answers.push(await curl(daemon, ...as('client'), ...host, 'https://127.0.0.1:2376/_ping'));
    }
    expect(answers).toEqual(['200 OK', expect.stringMatching(/^403 /)]);
  });
});
