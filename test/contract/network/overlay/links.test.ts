import { afterAll, beforeAll, expect, it } from 'vitest';
import { needs } from '../../../support/needs.ts';
import { NETWORK, TwoHosts, UNDERLAY_MTU, overlay, peer, pings } from './two-hosts.ts';
import type { OverlayContainer } from './two-hosts.ts';

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
    a.on((kernel) => {
      kernel.overlays.openOverlay(overlay('192.0.2.1'));
    });
    b.on((kernel) => {
      kernel.overlays.openOverlay(overlay('192.0.2.2'));
    });
    one = a.container(NETWORK, '10.20.0.3');
    two = b.container(NETWORK, '10.20.0.4');
    three = a.container(NETWORK, '10.20.0.5');
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
    // The largest packet of a container fits into one between the hosts.
    expect(pings(one, '10.20.0.4', '-s', String(UNDERLAY_MTU - 50 - 28))).toBe(true);
    expect(pings(one, '10.20.0.4', '-s', '20000')).toBe(true);
    expect(hosts.a.fragments()).toBe(0);
    expect(pings(one, '192.0.2.1')).toBe(false);
    expect(hosts.a.run('ip', '-br', 'link')).not.toContain(hosts.a.prefix);
  });
});
