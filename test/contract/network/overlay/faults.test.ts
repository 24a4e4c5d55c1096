import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { disarm, failingAt } from './arm-file.ts';
import { afterAll, afterEach, beforeEach, expect, it } from 'vitest';
import { needs } from '../../../support/needs.ts';
import { NETWORK, TwoHosts, overlay, peer, pings } from './two-hosts.ts';

const OPEN_STEPS = [
  'overlay.open.netns',
  'overlay.open.settings',
  'overlay.open.bridge',
  'overlay.open.vxlan',
  'overlay.open.up',
  'overlay.open.address',
];

needs(
  'root',
  'netns',
  'ip',
  'busybox',
)('an overlay network that is interrupted', () => {
  let hosts: TwoHosts;

  beforeEach(() => {
    hosts = new TwoHosts();
  });

  afterEach(() => {
    hosts[Symbol.dispose]();
  });

  afterAll(disarm);

  /** Our ends of containers' interfaces. */
  function veths(): string[] {
    return (
      hosts.a.inside(NETWORK, 'ip', '-o', 'link', 'show', 'type', 'veth').match(/boa[0-9a-f]{10}/g) ?? []
    );
  }

  it.each(OPEN_STEPS)('at %s leaves nothing, and the next attempt succeeds at once', async (step) => {
    const { a } = hosts;
    await expect(
      failingAt(step, () => {
        a.open(overlay('192.0.2.1'));
      }),
    ).rejects.toThrow(step);
    expect(a.kernel.overlays.overlays()).toEqual([]);
    a.open(overlay('192.0.2.1'));
    expect(a.kernel.overlays.mendPeers(NETWORK, [])).toBe(0);
  });

  it.each(['overlay.close.vxlan', 'overlay.close.netns'])(
    'at %s can be closed again, by the next engine as well',
    async (step) => {
      const { a } = hosts;
      a.open(overlay('192.0.2.1'));
      await expect(failingAt(step, () => a.kernel.overlays.closeOverlay(NETWORK))).rejects.toThrow(step);
      a.restart();
      expect(a.kernel.overlays.overlays()).toEqual([NETWORK]);
      await a.kernel.overlays.closeOverlay(NETWORK);
      await a.kernel.overlays.closeOverlay(NETWORK);
      expect(a.kernel.overlays.overlays()).toEqual([]);
      a.open(overlay('192.0.2.1'));
    },
  );

  it('at a change of its peers is whole after they were compared', async () => {
    const { a } = hosts;
    a.open(overlay('192.0.2.1'));
    const old = peer('192.0.2.2', { mac: Buffer.from('02420a140009', 'hex'), addresses: [0x0a140009] });
    const one = peer('192.0.2.2', { mac: Buffer.from('02420a140008', 'hex'), addresses: [0x0a140008] });
    const { overlays } = a.kernel;
    overlays.changePeers(NETWORK, { add: [old], remove: [] });
    for (const step of ['overlay.peers.remove', 'overlay.peers.add']) {
      await expect(
        failingAt(step, () => {
          overlays.changePeers(NETWORK, { add: [one], remove: [old] });
        }),
      ).rejects.toThrow(step);
    }
    await expect(failingAt('overlay.peers.mend', () => overlays.mendPeers(NETWORK, [one]))).rejects.toThrow(
      'overlay.peers.mend',
    );
    expect(overlays.mendPeers(NETWORK, [one])).toBe(2);
    expect(overlays.mendPeers(NETWORK, [one])).toBe(0);
  });

  it('at an interface of a container leaves no interface', async () => {
    const { a } = hosts;
    a.open(overlay('192.0.2.1'));
    for (const step of ['overlay.attach.veth', 'network.open.address']) {
      await expect(failingAt(step, () => a.container(NETWORK, '10.20.0.3'))).rejects.toThrow(step);
      await expect.poll(veths).toEqual([]);
    }
    const one = a.container(NETWORK, '10.20.0.3');
    expect(veths()).toHaveLength(1);
    await expect(
      failingAt('overlay.detach.cut', () => {
        a.on((kernel) => {
          kernel.close(one.id, [one.endpointId]);
        });
      }),
    ).rejects.toThrow('overlay.detach.cut');
    await a.on((kernel) => kernel.detachInterface(one.id, one.endpointId));
    expect(veths()).toEqual([]);
  });

  it('by the end of the engine keeps what lives, and nothing else', async () => {
    const { a } = hosts;
    a.open(overlay('192.0.2.1'));
    const live = a.container(NETWORK, '10.20.0.3');
    const other = a.container(NETWORK, '10.20.0.4');
    const dead = a.container(NETWORK, '10.20.0.5');
    const kept = [live, other].map(({ id, endpointId }) => ({
      id,
      endpoints: [],
      overlays: [{ endpointId, networkId: NETWORK, addresses: [] }],
      children: undefined,
    }));
    // A process still holds the dead one's namespace.
    const fd = a.sandboxNamespaces.open(dead.id);
    a.restart();
    await expect(
      failingAt('overlay.restore.link', () => a.on((kernel) => kernel.sweep([], [], kept))),
    ).rejects.toThrow('overlay.restore.link');
    await a.on((kernel) => kernel.sweep([], [], kept));
    a.open(overlay('192.0.2.1'));
    await expect.poll(() => veths().length).toBe(2);
    fd.close();
    expect(a.sandboxNamespaces.list().toSorted()).toEqual([live.id, other.id].toSorted());
    await expect.poll(() => pings(live, '10.20.0.4')).toBe(true);
    await a.on((kernel) => kernel.detachInterface(other.id, other.endpointId));
    expect(veths()).toHaveLength(1);
    await a.kernel.overlays.closeOverlay(NETWORK);
    await expect
      .poll(() => hosts.a.run('nsenter', `--net=${live.netns}`, 'ip', '-o', 'link').split('\n').length)
      .toBe(1);
  });

  it('is made whole by another openOverlay: devices missing, down or of another kind', async () => {
    const { a, b } = hosts;
    a.open(overlay('192.0.2.1'));
    b.open(overlay('192.0.2.2'));
    const one = a.container(NETWORK, '10.20.0.3');
    const two = b.container(NETWORK, '10.20.0.4');
    const peers = [peer('192.0.2.2', two)];
    a.kernel.overlays.changePeers(NETWORK, { add: peers, remove: [] });
    b.kernel.overlays.changePeers(NETWORK, { add: [peer('192.0.2.1', one)], remove: [] });
    await expect.poll(() => pings(one, '10.20.0.4')).toBe(true);

    const before = a.inside(NETWORK, 'ip', '-br', 'link');
    a.open(overlay('192.0.2.1'));
    expect(a.inside(NETWORK, 'ip', '-br', 'link')).toBe(before);
    expect(a.kernel.overlays.mendPeers(NETWORK, peers)).toBe(0);

    const vxlan = /boaov\S+?(?=@)/.exec(before)?.[0] ?? '';
    for (const damage of [
      ['ip', 'link', 'delete', 'br0'],
      ['ip', 'link', 'set', 'br0', 'down'],
      ['ip', 'link', 'set', vxlan, 'down'],
      ['ip', 'link', 'set', vxlan, 'nomaster'],
      ['ip', 'link', 'set', vxlan, 'mtu', '1300'],
      ['ip', 'link', 'delete', vxlan],
    ]) {
      a.inside(NETWORK, ...damage);
      a.open(overlay('192.0.2.1'));
      a.kernel.overlays.mendPeers(NETWORK, peers);
      await expect
        .poll(() => pings(one, '10.20.0.4', '-s', '1422'), { message: damage.join(' ') })
        .toBe(true);
    }
    // As another identifier, and with another address, on both.
    for (const vni of [4100, 4101]) {
      a.open(overlay('192.0.2.1', { vni }));
      b.open(overlay('192.0.2.2', { vni }));
      a.kernel.overlays.mendPeers(NETWORK, peers);
      b.kernel.overlays.mendPeers(NETWORK, [peer('192.0.2.1', one)]);
      await expect.poll(() => pings(one, '10.20.0.4')).toBe(true);
    }
  });

  it('before its namespace was pinned, or by a restart of the host, is made anew', async () => {
    const { a } = hosts;
    const file = a.overlayNamespaces.path(NETWORK);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, '');
    expect(a.kernel.overlays.overlays()).toEqual([NETWORK]);
    a.open(overlay('192.0.2.1'));
    await a.kernel.overlays.closeOverlay(NETWORK);
    writeFileSync(file, '');
    await a.kernel.overlays.closeOverlay(NETWORK);
    expect(a.kernel.overlays.overlays()).toEqual([]);
  });

  it('by a call for it while it is being closed says so', async () => {
    const { a } = hosts;
    a.open(overlay('192.0.2.1'));
    const closed = a.kernel.overlays.closeOverlay(NETWORK);
    expect(() => {
      a.open(overlay('192.0.2.1'));
    }).toThrow(`overlay network ${NETWORK} is being removed from this host`);
    await closed;
    expect(() => a.kernel.overlays.mendPeers(NETWORK, [])).toThrow(
      `overlay network ${NETWORK} is not on this host`,
    );
  });
});
