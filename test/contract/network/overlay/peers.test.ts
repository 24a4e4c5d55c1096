import { afterAll, beforeAll, expect, it } from 'vitest';
import type { OverlayPeer } from '../../../../runtime/network/overlay/settings.ts';
import { needs } from '../../../support/needs.ts';
import { NETWORK, TwoHosts, ip, macOf, overlay, peer, pings } from './two-hosts.ts';

const MANY = 10_000;
/** 0.1 to 0.3 s are usual. */
const BATCH_MS = 10_000;

needs(
  'root',
  'netns',
  'ip',
  'busybox',
)('peers of an overlay network', () => {
  let hosts: TwoHosts;

  beforeAll(() => {
    hosts = new TwoHosts();
    const gateways = [
      { address: ip('10.20.0.1'), prefixLength: 16 },
      { address: ip('fd20::1'), prefixLength: 64 },
    ];
    hosts.a.open(overlay('192.0.2.1', { gateways }));
    hosts.b.open(overlay('192.0.2.2'));
  });

  afterAll(() => {
    hosts[Symbol.dispose]();
  });

  function change(add: readonly OverlayPeer[], remove: readonly OverlayPeer[] = []): void {
    hosts.a.kernel.overlays.changePeers(NETWORK, { add, remove });
  }

  function mend(peers: readonly OverlayPeer[]): number {
    return hosts.a.kernel.overlays.mendPeers(NETWORK, peers);
  }

  function inside(...argv: string[]): string {
    return hosts.a.inside(NETWORK, ...argv);
  }

  it('are set, compared and removed by the ten thousand', () => {
    const peers = Array.from({ length: MANY }, (_, index) =>
      numbered(index + 1000, index % 2 === 0 ? '192.0.2.2' : '192.0.2.3'),
    );
    const since = performance.now();
    change(peers);
    expect(performance.now() - since).toBeLessThan(BATCH_MS);
    expect(inside('bridge', 'fdb').match(/ dst 192\.0\.2\.[23] /g)).toHaveLength(MANY);
    expect(inside('ip', 'neigh').match(/PERMANENT/g)).toHaveLength(MANY);
    expect(mend(peers)).toBe(0);
    // Once more, all of them: nothing is wrong with that.
    change(peers);
    expect(mend(peers)).toBe(0);
    change([], peers);
    expect(mend([])).toBe(0);
    expect(inside('bridge', 'fdb')).not.toMatch(/ dst /);
    // Gone already.
    change([], peers);
  });

  it('are mended where another program deleted or changed them, or made some', () => {
    const peers = [1, 2, 3, 4, 5].map(dual);
    change(peers);
    expect(mend(peers)).toBe(0);
    const device = /dev (\S+) dst/.exec(inside('bridge', 'fdb'))?.[1] ?? '';
    const mac = (number: number): string =>
      peers[number - 1]?.mac.toString('hex').replaceAll(/..(?=.)/g, '$&:') ?? '';
    inside('bridge', 'fdb', 'del', mac(1), 'dev', device, 'self');
    inside('bridge', 'fdb', 'replace', mac(2), 'dev', device, 'dst', '192.0.2.9', 'self');
    // A second host for one MAC: frames would go to both.
    inside('bridge', 'fdb', 'append', '00:00:00:00:00:00', 'dev', device, 'dst', '192.0.2.9', 'self');
    inside('bridge', 'fdb', 'append', '00:00:00:00:00:00', 'dev', device, 'dst', '192.0.2.8', 'self');
    inside('bridge', 'fdb', 'add', '02:42:01:01:01:01', 'dev', device, 'dst', '192.0.2.9', 'self');
    inside('ip', 'neigh', 'del', '10.20.1.3', 'dev', device);
    inside('ip', 'neigh', 'replace', '10.20.1.4', 'lladdr', mac(5), 'dev', device, 'nud', 'permanent');
    inside('ip', 'neigh', 'add', '10.20.9.9', 'lladdr', mac(5), 'dev', device, 'nud', 'permanent');
    inside('ip', 'neigh', 'del', 'fd20::1:5', 'dev', device);
    // Two forwarding entries, the one for all MACs and a foreign one; four neighbours.
    expect(mend(peers)).toBe(8);
    expect(mend(peers)).toBe(0);
    expect(inside('bridge', 'fdb').match(/ dst 192\.0\.2\.2 /g)).toHaveLength(5);
    expect(inside('bridge', 'fdb')).not.toMatch(/192\.0\.2\.[89]/);
    change([], peers);
  });

  it('move from one host to another in one change', async () => {
    const moving = numbered(500, '192.0.2.77');
    change([moving]);
    const two = hosts.b.container(NETWORK, '10.20.0.4');
    const one = hosts.a.container(NETWORK, '10.20.0.3');
    hosts.b.kernel.overlays.changePeers(NETWORK, { add: [peer('192.0.2.1', one)], remove: [] });
    const elsewhere = peer('192.0.2.77', two);
    change([elsewhere], [moving]);
    expect(pings(one, '10.20.0.4')).toBe(false);
    change([peer('192.0.2.2', two)], [elsewhere]);
    await expect.poll(() => pings(one, '10.20.0.4')).toBe(true);
    expect(mend([peer('192.0.2.2', two)])).toBe(0);
  });
});

function numbered(number: number, host: string): OverlayPeer {
  const address = ip(`10.20.${Math.floor(number / 256)}.${number % 256}`);
  return { mac: macOf([address]), addresses: [address], host: ip(host) };
}

function dual(number: number): OverlayPeer {
  return {
    ...numbered(number, '192.0.2.2'),
    addresses: [ip(`10.20.1.${number}`), ip(`fd20::1:${number}`)],
  };
}
