import { execFileSync } from 'node:child_process';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { limits } from '../../daemon/base/limits.ts';
import { until } from '../support/engine/http.ts';
import { needsEngine } from '../support/needs.ts';
import { EncryptedPair, type NetworkName } from './swarm/encrypted-pair.ts';
import { soon } from './swarm/host-swarm.ts';

/** A bit more than each key is the next one for. */
const PERIOD_S = limits.swarmNetworkKeyMs / 1000 + 60;

/** By rotation, the numbers of the keys that the two nodes send with, and of those that either takes. */
const RINGS = [
  [
    ['00000105', '00000109'],
    ['00000105 00000106', '00000109 0000010a'],
  ],
  [
    ['00000106', '0000010a'],
    ['00000105 00000106 00000107', '00000109 0000010a 0000010b'],
  ],
  [
    ['00000107', '0000010b'],
    ['00000104 00000106 00000107', '00000108 0000010a 0000010b'],
  ],
] as const;

/**
 * Two daemons in namespaces of one guest, whose kernel has ESP. What the kernel does with keys is in
 * `encrypted.test.ts`; here managers make and rotate them, and tasks of a service talk. The tests build on each other.
 */
for (const [family, addresses] of [
  ['IPv4', '10.77.0.'],
  ['IPv6', 'fd77::'],
] as const) {
  needsEngine('guest', 'etcd')(`an encrypted network of two daemons over ${family}`, () => {
    let pair: EncryptedPair;
    let ahead = 0;

    beforeAll(async () => {
      pair = await EncryptedPair.start(addresses);
    });
    afterAll(async () => {
      await pair[Symbol.asyncDispose]();
      setClock(-ahead);
    });

    /** Tasks of both nodes get the page from each other and from the service; answers what passed the cable. */
    const talk = async (network: NetworkName): Promise<Set<string>> => {
      const watched = await pair.watch(2);
      for (const [from, to] of [
        [1, 2],
        [2, 1],
      ] as const) {
        await pair.page(pair.end(from), pair.end(to).address[network]);
        // In turns: one of the two answers is the other node's.
        await pair.page(pair.end(from), pair.vip[network]);
        await pair.page(pair.end(from), pair.vip[network]);
      }
      // The cable keeps the order: all that was before this has been seen when this is.
      const last = `vxlan ${pair.vni.open}`;
      const before = watched.lines.length;
      await pair.say(pair.end(1), pair.end(2), 'open', 'last');
      await until('the last packet', () => watched.lines.slice(before).includes(last));
      const end = before + watched.lines.slice(before).indexOf(last);
      const lines = await watched.end();
      return new Set(network === 'open' ? lines : lines.slice(0, end));
    };

    test('tasks of both nodes answer each other, directly and behind the virtual address', async () => {
      for (const network of ['secret', 'open'] as const) {
        await soon(`answers in ${network}`, async () => {
          const asked = [pair.end(1), pair.end(2)].flatMap((from) =>
            [...pair.ends.map(({ address }) => address[network]), pair.vip[network]].map((address) =>
              pair.page(from, address),
            ),
          );
          return (await Promise.allSettled(asked)).every(({ status }) => status === 'fulfilled');
        });
      }
    });

    test('the cable carries ESP alone, with a key for each direction, whole; of the other network VXLAN', async () => {
      // The first key of the ring; 65 and 66 are the nodes.
      expect(await talk('secret')).toEqual(new Set(['esp 00000105', 'esp 00000109']));
      expect(await talk('open')).toEqual(new Set([`vxlan ${pair.vni.open}`, 'readable']));
    });

    test.each([
      ['open', ['forged', 'real']],
      ['secret', ['real']],
    ] as const)(
      'a frame for the network %s that comes unencrypted from a node: %j',
      async (network, heard) => {
        for (const [from, to] of [
          [pair.end(1), pair.end(2)],
          [pair.end(2), pair.end(1)],
        ] as const) {
          const at = await pair.hear(to);
          await pair.forge(from, to, network, 'forged');
          await pair.say(from, to, network, 'real');
          await until('the datagram', () => at.lines.includes('real'));
          expect(await at.end()).toEqual(heard);
        }
      },
    );

    test('rotations under load: no request fails, and both nodes send with the next key', async () => {
      const loads = [
        await pair.load(pair.end(1), pair.end(2).address.secret),
        await pair.load(pair.end(2), pair.end(1).address.secret),
        await pair.load(pair.end(1), pair.vip.secret),
      ];
      for (const [place, [out, taken]] of RINGS.entries()) {
        if (place > 0) {
          setClock(PERIOD_S);
          ahead += PERIOD_S;
        }
        await soon(`keys ${out.join()}`, async () => {
          const keys = await Promise.all([pair.keys(1), pair.keys(2)]);
          const found = [keys.map((each) => each.out.join(' ')), keys.map((each) => each.in.join(' '))];
          return found.map((each) => each.toSorted().join()).join(';') === [out, taken].join(';');
        });
        expect(await talk('secret')).toEqual(new Set(out.map((spi) => `esp ${spi}`)));
      }
      for (const load of loads) {
        const [count, ...failed] = (await load.end('SIGTERM')).toReversed();
        expect([failed, Number(count) > 20]).toEqual([[], true]);
      }
    });
  });
}

/** Moves the guest's clock. */
function setClock(seconds: number): void {
  execFileSync('date', ['--set', `@${Math.round(Date.now() / 1000 + seconds)}`], { stdio: 'ignore' });
}
