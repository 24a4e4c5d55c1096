import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { disarm, failingAt } from './arm-file.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { declare } from '../../../../daemon/base/kernel/libc.ts';
import { silentLogger } from '../../../../daemon/base/logger.ts';
import { Balancer } from '../../../../runtime/network/overlay/balancer.ts';
import { FlowCutter } from '../../../../runtime/network/overlay/flow-cutter.ts';
import { KeptSockets } from '../../../../runtime/network/overlay/kept-sockets.ts';
import { needs } from '../../../support/needs.ts';
import { sleeps } from '../../../support/sleeps.ts';
import { OverlayBed, ip, ip6 } from './overlay-bed.ts';

const unshare = declare('int unshare(int flags)');
const CLONE_NEWNET = 0x40000000;
const NETWORK = `net${process.pid}`;
const VIP = '10.9.0.2';

let bed: OverlayBed;
let balancer: Balancer;
const members: Record<string, string> = {};
const member = (name: string): string => members[name] ?? '';
const addresses = { a: '10.9.0.10', b: '10.9.0.11', c: '10.9.0.12', client: '10.9.0.20' };
const { a, b, c } = { a: ip(addresses.a), b: ip(addresses.b), c: ip(addresses.c) };

function newBalancer(): Balancer {
  const deps = { namespaces: bed.namespaces, log: silentLogger };
  return new Balancer({ ...deps, sockets: new KeptSockets(bed.namespaces), flows: new FlowCutter(deps) });
}

function set(...backends: number[]): void {
  balancer.balance(NETWORK, [{ vip: ip(VIP), backends }], []);
}

/** Milliseconds that it takes. */
function timed(work: () => void): number {
  const began = performance.now();
  work();
  return performance.now() - began;
}

interface Costs {
  /** Medians, in milliseconds. */
  time: number;
  processor: number;
  /** In how many of a hundred the thread slept. */
  waits: number;
}

/** Of a hundred, with a moment after each in which flows are cut. */
async function costsOf(work: (round: number) => void): Promise<Costs> {
  const found: Costs[] = [];
  for (let round = 0; round < 100; round += 1) {
    const [before, used] = [sleeps(), process.cpuUsage()];
    const time = timed(() => work(round));
    const { user, system } = process.cpuUsage(used);
    found.push({ time, processor: (user + system) / 1_000, waits: sleeps() > before ? 1 : 0 });
    await sleep(1);
  }
  const median = (what: 'time' | 'processor'): number =>
    found.map((each) => each[what]).toSorted((one, other) => one - other)[50] ?? Infinity;
  return {
    time: median('time'),
    processor: median('processor'),
    waits: found.reduce((sum, { waits }) => sum + waits, 0),
  };
}

async function answers(count: number, from = 'client'): Promise<Record<string, number>> {
  const found: Record<string, number> = {};
  for (let round = 0; round < count; round += 1) {
    const answer = await bed.ask(member(from), VIP);
    found[answer] = (found[answer] ?? 0) + 1;
  }
  return found;
}

needs(
  'root',
  'netns',
  'nft',
  'ip',
)('virtual addresses of an overlay network', () => {
  beforeAll(async () => {
    unshare('network namespace', CLONE_NEWNET);
    bed = new OverlayBed();
    bed.network(NETWORK, '10.9.0.1/16', 'fd09::1/64');
    for (const [name, address] of Object.entries(addresses)) {
      members[name] = bed.member(NETWORK, name, `${address}/16`, `fd09::${address.split('.')[3]}/64`);
    }
    for (const name of ['a', 'b', 'c']) {
      await bed.serve(member(name), name);
      await bed.serve(member(name), name, 81, 6);
    }
    balancer = newBalancer();
  });
  afterAll(() => {
    bed[Symbol.dispose]();
    disarm();
  });

  test('new connections go to backends in turn, and these see the client', async () => {
    set(a, b, c);
    expect(await answers(30)).toEqual({ 'a 10.9.0.20': 10, 'b 10.9.0.20': 10, 'c 10.9.0.20': 10 });
  });

  test('clients who call two services one after the other reach all backends of both', async () => {
    balancer.balance(NETWORK, [{ vip: ip('10.9.0.3'), backends: [a, b] }], []);
    set(a, b);
    const found = new Set<string>();
    for (let round = 0; round < 4; round += 1) {
      found.add(`first ${await bed.ask(member('client'), VIP)}`);
      found.add(`second ${await bed.ask(member('client'), '10.9.0.3')}`);
    }
    balancer.balance(NETWORK, [], [ip('10.9.0.3')]);
    expect(found.size).toBe(4);
    expect(bed.in(bed.namespaces.path(NETWORK), 'ip', 'address', 'show', 'br0')).not.toContain('10.9.0.3');
  });

  test.each(['overlay.balance.rules', 'overlay.balance.address'])(
    'a change that fails at %s is made by the next attempt, of the next engine too',
    async (step) => {
      balancer.balance(NETWORK, [], [ip(VIP)]);
      balancer = newBalancer();
      await expect(failingAt(step, () => set(a, b, c))).rejects.toThrow(step);
      set(a, b, c);
      expect(Object.keys(await answers(6))).toHaveLength(3);
    },
  );

  test('a look that fails at overlay.balance.mend is taken by the next attempt', async () => {
    set(a, b, c);
    const all = [{ vip: ip(VIP), backends: [a, b, c] }];
    await expect(failingAt('overlay.balance.mend', () => balancer.mendBalance(NETWORK, all))).rejects.toThrow(
      'overlay.balance.mend',
    );
    expect(balancer.mendBalance(NETWORK, all)).toBe(0);
  });

  test('flows that cannot be cut, at overlay.flows.cut, keep nobody from a change', async () => {
    await failingAt('overlay.flows.cut', () => {
      balancer.forgetBackend(NETWORK, ip('10.9.0.99'));
    });
    set(a, b, c);
    expect(Object.keys(await answers(6))).toHaveLength(3);
  });

  test('addresses of IPv6 are balanced too', async () => {
    const backends = [ip6('fd09::10'), ip6('fd09::11')];
    balancer.balance(NETWORK, [{ vip: ip6('fd09::2'), backends }], []);
    const found = new Set<string>();
    for (let round = 0; round < 4; round += 1) {
      found.add(await bed.ask(member('client'), 'fd09::2', 81));
    }
    expect(found).toEqual(new Set(['a fd09::20', 'b fd09::20']));
    balancer.balance(NETWORK, [{ vip: ip6('fd09::2'), backends: [] }], []);
    expect(await bed.ask(member('client'), 'fd09::2', 81)).toBe('ECONNREFUSED');
    balancer.balance(NETWORK, [], [ip6('fd09::2')]);
  });

  test('a backend that calls its own address may reach itself', async () => {
    set(a);
    expect(await answers(2, 'a')).toEqual({ 'a 10.9.0.1': 2 });
    set(a, b);
    expect(await answers(4, 'a')).toEqual({ 'a 10.9.0.1': 2, 'b 10.9.0.10': 2 });
  });

  test('refuses at once without backends, and serves a udp client that went on once there is one', async () => {
    set();
    const began = performance.now();
    expect(await bed.ask(member('client'), VIP)).toBe('ECONNREFUSED');
    const chatter = await bed.chatter(member('client'), VIP);
    for (let round = 0; round < 20; round += 1) {
      expect(await chatter.say()).toBe('ECONNREFUSED');
    }
    // 21 refusals; a limit of the kernel would let a few in a second through.
    expect(performance.now() - began).toBeLessThan(4_000);
    set(b);
    expect(await chatter.say()).toBe('b 10.9.0.20');
  });

  describe('a backend that drains', () => {
    test('keeps its connections, and gets no new ones', async () => {
      set(a, b);
      const kept = [bed.connect(member('client'), VIP), bed.connect(member('client'), VIP)];
      const [one = '', other = ''] = [await kept[0]?.next(), await kept[1]?.next()];
      expect([one, other].toSorted()).toEqual(['a 10.9.0.20', 'b 10.9.0.20']);
      set(b);
      expect(await answers(10)).toEqual({ 'b 10.9.0.20': 10 });
      expect(await kept[0]?.say('still')).toBe(`${one[0]}:still`);
      expect(await kept[1]?.say('still')).toBe(`${other[0]}:still`);
    });

    test('loses udp clients that go on sending to those who stay', async () => {
      set(a);
      const chatter = await bed.chatter(member('client'), VIP);
      expect(await chatter.say()).toBe('a 10.9.0.20');
      set(b);
      await expect.poll(() => chatter.say()).toBe('b 10.9.0.20');
    });

    test('that is silent loses the connections that it has not answered yet; those under way stay', async () => {
      set(a);
      const under = bed.connect(member('client'), VIP);
      expect(await under.next()).toBe('a 10.9.0.20');
      // As on a host that is lost: what is sent there goes out, and nobody answers.
      const neighbour = ['10.9.0.99', 'lladdr', '02:42:0a:09:00:63', 'dev', 'br0'];
      bed.in(bed.namespaces.path(NETWORK), 'ip', 'neighbour', 'add', ...neighbour);
      set(ip('10.9.0.99'));
      const late = bed.ask(member('client'), VIP);
      await expect
        .poll(() => bed.in(bed.namespaces.path(NETWORK), 'cat', '/proc/net/nf_conntrack'))
        .toContain('src=10.9.0.99');
      set(b);
      balancer.forgetUnanswered(NETWORK, ip('10.9.0.99'));
      balancer.forgetUnanswered(NETWORK, a);
      // With the client's next attempt.
      expect(await late).toBe('b 10.9.0.20');
      expect(await under.say('still')).toBe('a:still');
    });

    test('once forgotten resets its connections; those of others and direct ones stay', async () => {
      set(a);
      const [gone, direct] = [bed.connect(member('client'), VIP), bed.connect(member('client'), addresses.a)];
      expect([await gone.next(), await direct.next()]).toEqual(['a 10.9.0.20', 'a 10.9.0.20']);
      set(b);
      const other = bed.connect(member('client'), VIP);
      expect(await other.next()).toBe('b 10.9.0.20');
      expect(await gone.say('on')).toBe('a:on');
      balancer.forgetBackend(NETWORK, a);
      await expect.poll(() => gone.say('on')).toBe('ECONNRESET');
      expect([await direct.say('on'), await other.say('on')]).toEqual(['a:on', 'b:on']);
    });
  });

  test('a hundred backends get the same', async () => {
    const many = Array.from({ length: 100 }, (_, index) => `10.9.1.${index + 1}`);
    bed.in(member('a'), 'sh', '-c', many.map((each) => `ip address add ${each}/16 dev eth0`).join(';'));
    set(...many.map(ip));
    const rules = bed.in(bed.namespaces.path(NETWORK), 'nft', 'list', 'table', 'ip', 'berth_balance');
    expect(rules).toContain('numgen inc mod 100');
    expect(await answers(100)).toEqual({ 'a 10.9.0.20': 100 });
    const called = bed.in(bed.namespaces.path(NETWORK), 'cat', '/proc/net/nf_conntrack');
    expect(many.filter((each) => !called.includes(`src=${each} dst=10.9.0.20`))).toEqual([]);
    set(a, b);
  });

  test('a restarted daemon goes on with what is there; whatever others change is mended and counted', async () => {
    set(a, b);
    const all = [{ vip: ip(VIP), backends: [a, b] }];
    expect(balancer.mendBalance(NETWORK, all)).toBe(0);
    balancer = newBalancer();
    expect(balancer.mendBalance(NETWORK, all)).toBe(0);
    balancer = newBalancer();
    set(b);
    expect(await answers(4)).toEqual({ 'b 10.9.0.20': 4 });
    set(a, b);
    const inside = (...argv: string[]): string => bed.in(bed.namespaces.path(NETWORK), ...argv);
    for (const damage of [
      ['nft', 'flush', 'ruleset'],
      ['nft', 'flush', 'map', 'ip', 'berth_balance', 'targets'],
      ['nft', 'flush', 'chain', 'ip', 'berth_balance', 'to_0a090002'],
      ['nft', 'add', 'rule', 'ip', 'berth_balance', 'balance', 'drop'],
      ['ip', 'address', 'delete', `${VIP}/32`, 'dev', 'br0'],
      ['ip', 'address', 'add', '10.9.0.9/32', 'dev', 'br0'],
    ]) {
      inside(...damage);
      expect(balancer.mendBalance(NETWORK, all), damage.join(' ')).toBeGreaterThan(0);
      expect(balancer.mendBalance(NETWORK, all), damage.join(' ')).toBe(0);
      expect(await answers(4)).toEqual({ 'a 10.9.0.20': 2, 'b 10.9.0.20': 2 });
    }
    inside('nft', 'flush', 'ruleset');
    set(a);
    expect(await answers(2)).toEqual({ 'a 10.9.0.20': 2 });
  });

  test('a namespace that is made again is served; nothing of ours keeps one that is closed', async () => {
    const again = `again${process.pid}`;
    const balanced = [{ vip: ip('10.8.0.2'), backends: [ip('10.8.0.10')] }];
    bed.network(again, '10.8.0.1/16');
    balancer.balance(again, balanced, []);
    bed.namespaces.remove(again);
    bed.network(again, '10.8.0.1/16');
    expect(balancer.mendBalance(again, balanced)).toBeGreaterThan(0);

    const file = bed.member(again, 'again', '10.8.0.10/16');
    await bed.serve(file, 'again');
    expect(await bed.ask(file, '10.8.0.2')).toBe('again 10.8.0.1');
    balancer.forgetBackend(again, ip('10.8.0.10'));
    await sleep(100);
    bed.namespaces.remove(again);
    await balancer.closed(again);
    // The other end of the member's interface goes with the namespace.
    await expect.poll(() => bed.in(file, 'ip', '-o', 'link', 'show')).not.toContain('eth0');
    expect(() => balancer.balance(again, balanced, [])).toThrow('ENOENT');
  });

  test('a change costs little beside a thousand services of five backends', async () => {
    const all = Array.from({ length: 1_000 }, (_, service) => ({
      vip: ip('10.9.64.0') + service,
      backends: Array.from({ length: 5 }, (__, task) => ip('10.9.128.0') + 5 * service + task),
    }));
    const load = timed(() => balancer.balance(NETWORK, all, []));
    const mend = timed(() =>
      expect(balancer.mendBalance(NETWORK, [...all, { vip: ip(VIP), backends: [a] }])).toBe(0),
    );
    const other = ip('10.9.0.3');
    const changes = {
      'another backend': await costsOf((round) => set(a, round % 2 === 0 ? b : c)),
      'a backend more or less': await costsOf((round) => set(...(round % 2 === 0 ? [a, b] : [b, c, a]))),
      'an address made or removed': await costsOf((round) => {
        const isNew = round % 2 === 0;
        balancer.balance(NETWORK, isNew ? [{ vip: other, backends: [a, b] }] : [], isNew ? [] : [other]);
      }),
    };
    set(b, c, a);
    const told = Object.entries(changes).map(
      ([what, { time, processor, waits }]) =>
        `${what} ${time.toFixed(2)} ms (processor ${processor.toFixed(2)} ms, waits ${waits})`,
    );
    const once = `load ${load.toFixed(0)} ms, mend ${mend.toFixed(0)} ms`;
    process.stdout.write(`1,000 services of 5 backends: ${once}, ${told.join(', ')}\n`);
    // Not the time, which grows with what else runs on the machine; that of the processor has other threads in it.
    for (const [what, { processor, waits }] of Object.entries(changes)) {
      expect(processor, what).toBeLessThan(8);
      // What waits for the kernel to be done with it does so each time; others may hold a lock now and then.
      expect(waits, what).toBeLessThan(50);
    }
    expect((await answers(6))['a 10.9.0.20']).toBe(2);
    balancer.balance(
      NETWORK,
      [],
      all.map(({ vip }) => vip),
    );
    expect(balancer.mendBalance(NETWORK, [{ vip: ip(VIP), backends: [b, c, a] }])).toBe(0);
  });
});
