import { disarm, failingAt } from './arm-file.ts';
import { afterAll, afterEach, beforeEach, expect, it } from 'vitest';
import type { EncryptedPath, OverlayGuard } from '../../../../runtime/network/overlay/settings.ts';
import { inNetworkNamespace } from '../../../../daemon/base/kernel/processes/namespaces.ts';
import { NETLINK } from '../../../../daemon/base/kernel/sockets/netlink.ts';
import { NetlinkSocket } from '../../../../runtime/network/netlink/netlink-socket.ts';
import {
  deletePolicy,
  getPolicies,
  isPolicy,
  requestOfPolicy,
  setPolicy,
} from '../../../../runtime/network/netlink/xfrm.ts';
import { ENCRYPTED_SOURCES } from '../../../../runtime/network/overlay/encryption/source-ports.ts';
import {
  AF,
  SOCK,
  closeSocket,
  connectSocket,
  ipv4SocketAddress,
  openSocket,
  sendDatagram,
} from '../../../../daemon/base/kernel/sockets/sockets.ts';
import { needs } from '../../../support/needs.ts';
import { until } from '../../../support/engine/http.ts';
import { NETWORK, TwoHosts, ip, overlay, peer, pings } from './two-hosts.ts';
import type { OverlayContainer, OverlayHost } from './two-hosts.ts';

const ADDRESSES = { a: '192.0.2.1', b: '192.0.2.2' } as const;
const VNI = 4097;
const PATHS: EncryptedPath[] = [
  { from: ip(ADDRESSES.a), to: ip(ADDRESSES.b), spi: 260, key: Buffer.alloc(20, 1) },
  { from: ip(ADDRESSES.b), to: ip(ADDRESSES.a), spi: 264, key: Buffer.alloc(20, 2) },
];

/** As the engine makes it on a kernel with ESP. */
const POLICY = { from: ip(ADDRESSES.a), port: 4789, sources: ENCRYPTED_SOURCES, request: 0x42000007 };

/** What every kernel with nftables and IPsec policies does, also one without ESP. */
needs(
  'root',
  'netns',
  'ip',
  'busybox',
)('the protection of overlay networks', () => {
  let hosts: TwoHosts;

  beforeEach(() => {
    hosts = new TwoHosts();
  });

  afterEach(() => {
    hosts[Symbol.dispose]();
  });

  afterAll(disarm);

  /** A network with a container on each host, which know each other. */
  function connected(encrypted: boolean): { a: OverlayContainer; b: OverlayContainer } {
    const [a, b] = (['a', 'b'] as const).map((name) => {
      const host = hosts[name];
      host.on((kernel) => kernel.overlays.guard(guardOf(name, { encrypted })));
      host.open(overlay(ADDRESSES[name], { encrypted }));
      return host.container(NETWORK, name === 'a' ? '10.20.0.2' : '10.20.0.3');
    });
    if (a === undefined || b === undefined) {
      throw new Error('there are two hosts');
    }
    hosts.a.on((kernel) => kernel.overlays.mendPeers(NETWORK, [peer(ADDRESSES.b, b)]));
    hosts.b.on((kernel) => kernel.overlays.mendPeers(NETWORK, [peer(ADDRESSES.a, a)]));
    return { a, b };
  }

  it('VXLAN of a network is taken from its hosts, and no longer from one that has left it', () => {
    const { a, b } = connected(false);
    expect(pings(a, '10.20.0.3')).toBe(true);
    hosts.b.on((kernel) => kernel.overlays.guard(guardOf('b', { hosts: [] })));
    expect(pings(a, '10.20.0.3')).toBe(false);
    hosts.b.on((kernel) => kernel.overlays.guard(guardOf('b')));
    expect(pings(b, '10.20.0.2')).toBe(true);
  });

  it('VXLAN of other identifiers at the same port passes: it is another program’s', async () => {
    connected(false);
    const { b } = hosts;
    b.on((kernel) => kernel.overlays.guard(guardOf('b', { hosts: [] })));
    const passed = counted(b, 'input');
    b.run('nft', 'add chain inet watch after { type filter hook input priority 0; }');
    b.run(
      'nft',
      'add counter inet watch left',
      ';',
      'add rule inet watch after udp dport 4789 counter name left',
    );
    inject(hosts.a, VNI);
    inject(hosts.a, VNI + 1);
    await until('both datagrams', () => passed() === 2);
    expect(b.run('nft', 'list', 'counter', 'inet', 'watch', 'left')).toContain('packets 1 ');
  });

  it('connection tracking of the hosts sees no VXLAN of a network, and that of other programs', async () => {
    const { a } = connected(false);
    const [atA, atB] = [trackedBy(hosts.a), trackedBy(hosts.b)];
    expect(pings(a, '10.20.0.3')).toBe(true);
    expect([atA(), atB()]).toEqual([0, 0]);
    inject(hosts.a, VNI + 1);
    await until('the datagram', () => atB() === 1);
    expect(atA()).toBe(1);
  });

  it('a host whose network is encrypted takes none of it in the open, and lets none out', async () => {
    const { a } = connected(true);
    const out = counted(hosts.a, 'egress');
    expect([pings(a, '10.20.0.3'), out()]).toEqual([false, 0]);
    // In the open, as from a host that does not know better.
    hosts.a.on((kernel) => kernel.overlays.guard(guardOf('a')));
    const taken = counted(hosts.b, 'input');
    expect(pings(a, '10.20.0.3')).toBe(false);
    expect([out() > 0, taken() > 0]).toEqual([true, true]);
    hosts.b.on((kernel) => kernel.overlays.guard(guardOf('b')));
    expect(pings(a, '10.20.0.3')).toBe(true);
  });

  it('the policy alone lets nothing out either, also without any rule; other networks pass', () => {
    const { a } = connected(true);
    ipsec(hosts.a, (socket) => socket.request('policy', [setPolicy(POLICY)]));
    for (const host of [hosts.a, hosts.b]) {
      host.run('nft', 'flush', 'ruleset');
    }
    const out = counted(hosts.a, 'egress');
    expect([pings(a, '10.20.0.3'), out()]).toEqual([false, 0]);
    hosts.a.open(overlay(ADDRESSES.a, { encrypted: false }));
    hosts.a.on((kernel) =>
      kernel.overlays.mendPeers(NETWORK, [
        { mac: Buffer.from('02420a140003', 'hex'), addresses: [ip('10.20.0.3')], host: ip(ADDRESSES.b) },
      ]),
    );
    pings(a, '10.20.0.3');
    expect(out()).toBeGreaterThan(0);
  });

  it('the policy is told by the kernel as it was made, is replaced, and goes', () => {
    const changed = { ...POLICY, request: 0x42000008 };
    const found = ipsec(hosts.a, (socket) => {
      socket.request('policy', [setPolicy(POLICY)]);
      const first = socket.dump('policies', getPolicies());
      socket.request('policy', [setPolicy(changed)]);
      const second = socket.dump('policies', getPolicies());
      socket.request('policy', second.map(deletePolicy));
      const third = socket.dump('policies', getPolicies());
      return [
        first.map((each) => [isPolicy(each, POLICY), isPolicy(each, changed), requestOfPolicy(each)]),
        second.map((each) => [isPolicy(each, POLICY), isPolicy(each, changed), requestOfPolicy(each)]),
        third,
      ];
    });
    expect(found).toEqual([[[true, false, 0x42000007]], [[false, true, 0x42000008]], []]);
  });

  it('a table that another program flushes is made again, and counts what it had', async () => {
    connected(true);
    const before = table(hosts.a);
    hosts.a.run('nft', 'flush', 'ruleset');
    await until('the table', () => hasTable(hosts.a));
    expect(table(hosts.a)).toBe(before);
    hosts.a.run('nft', `delete element ip t${hosts.a.prefix}_overlay encrypted { ${VNI} }`);
    await until('the element', () => table(hosts.a) === before);
  });

  it('the next daemon takes the table as it is, and removes what an earlier one left', () => {
    connected(true);
    const { a } = hosts;
    const before = table(a);
    a.restart();
    expect(table(a)).toBe(before);
    a.on((kernel) => kernel.overlays.guard(guardOf('a', { encrypted: true })));
    expect(table(a)).toBe(before);
    a.restart();
    a.on((kernel) => kernel.overlays.guard(undefined));
    expect(hasTable(a)).toBe(false);
  });

  it('an underlay of IPv6 has a table of IPv6 alone', () => {
    const { a } = hosts;
    a.on((kernel) => kernel.overlays.guard(guardOf('a')));
    a.on((kernel) =>
      kernel.overlays.guard({ ...guardOf('a', { hosts: [ip('2001:db8::2')] }), local: ip('2001:db8::1') }),
    );
    expect(a.run('nft', 'list', 'ruleset')).toContain('2001:db8::2 . 0x1001');
    expect(hasTable(a)).toBe(false);
  });

  it('encrypted networks leave room for ESP, and have source ports of their own', () => {
    const { a } = hosts;
    a.open(overlay(ADDRESSES.a, { encrypted: true }));
    expect(a.inside(NETWORK, 'ip', '-d', 'link', 'show', 'type', 'vxlan')).toMatch(
      /mtu 1416 .* srcport 49152 57343 dstport 4789 /s,
    );
    a.open(overlay(ADDRESSES.a));
    expect(a.inside(NETWORK, 'ip', '-d', 'link', 'show', 'type', 'vxlan')).toMatch(
      /mtu 1450 .* srcport 57344 65535 dstport 4789 /s,
    );
  });

  it.each([
    'overlay.guard.rebuild',
    'overlay.guard.change',
    'overlay.guard.remove',
    'overlay.encrypt.probe',
    'overlay.encrypt.stop',
  ])('at %s fails, and is done by the next attempt', async (step) => {
    const { a } = hosts;
    const guard = guardOf('a', { encrypted: true });
    const steps = (): void =>
      a.on((kernel) => {
        kernel.overlays.guard({ ...guard, networks: [] });
        kernel.overlays.guard(guard);
        try {
          kernel.overlays.encrypt({ local: guard.local, port: 4789, paths: PATHS });
        } catch (error) {
          if (!String(error).includes('no ESP')) {
            throw error;
          }
        }
        kernel.overlays.guard(undefined);
      });
    await expect(failingAt(step, steps)).rejects.toThrow(step);
    steps();
    expect([hasTable(a), a.run('ip', 'xfrm', 'policy'), a.run('ip', 'xfrm', 'state')]).toEqual([
      false,
      '',
      '',
    ]);
  });

  it('at overlay.guard.mend it is mended at the next look', async () => {
    const { a } = hosts;
    a.on((kernel) => kernel.overlays.guard(guardOf('a')));
    await failingAt('overlay.guard.mend', async () => {
      a.run('nft', 'flush', 'ruleset');
      await new Promise((resolve) => void setTimeout(resolve, 300));
      expect(hasTable(a)).toBe(false);
    });
    await until('the table', () => hasTable(a));
  });

  it('a kernel without ESP says so, and takes no key', () => {
    const { a } = hosts;
    const encrypt = (): number =>
      a.on((kernel) => kernel.overlays.encrypt({ local: ip(ADDRESSES.a), port: 4789, paths: PATHS }));
    if (hasEsp(a)) {
      expect([encrypt(), encrypt()]).toEqual([3, 0]);
    } else {
      expect(encrypt).toThrow(
        'the kernel of this node has no ESP (IPsec) with AES-GCM, which encryption needs',
      );
      expect(a.run('ip', 'xfrm', 'state')).toBe('');
    }
  });
});

function guardOf(of: 'a' | 'b', given: Partial<OverlayGuard['networks'][0]> = {}): OverlayGuard {
  const other = of === 'a' ? ADDRESSES.b : ADDRESSES.a;
  return {
    local: ip(ADDRESSES[of]),
    port: 4789,
    networks: [{ vni: VNI, encrypted: false, hosts: [ip(other)], ...given }],
  };
}

function table(host: OverlayHost): string {
  return host.run('nft', '-s', 'list', 'table', 'ip', `t${host.prefix}_overlay`);
}

/** Datagrams to UDP port 4789 that leave or reach a host in the open. */
function counted(host: OverlayHost, hook: 'input' | 'egress'): () => number {
  const chain = hook === 'input' ? 'hook input priority -400' : 'hook egress device "wire" priority 0';
  const family = hook === 'input' ? 'inet' : 'netdev';
  host.run(
    'nft',
    `table ${family} watch { counter seen { }; chain c { type filter ${chain}; udp dport 4789 counter name seen; }; }`,
  );
  return () => {
    const text = host.run('nft', 'list', 'counter', family, 'watch', 'seen');
    return Number(/packets (\d+)/.exec(text)?.[1]);
  };
}

/** Counts datagrams to UDP port 4789 that connection tracking knows, out of a host and into it. */
function trackedBy(host: OverlayHost): () => number {
  const counts = 'udp dport 4789 ct state new,established counter name known;';
  const chains = ['input', 'output'].map(
    (hook) => `chain ${hook} { type filter hook ${hook} priority 0; ${counts} };`,
  );
  host.run('nft', `table inet tracked { counter known { }; ${chains.join(' ')} }`);
  return () =>
    Number(/packets (\d+)/.exec(host.run('nft', 'list', 'counters', 'table', 'inet', 'tracked'))?.[1]);
}

function hasTable(host: OverlayHost): boolean {
  return host.run('nft', 'list', 'tables').includes(`table ip t${host.prefix}_overlay`);
}

function hasEsp(host: OverlayHost): boolean {
  const state = ['src', '10.0.0.1', 'dst', '10.0.0.2', 'proto', 'esp', 'spi', '0x999'];
  const key = `0x${'01'.repeat(20)}`;
  try {
    host.run(
      'ip',
      'xfrm',
      'state',
      'add',
      ...state,
      'mode',
      'transport',
      'aead',
      'rfc4106(gcm(aes))',
      key,
      '128',
    );
    host.run('ip', 'xfrm', 'state', 'delete', ...state);
    return true;
  } catch {
    return false;
  }
}

function ipsec<T>(host: OverlayHost, work: (socket: NetlinkSocket) => T): T {
  return inNetworkNamespace(host.netns, () => {
    using socket = new NetlinkSocket(NETLINK.xfrm);
    return work(socket);
  });
}

/** A datagram that looks like VXLAN, from a port of this test. */
function inject(from: OverlayHost, vni: number): void {
  const header = Buffer.alloc(8);
  header.writeUInt8(8, 0);
  header.writeUIntBE(vni, 4, 3);
  inNetworkNamespace(from.netns, () => {
    const fd = openSocket('test', AF.inet, SOCK.datagram, 0);
    connectSocket('test', fd, ipv4SocketAddress(Number(ip(ADDRESSES.b)), 4789));
    sendDatagram('test', fd, Buffer.concat([header, Buffer.alloc(60)]));
    closeSocket(fd);
  });
}
