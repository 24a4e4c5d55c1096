import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { declare } from '../../../daemon/base/kernel/libc.ts';
import { NETLINK } from '../../../daemon/base/kernel/sockets/netlink.ts';
import { NftContext } from '../../../daemon/base/kernel/sockets/nftables.ts';
import { dnsRules } from '../../../runtime/network/dns/dns-rules.ts';
import { NetlinkSocket } from '../../../runtime/network/netlink/netlink-socket.ts';

const unshare = declare('int unshare(int flags)');
const CLONE_NEWNET = 0x40000000;
const TABLE = 'table ip t {\n set s { type inet_service; }\n}';
const ELEMENTS = Array.from({ length: 200 }, (_, index) => index + 1).join(', ');

beforeAll(() => unshare('network namespace', CLONE_NEWNET));

const SIGNAL = 'SIGUSR2';
const noted = (): void => {
  // What matters is that the signal came.
};
beforeAll(() => process.on(SIGNAL, noted));
afterAll(() => process.off(SIGNAL, noted));

test('nftables: a transaction of which a part is refused says so and has done nothing', () => {
  const [table, chain, , rule] = dnsRules({ udp: 1000, tcp: 1001 });
  using netfilter = new NetlinkSocket(NETLINK.netfilter);
  using nft = new NftContext();
  expect([table, chain, rule].includes(undefined)).toBe(false);
  const parts = [table, rule, chain].flatMap((part) => part ?? []);
  expect(() => netfilter.transact('the names of web', parts)).toThrow('the names of web: ENOENT');
  expect(nft.run('list tables').output).toBe('');
  netfilter.transact('the names of web', dnsRules({ udp: 1000, tcp: 1001 }));
  expect(nft.run('list tables').output).toBe('table ip berth_names\n');
  expect(nft.run('flush ruleset').ok).toBe(true);
});

test('nftables: a change is made also while signals come, as a daemon gets them whose children end', async () => {
  using nft = new NftContext();
  expect(nft.run(TABLE)).toMatchObject({ ok: true, error: '' });
  const flood = spawn('sh', ['-c', 'while kill -USR2 "$0"; do :; done', String(process.pid)], {
    stdio: 'ignore',
  });
  await once(flood, 'spawn');
  try {
    for (let round = 0; round < 100; round += 1) {
      for (const verb of ['add', 'delete']) {
        expect(nft.run(`${verb} element ip t s { ${ELEMENTS} }`)).toMatchObject({ ok: true, error: '' });
      }
    }
  } finally {
    flood.kill('SIGKILL');
  }
});
