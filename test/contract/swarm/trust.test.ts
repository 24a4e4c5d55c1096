import { afterEach, beforeEach, expect, test } from 'vitest';
import type { RootState } from '../../../swarm/ca/roots/root.ts';
import { createRoot } from '../../../swarm/ca/x509/issue.ts';
import { readCertificates } from '../../../swarm/ca/x509/certificate.ts';
import { identityOf } from '../../../swarm/ca/identity.ts';
import { createRequest } from '../../../swarm/ca/x509/request.ts';
import { put, remove } from '../../../swarm/objects/parts.ts';
import { Dialer } from '../../../swarm/rpc/dialer.ts';
import { systemClock } from '../../../daemon/base/clock.ts';
import { needs } from '../../support/needs.ts';
import { changeRoot, failed, NodeHosts, roleOf, settled, SLOW } from '../../support/swarm/node-hosts.ts';
import type { TestNode } from '../../support/swarm/test-node.ts';

let hosts: NodeHosts;
beforeEach(() => {
  hosts = new NodeHosts();
});
afterEach(() => hosts[Symbol.asyncDispose]());

const trusted = (node: TestNode): string => node.text('ca.pem');
const keysOf = (node: TestNode): string => node.text('node.pem');
const certificatesOf = (node: TestNode): number => readCertificates(keysOf(node)).length;

function dialerOf(node: TestNode): Dialer {
  const [leaf] = readCertificates(keysOf(node));
  const { cluster } = identityOf(leaf!)!;
  const [certPem, keyPem] = [leaf!.pem, keysOf(node)];
  return new Dialer({
    clock: systemClock,
    credentials: () => ({ rootsPem: trusted(node), own: { certPem, keyPem, cluster } }),
  });
}

needs('root', 'etcd')('trust', () => {
  test('107: rotated tokens let nobody in any more; nodes stay', SLOW, async () => {
    const one = await hosts.first();
    const { authority } = one.manager.context;
    const before = await authority.tokens();
    await changeRoot(one, { rotateWorkerToken: true });
    const after = await authority.tokens();
    expect([after.worker === before.worker, after.manager === before.manager]).toEqual([false, true]);
    const node = hosts.make();
    const join = (JoinToken: string): Promise<void> =>
      node.node.join({ ...node.addresses, RemoteAddrs: [one.addr], JoinToken });
    expect(await failed(join(before.worker))).toMatch(/A valid join token is necessary to join this cluster/);
    await join(after.worker);
    expect(roleOf(node)).toBe('active worker');
  });

  test(
    "105: of a request only the key counts: role, name and swarm are the managers' own",
    SLOW,
    async () => {
      const one = await hosts.first();
      const worker = await hosts.joined(one, 'worker');
      const dial = dialerOf(worker);
      using client = dial.dial(one.addr);
      const asked = await client.call('ca.issue', {
        requestPem: createRequest().requestPem,
        role: 'manager',
        token: undefined,
      });
      const [leaf] = readCertificates((asked as { certPem: string }).certPem);
      expect(identityOf(leaf!)).toEqual({
        node: worker.id,
        role: 'swarm-worker',
        cluster: one.manager.context.clusterId,
      });
      expect(leaf!.isAuthority).toBe(false);
      expect(await failed(client.call('ca.issue', { requestPem: 'x' }))).toMatch(/^invalid_argument/);
      expect(
        await failed(client.call('manager.join', { requestPem: 'x', peerUrl: 'https://127.0.0.9:2378' })),
      ).toMatch(/^forbidden: Permission denied: remote certificate not part of OUs: \[swarm-manager\]/);
    },
  );

  test('a clock that is a day off: joining tells both times; a day forward is no matter', SLOW, async () => {
    const one = await hosts.first();
    const node = hosts.make();
    node.skewMs = -86_400_000;
    const { worker: JoinToken } = await one.manager.context.authority.tokens();
    const joining = failed(node.node.join({ ...node.addresses, RemoteAddrs: [one.addr], JoinToken }));
    await expect
      .poll(() => node.node.info().Error, settled)
      .toMatch(/not valid before .* and it is currently /);
    node.skewMs = 86_400_000;
    expect(await joining).toBe('answered');
    await expect
      .poll(() => one.manager.context.cluster.part('nodeDescription', node.id), settled)
      .toBeDefined();
  });

  test('many wrong tokens of one address are slowed down', SLOW, async () => {
    const one = await hosts.first();
    using dialer = new Dialer({ clock: systemClock, credentials: () => undefined });
    using client = dialer.dial(one.addr);
    const { requestPem } = createRequest();
    const answers = [];
    for (let at = 0; at < 12; at += 1) {
      answers.push(await failed(client.call('ca.issue', { requestPem, token: `wrong${at}` })));
    }
    expect(answers[9]).toMatch(/A valid join token is necessary/);
    expect(answers[10]).toBe('resource_exhausted: too many wrong join tokens: try again in a minute');
  });

  test('111: a node that was removed is refused with the certificate that it has', SLOW, async () => {
    const one = await hosts.first();
    const worker = await hosts.joined(one, 'worker');
    const dialer = dialerOf(worker);
    using client = dialer.dial(one.addr);
    await client.call('test.look', {});
    const { cluster, authority } = one.manager.context;
    await cluster.commit({
      conditions: [],
      parts: [
        remove('node', worker.id),
        remove('nodeState', worker.id),
        remove('nodeDescription', worker.id),
      ],
      values: authority.removalOf(worker.id),
    });
    await expect
      .poll(() => failed(client.call('test.look', {})), settled)
      .toBe(`forbidden: Permission denied: node ${worker.id} was removed from swarm`);
    expect(await failed(client.call('ca.issue', { requestPem: createRequest().requestPem }))).toMatch(
      /^unauthorized/,
    );
    await one.restart();
    await expect.poll(() => roleOf(one), settled).toBe('active manager');
    await expect
      .poll(() => failed(dialerOf(worker).dial(one.addr).call('test.look', {})), settled)
      .toMatch(/was removed from swarm/);
  });

  test(
    '112: the root is rotated: twice, with a node that is away, and to one that a user gives',
    SLOW,
    async () => {
      const one = await hosts.first();
      const two = await hosts.joined(one, 'manager');
      const worker = await hosts.joined(one, 'worker');
      const { authority } = one.manager.context;
      const [root, tokens] = [trusted(one), await authority.tokens()];
      await changeRoot(one, { wish: { forceRotate: 1, externals: [] } });
      expect(authority.isRotating).toBe(true);
      await expect.poll(() => authority.isRotating, settled).toBe(false);
      await expect
        .poll(() => [one, two, worker].map(trusted), settled)
        .toEqual([one, two, worker].map(() => authority.tlsInfo().TrustRoot));
      expect(trusted(one)).not.toBe(root);
      expect((await authority.tokens()).worker).not.toBe(tokens.worker);

      worker.isCut = true;
      await changeRoot(one, { wish: { forceRotate: 2, externals: [] } });
      await expect.poll(() => two.manager.context.authority.isRotating, settled).toBe(true);
      await expect.poll(() => keysOf(two).match(/BEGIN CERTIFICATE/g), settled).toHaveLength(2);
      expect(authority.isRotating).toBe(true);
      const late = await hosts.joined(two, 'worker');
      expect(roleOf(late)).toBe('active worker');
      worker.isCut = false;
      await expect.poll(() => authority.isRotating, settled).toBe(false);

      const own = createRoot(Date.now());
      await changeRoot(one, {
        wish: {
          signingCertPem: own.certificate.pem,
          signingKeyPem: own.key.export({ type: 'pkcs8', format: 'pem' }).toString(),
          forceRotate: 2,
          externals: [],
        },
      });
      await expect
        .poll(() => [one, two, worker, late].map(trusted), settled)
        .toEqual([1, 2, 3, 4].map(() => own.certificate.pem));
      await expect.poll(() => roleOf(two), settled).toBe('active manager');
      await two.restart();
      await expect.poll(() => roleOf(two), settled).toBe('active manager');
    },
  );

  test(
    '112: back to the old root in the middle of a rotation: nodes that have moved move back',
    SLOW,
    async () => {
      const one = await hosts.first();
      const two = await hosts.joined(one, 'manager');
      const worker = await hosts.joined(one, 'worker');
      const root = trusted(one);
      const { authority } = one.manager.context;
      // The concrete one has it: nothing of it is for clients.
      const { certPem, keyPem = '' } = (authority as typeof authority & { root(): RootState }).root();
      worker.isCut = true;
      await changeRoot(one, { wish: { forceRotate: 1, externals: [] } });
      // The certificate of the next root, and that root as the old one certifies it.
      await expect.poll(() => [one, two].map(certificatesOf), settled).toEqual([2, 2]);
      // The managers hear nothing of the worker's.
      expect(authority.isRotating).toBe(true);
      await changeRoot(one, {
        wish: { signingCertPem: certPem, signingKeyPem: keyPem, forceRotate: 1, externals: [] },
      });
      expect(authority.isRotating).toBe(false);
      worker.isCut = false;
      await expect.poll(() => [one, two, worker].map(certificatesOf), settled).toEqual([1, 1, 1]);
      expect([one, two, worker].map(trusted)).toEqual([root, root, root]);
      await two.restart();
      await expect.poll(() => roleOf(two), settled).toBe('active manager');
      expect(roleOf(await hosts.joined(two, 'worker'))).toBe('active worker');
    },
  );

  test(
    '114: locked managers: restart, wrong key, unlock, rotate, join while locked, unlocked again',
    SLOW,
    async () => {
      const one = await hosts.first({ AutoLockManagers: true });
      const key = await one.manager.context.authority.unlockKey();
      expect(key).toMatch(/^SWMKEY-1-/);
      expect(keysOf(one)).not.toContain('BEGIN PRIVATE KEY');
      expect(await failed(one.node.unlock(key))).toBe('conflict: swarm is not locked');
      await one.restart();
      expect(roleOf(one)).toBe('locked worker');
      expect(() => one.manager).toThrow(/Swarm is encrypted and needs to be unlocked before it can be used/);
      expect(await failed(one.node.leave({ force: false }))).toMatch(
        /^unavailable: Swarm is encrypted and locked/,
      );
      expect(await failed(one.node.unlock('x'))).toBe('invalid_argument: invalid key string');
      const wrong = `SWMKEY-1-${Buffer.alloc(32, 1).toString('base64').replace(/=+$/, '')}`;
      expect(await failed(one.node.unlock(wrong))).toBe(
        'unauthorized: swarm could not be unlocked: invalid key provided',
      );
      await one.node.unlock(key);
      await expect.poll(() => roleOf(one), settled).toBe('active manager');

      const two = await hosts.joined(one, 'manager');
      expect(keysOf(two)).not.toContain('BEGIN PRIVATE KEY');
      await changeRoot(one, { autoLock: true, rotateUnlockKey: true });
      const rotated = await one.manager.context.authority.unlockKey();
      expect(rotated).not.toBe(key);
      const sealedBefore = keysOf(two);
      await two.restart(() => expect(sealedBefore).not.toBe(''));
      expect(roleOf(two)).toBe('locked worker');
      await expect.poll(() => failed(two.node.unlock(rotated)), settled).toMatch(/answered|not locked/);
      await expect.poll(() => roleOf(two), settled).toBe('active manager');

      await changeRoot(two, { autoLock: false });
      await expect
        .poll(() => [one, two].map((node) => keysOf(node).includes('BEGIN PRIVATE KEY')), settled)
        .toEqual([true, true]);
      expect(await one.manager.context.authority.unlockKey()).toBe('');
    },
  );

  test('108: a certificate is renewed by the role that the store has', SLOW, async () => {
    const one = await hosts.first({ Spec: { CAConfig: { NodeCertExpiry: 3_600_000 * 1e6 } } });
    const worker = await hosts.joined(one, 'worker');
    const { cluster } = one.manager.context;
    const state = cluster.part('nodeState', worker.id)!;
    const before = keysOf(worker);
    const record = cluster.part('node', worker.id)!;
    await cluster.commit({
      conditions: [],
      parts: [
        // The wish, too: the leader takes a role back that nobody wishes.
        put('node', { ...record, spec: { ...record.spec, Role: 'manager' } }),
        put('nodeState', { ...state, role: 'manager' }),
      ],
    });
    await expect.poll(() => keysOf(worker) === before, settled).toBe(false);
    await expect.poll(() => roleOf(worker), settled).toBe('active manager');
  });
});
