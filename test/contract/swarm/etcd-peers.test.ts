import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { PeerTls } from '../../../swarm/store/etcd-process/settings.ts';
import { TestNetns } from '../../support/engine/netns.ts';
import { needs } from '../../support/needs.ts';
import { TestMember } from '../../support/swarm/etcd-member.ts';
import { only, put } from '../../support/swarm/stores.ts';

const PEERS = [
  { name: 'one', peerUrl: 'https://127.0.0.1:2381' },
  { name: 'two', peerUrl: 'https://127.0.0.1:2382' },
];

/** An authority of its own in a directory, and what it signs: OpenSSL's, so that no code of ours is asked. */
class TestAuthority implements Disposable {
  readonly #directory = mkdtempSync('/tmp/berth-test-authority-');

  constructor() {
    this.#openssl('req', '-x509', '-days', '1', '-subj', '/CN=etcd', ...newKey('ca'), '-out', 'ca.pem');
  }

  /** Certificate and key for a role, as `peerTls`. */
  sign(role: string): PeerTls {
    this.#openssl('req', ...newKey(role), '-subj', `/CN=${role}`, '-out', `${role}.csr`);
    writeFileSync(
      path.join(this.#directory, `${role}.ext`),
      `subjectAltName=DNS:${role},IP:127.0.0.1\nextendedKeyUsage=serverAuth,clientAuth\n`,
    );
    const signer = ['-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial', '-days', '1'];
    this.#openssl(
      'x509',
      '-req',
      '-in',
      `${role}.csr`,
      ...signer,
      '-extfile',
      `${role}.ext`,
      '-out',
      `${role}.pem`,
    );
    const [certificateFile = '', keyFile = '', authorityFile = ''] = [
      `${role}.pem`,
      `${role}.key`,
      'ca.pem',
    ].map((name) => path.join(this.#directory, name));
    return { certificateFile, keyFile, authorityFile, allowedHostname: 'swarm-manager' };
  }

  [Symbol.dispose](): void {
    rmSync(this.#directory, { recursive: true, force: true });
  }

  #openssl(...argv: string[]): void {
    execFileSync('openssl', argv, { cwd: this.#directory, stdio: 'pipe' });
  }
}

function newKey(name: string): string[] {
  return ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', `${name}.key`];
}

needs(
  'root',
  'etcd',
  'ip',
  'netns',
)('the peers of a store', () => {
  let network: TestNetns;
  let authority: TestAuthority;
  let members: TestMember[];
  let manager: PeerTls;

  beforeAll(async () => {
    network = new TestNetns(`bt${process.pid}t`);
    authority = new TestAuthority();
    manager = authority.sign('swarm-manager');
    members = PEERS.map(({ name }, index) => new TestMember(name, { port: 2381 + index, network }));
    for (const [index, member] of members.entries()) {
      const { peerUrl } = PEERS[index]!;
      await member.start({
        peerUrl,
        listenPeerUrl: peerUrl,
        peerTls: manager,
        cluster: { state: 'new', token: 'test', peers: PEERS },
      });
    }
  });

  afterAll(async () => {
    for (const member of members) {
      await member[Symbol.asyncDispose]();
    }
    authority[Symbol.dispose]();
    network[Symbol.dispose]();
  });

  test('managers find each other by certificates of their own authority', async () => {
    const [one, two] = members;
    await one!.ready();
    await two!.ready();
    await one!.store.commit({ conditions: [], writes: [put('a', 'x')] });
    expect((await only(two!.store, 'a'))?.value.toString()).toBe('x');
  });

  /** What a peer's address answers to whoever asks: its status, or '' where the connection is refused. */
  async function asked(...options: string[]): Promise<string> {
    const ask = ['curl', '-s', '--http1.1', '-o', '/dev/null', '-w', '%{http_code}', '--max-time', '5'];
    return network.run(...ask, ...options, 'https://127.0.0.1:2381/members').catch((error: unknown) => {
      expect(error).toMatchObject({ stdout: '000' });
      return '';
    });
  }

  test('110: a worker, a stranger and whoever has no certificate are refused', async () => {
    expect(await asked(...as(manager))).toBe('200');
    expect(await asked(...as(authority.sign('swarm-worker')))).toBe('');
    expect(await asked('--cacert', manager.authorityFile)).toBe('');
    expect(await asked('-k')).toBe('');
    {
      using other = new TestAuthority();
      const stranger = { ...other.sign('swarm-manager'), authorityFile: manager.authorityFile };
      expect(await asked(...as(stranger))).toBe('');
    }
  });

  test('there is no port for clients', async () => {
    const listening = await network.run('ss', '-Hltn');
    const ports = listening
      .trim()
      .split('\n')
      .map((line) => line.trim().split(/\s+/)[3]);
    expect(new Set(ports)).toEqual(new Set(['127.0.0.1:2381', '127.0.0.1:2382']));
  });
});

/** Options of curl: to be this one. */
function as({ certificateFile, keyFile, authorityFile }: PeerTls): string[] {
  return ['--cacert', authorityFile, '--cert', certificateFile, '--key', keyFile];
}
