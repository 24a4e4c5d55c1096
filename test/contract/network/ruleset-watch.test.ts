import { armHere } from '../../support/fakes/failpoints.ts';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { declare } from '../../../daemon/base/kernel/libc.ts';
import { NETLINK } from '../../../daemon/base/kernel/sockets/netlink.ts';
import { limits } from '../../../daemon/base/limits.ts';
import { silentLogger } from '../../../daemon/base/logger.ts';
import { Firewall } from '../../../runtime/network/firewall/firewall.ts';
import { rulesetGeneration, watchRuleset } from '../../../runtime/network/firewall/ruleset-watch.ts';
import { KernelNetwork } from '../../../runtime/network/kernel-network.ts';
import { NetlinkSocket } from '../../../runtime/network/netlink/netlink-socket.ts';
import { ManualClock } from '../../support/fakes/manual-clock.ts';
import { needs } from '../../support/needs.ts';

const unshare = declare('int unshare(int flags)');
const CLONE_NEWNET = 0x40000000;
const directory = mkdtempSync(path.join(tmpdir(), 'berth-ruleset-'));

function nft(...args: string[]): string {
  return execFileSync('nft', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
}

function table(): string {
  try {
    return nft('list table ip berthwatch');
  } catch {
    // It is not there.
    return '';
  }
}

needs(
  'root',
  'netns',
  'nft',
  'ip',
)('changes of the ruleset', () => {
  beforeAll(() => {
    unshare('network namespace', CLONE_NEWNET);
    execFileSync('ip', ['link', 'set', 'lo', 'up']);
  });
  afterAll(() => rmSync(directory, { recursive: true }));

  test('are told once until somebody listens again, those that came meanwhile too', async () => {
    let told = 0;
    using watch = watchRuleset(() => {
      told += 1;
    });
    watch.listen();
    nft('add table ip one');
    await expect.poll(() => told).toBe(1);
    // Far more than the socket can hold.
    const elements = Array.from({ length: 10_000 }, (_, index) => index + 1).join(', ');
    nft(`add set ip one s { type inet_service; }; add element ip one s { ${elements} }`);
    expect(told).toBe(1);
    watch.listen();
    await expect.poll(() => told).toBe(2);
    watch.listen();
    nft('delete table ip one');
    await expect.poll(() => told).toBe(3);
  });

  test('R53: what somebody takes away is put back without waiting for the next look', async () => {
    const clock = new ManualClock();
    using kernel = new KernelNetwork({
      settings: {
        namespaceDirectory: path.join(directory, 'netns'),
        overlayDirectory: path.join(directory, 'overlays'),
        interfacePrefix: 'btr',
        table: 'berthwatch',
        ipForward: false,
      },
      log: silentLogger,
      clock,
    });
    const address = { address: 0x0a60_0001, prefixLength: 24 };
    const bridge = { mtu: 1500, internal: false, icc: true, masquerade: true };
    kernel.prepare([{ ...bridge, name: 'btrwatch', addresses: [address] }], []);
    const whole = table();
    for (const damage of ['flush ruleset', 'flush set ip berthwatch bridges', 'delete table ip berthwatch']) {
      nft(damage);
      await expect
        .poll(async () => {
          // It rests after each look, also after those at changes of its own.
          await clock.advance(limits.firewallRestMs);
          return table();
        })
        .toBe(whole);
    }
  });

  test('that come in the middle of a repair are seen by the next look', () => {
    const netfilter = new NetlinkSocket(NETLINK.netfilter);
    let asked = 0;
    let flushAt = 0;
    const generation = (): number => {
      asked += 1;
      if (asked === flushAt) {
        nft('flush ruleset');
      }
      return rulesetGeneration(netfilter);
    };
    const firewall = new Firewall({ table: 'berthrace', log: silentLogger, generation });
    firewall.rebuild([], []);
    const whole = nft('list table ip berthrace');
    // Each time the repair asks for the number, before and after it wrote, somebody flushes just before.
    for (const turn of [1, 2, 3]) {
      nft('flush ruleset');
      [asked, flushAt] = [0, turn];
      firewall.mend();
      flushAt = 0;
      firewall.mend();
      expect(nft('list table ip berthrace')).toBe(whole);
    }
    netfilter.close();
  });

  test('whose repair failed are repaired at the next look, though nobody changed anything since', () => {
    const netfilter = new NetlinkSocket(NETLINK.netfilter);
    const generation = (): number => rulesetGeneration(netfilter);
    const firewall = new Firewall({ table: 'berthagain', log: silentLogger, generation });
    firewall.rebuild([], []);
    const whole = nft('list table ip berthagain');
    nft('flush ruleset');
    armHere('network.firewall.mend=error');
    expect(() => firewall.mend()).toThrow('network.firewall.mend');
    armHere('');
    firewall.mend();
    expect(nft('list table ip berthagain')).toBe(whole);
    netfilter.close();
  });

  test('do not hold up a process that ends while it listens', () => {
    const module = path.resolve(import.meta.dirname, '../../../runtime/network/firewall/ruleset-watch.ts');
    const script = `import { watchRuleset } from ${JSON.stringify(module)};
      watchRuleset(() => {}).listen();
      setTimeout(() => process.exit(7), 50);`;
    const argv = ['--import', 'tsx', '--input-type=module', '--eval', script];
    expect(spawnSync(process.execPath, argv, { timeout: 30_000 }).status).toBe(7);
  });
});
