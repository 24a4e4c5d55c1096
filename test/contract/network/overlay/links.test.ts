import { afterAll, beforeAll, expect, it } from 'vitest';
import { needs } from '../../../support/needs.ts';
import { NETWORK, OverlayHost, TwoHosts, UNDERLAY_MTU, ip, overlay, peer, pings } from './two-hosts.ts';
import type { OverlayContainer } from './two-hosts.ts';

const OTHER = 'ot0000000000000000000000n';
const OVER_IPV6 = 'v60000000000000000000000n';

needs(
  'root',
  'netns',
  'ip',
  'busybox',
)('an overlay network between two hosts', () => {
  let hosts: TwoHosts;
  let one: OverlayContainer;
  let two: OverlayContainer;
  let three: OverlayContainer;

  beforeAll(() => {
    hosts = new TwoHosts();
    const { a, b } = hosts;
    const dual = {
      gateways: [
        { address: ip('10.20.0.1'), prefixLength: 16 },
        { address: ip('fd20::1'), prefixLength: 64 },
      ],
    };
    a.open(overlay('192.0.2.1', dual));
    b.open(overlay('192.0.2.2', dual));
    one = a.container(NETWORK, '10.20.0.3', 'fd20::3');
    two = b.container(NETWORK, '10.20.0.4', 'fd20::4');
    three = a.container(NETWORK, '10.20.0.5', 'fd20::5');
    a.kernel.overlays.changePeers(NETWORK, { add: [peer('192.0.2.2', two)], remove: [] });
    b.kernel.overlays.changePeers(NETWORK, {
      add: [peer('192.0.2.1', one), peer('192.0.2.1', three)],
      remove: [],
    });
  });

  afterAll(() => {
    hosts[Symbol.dispose]();
  });

  it('carries packets of any size between containers, on one host and across, and none to the host', async () => {
    await expect.poll(() => pings(one, '10.20.0.4')).toBe(true);
    await expect.poll(() => pings(two, '10.20.0.5')).toBe(true);
    await expect.poll(() => pings(one, '10.20.0.5')).toBe(true);
    await expect.poll(() => pings(one, '10.20.0.1')).toBe(true);
    // The largest packet of a container fits into one between the hosts.
    expect(pings(one, '10.20.0.4', '-s', String(UNDERLAY_MTU - 50 - 28))).toBe(true);
    expect(pings(one, '10.20.0.4', '-s', '20000')).toBe(true);
    expect(hosts.a.fragments()).toBe(0);
    expect(pings(one, '192.0.2.1')).toBe(false);
    expect(hosts.a.run('ip', '-br', 'link')).not.toContain(hosts.a.prefix);
  });

  it('carries IPv6 as well, where the network has it', async () => {
    await expect.poll(() => pings(one, 'fd20::4', '-6')).toBe(true);
    await expect.poll(() => pings(two, 'fd20::5', '-6')).toBe(true);
    await expect.poll(() => pings(one, 'fd20::5', '-6')).toBe(true);
    await expect.poll(() => pings(one, 'fd20::1', '-6')).toBe(true);
    expect(pings(one, 'fd20::4', '-6', '-s', '5000')).toBe(true);
  });

  it('leads nowhere from a container that has no peer entry, and no longer to one whose entry is gone', async () => {
    const { a, b } = hosts;
    const four = b.container(NETWORK, '10.20.0.6');
    b.kernel.overlays.changePeers(NETWORK, { add: [], remove: [peer('192.0.2.1', three)] });
    expect(pings(four, '10.20.0.5')).toBe(false);
    expect(pings(one, '10.20.0.6')).toBe(false);
    a.kernel.overlays.changePeers(NETWORK, { add: [peer('192.0.2.2', four)], remove: [] });
    b.kernel.overlays.changePeers(NETWORK, { add: [peer('192.0.2.1', three)], remove: [] });
    await expect.poll(() => pings(one, '10.20.0.6')).toBe(true);
    b.on((kernel) => {
      kernel.close(four.id, [four.endpointId]);
    });
    expect(pings(one, '10.20.0.6')).toBe(false);
    // The address comes back on this host, before anything has timed out.
    a.kernel.overlays.changePeers(NETWORK, { add: [], remove: [peer('192.0.2.2', four)] });
    a.container(NETWORK, '10.20.0.6');
    await expect.poll(() => pings(one, '10.20.0.6')).toBe(true);
  });

  it('lies over IPv6 as well, at the same port', async () => {
    const { a, b } = hosts;
    const changes = { networkId: OVER_IPV6, vni: 4098 };
    a.open(overlay('2001:db8::1', changes));
    b.open(overlay('2001:db8::2', changes));
    const left = a.container(OVER_IPV6, '10.20.0.3');
    const right = b.container(OVER_IPV6, '10.20.0.4');
    a.kernel.overlays.changePeers(OVER_IPV6, { add: [peer('2001:db8::2', right)], remove: [] });
    b.kernel.overlays.changePeers(OVER_IPV6, { add: [peer('2001:db8::1', left)], remove: [] });
    await expect.poll(() => pings(left, '10.20.0.4')).toBe(true);
    expect(pings(left, '10.20.0.4', '-s', String(UNDERLAY_MTU - 70 - 28))).toBe(true);
    expect(a.run('grep', 'Ip6FragCreates', '/proc/net/snmp6')).toMatch(/\s0$/);
    expect(a.inside(OVER_IPV6, 'ip', '-o', 'link', 'show', 'br0')).toContain(`mtu ${UNDERLAY_MTU - 70} `);
    expect(a.kernel.overlays.mendPeers(OVER_IPV6, [peer('2001:db8::2', right)])).toBe(0);
  });

  it('is kept apart from that of another instance on the host, which has a port of its own', async () => {
    const { directory, namespaces } = hosts;
    using c = new OverlayHost({ namespaces, directory, name: 'a', prefix: 'boc' });
    using d = new OverlayHost({ namespaces, directory, name: 'b', prefix: 'bod' });
    c.open(overlay('192.0.2.1', { port: 4790 }));
    d.open(overlay('192.0.2.2', { port: 4790 }));
    const left = c.container(NETWORK, '10.20.0.3');
    const right = d.container(NETWORK, '10.20.0.7');
    c.kernel.overlays.changePeers(NETWORK, { add: [peer('192.0.2.2', right)], remove: [] });
    d.kernel.overlays.changePeers(NETWORK, { add: [peer('192.0.2.1', left)], remove: [] });
    await expect.poll(() => pings(left, '10.20.0.7')).toBe(true);
    expect(pings(one, '10.20.0.7')).toBe(false);
    expect(pings(left, '10.20.0.4')).toBe(false);
    await c.kernel.overlays.closeOverlay(NETWORK);
    await d.kernel.overlays.closeOverlay(NETWORK);
    expect(hosts.a.kernel.overlays.overlays().toSorted()).toEqual([NETWORK, OVER_IPV6].toSorted());
  });

  it('says what the host has no room for, and leaves nothing', async () => {
    const { a } = hosts;
    const open =
      (changes: Parameters<typeof overlay>[1], local = '192.0.2.1') =>
      () => {
        a.open(overlay(local, { networkId: OTHER, ...changes }));
      };
    expect(open({ vni: 4097 })).toThrow(
      `overlay network ${OTHER}: VXLAN network identifier 4097 is in use on this host at UDP port 4789`,
    );
    const port = { protocol: 'udp', hostAddress: 0, hostPort: 4795 } as const;
    a.on((kernel) => {
      kernel.reserve(port);
    });
    expect(open({ vni: 4099, port: 4795 })).toThrow(
      `overlay network ${OTHER}: UDP port 4795, the data path port, is in use by another program on this host`,
    );
    a.kernel.release(port);
    expect(open({ vni: 4099 }, '198.51.100.1')).toThrow(
      `overlay network ${OTHER}: no interface of this host has the data path address 198.51.100.1`,
    );
    expect(a.kernel.overlays.overlays()).not.toContain(OTHER);
    const sandboxes = a.sandboxNamespaces.list();
    expect(() => a.container(OTHER, '10.20.0.9')).toThrow(`overlay network ${OTHER} is not on this host`);
    expect(a.sandboxNamespaces.list()).toEqual(sandboxes);
    open({ vni: 4099, port: 4795, mtu: 1280 })();
    expect(a.inside(OTHER, 'ip', '-o', 'link', 'show', 'br0')).toContain('mtu 1280 ');
    await a.kernel.overlays.closeOverlay(OTHER);
    // Both are free at once.
    open({ vni: 4099, port: 4795 })();
    await a.kernel.overlays.closeOverlay(OTHER);
  });
});
