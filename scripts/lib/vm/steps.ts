import { guestTest, guestTests, must, type StepContext } from './guest-tests.ts';
import { GUEST_REPOSITORY } from './image.ts';
import { swarmStep } from './swarm-step.ts';

interface Step {
  name: string;
  title: string;
  /** Always taken: the other steps need it. */
  always?: boolean;
  run(context: StepContext): Promise<void>;
}

/** Work goes on for about this long before the power goes; the very moment differs from cut to cut. */
const WORK_LINES_MIN = 70;
const WORK_LINES_SPREAD = 17;
const WORK_MS_MAX = 900_000;

/** System tests whose outcome depends on cgroup version, driver, systemd or a distribution's kernel. */
const SYSTEM_TESTS = [
  'containers/run',
  'limits/limits',
  'limits/cgroup-parent',
  'containers/exec',
  'networks/network',
  'daemon/survive',
];
/** With the other driver: what touches cgroups. */
const CGROUPFS_TESTS = ['limits/limits', 'limits/cgroup-parent'];
/** With a host of its own, whose link has neighbours. */
const NETWORK_TESTS = ['networks/macvlan'];

export const STEPS: readonly Step[] = [
  {
    name: 'boot',
    title: 'Debian boots, with systemd and cgroup v2 alone',
    always: true,
    run: async ({ machine, protocol }) => {
      await machine.boot();
      protocol.figure(
        await must(
          machine,
          'echo "Linux $(uname -r), systemd $(systemctl --version | sed -n "1s/systemd \\([0-9]*\\).*/\\1/p")"',
        ),
      );
      await must(machine, 'test "$(stat -f -c %T /sys/fs/cgroup)" = cgroup2fs');
    },
  },
  {
    name: 'package',
    title: 'the Debian package: apt install, upgrade under running containers, removal, purge',
    run: (context) => guestTests(context, '', ['vm'], ['package'].map(guestTest)),
  },
  {
    name: 'install',
    title: 'scripts/install puts it there, systemd starts it',
    always: true,
    run: async ({ machine, protocol }) => {
      await must(machine, `cd ${GUEST_REPOSITORY} && ./scripts/install --prebuilt`);
      protocol.note('installed');
      await must(machine, 'systemctl enable --now berth.socket berth.service');
      await must(
        machine,
        'systemctl is-active berth.service && test "$(curl -s --unix-socket /run/berth.sock http://x/_ping)" = OK',
      );
    },
  },
  {
    name: 'service',
    title:
      'the service under systemd: socket, journal, reload, restart, SIGKILL, watchdog; scopes, slices, limits',
    run: (context) =>
      guestTests(context, 'BERTH_TEST_ENGINE=service', ['vm'], ['cgroups', 'service'].map(guestTest)),
  },
  {
    name: 'system',
    title: `system tests against the service: ${names(SYSTEM_TESTS)}`,
    run: (context) =>
      guestTests(context, 'BERTH_TEST_ENGINE=service', ['system'], SYSTEM_TESTS.map(systemTest)),
  },
  {
    name: 'cgroupfs',
    title: `system tests with cgroup v2 and the cgroupfs driver: ${names(CGROUPFS_TESTS)}`,
    run: (context) =>
      guestTests(context, 'BERTH_TEST_CGROUP_DRIVER=cgroupfs', ['system'], CGROUPFS_TESTS.map(systemTest)),
  },
  {
    name: 'quotas',
    title: 'volumes and containers with a size, on ext4 and XFS',
    run: (context) => guestTests(context, '', ['vm'], ['quotas'].map(guestTest)),
  },
  {
    name: 'networks',
    title: `networks that small kernels lack: ipvlan, dummies, VLANs, tunnels; ${names(NETWORK_TESTS)}`,
    run: (context) =>
      guestTests(context, '', ['vm', 'system'], [guestTest('ipvlan'), ...NETWORK_TESTS.map(systemTest)]),
  },
  {
    name: 'swarm',
    title:
      'a swarm of one: routing mesh, virtual addresses and names over restart, reboot and power cut; no br_netfilter',
    run: swarmStep,
  },
  {
    name: 'mesh',
    title: "the routing mesh beside dockerd's, by IPVS (Debian 13)",
    run: async (context) => {
      if ((await context.machine.run('command -v dockerd')).exitCode === 0) {
        await guestTests(context, '', ['vm'], [guestTest('mesh')]);
      } else {
        context.protocol.note('this Debian has no dockerd that balances by IPVS as that of today does');
      }
    },
  },
  {
    name: 'encrypted-daemons',
    title: 'two daemons with an encrypted network, over IPv4 and IPv6: ESP alone, forged frames, rotation',
    run: (context) => guestTests(context, '', ['vm'], [guestTest('encrypted-daemons')]),
  },
  {
    name: 'power',
    title: 'power cuts in the middle of work; boot, oracle, images, restart policies, work goes on',
    run: async (context) => {
      for (let round = 1; round <= context.cuts; round += 1) {
        await powerCut(context, round);
      }
    },
  },
];

function names(tests: readonly string[]): string {
  return tests.map((test) => test.split('/')[1]).join(', ');
}

function systemTest(name: string): string {
  return `test/system/${name}.test.ts`;
}

async function powerCut(context: StepContext, round: number): Promise<void> {
  const { machine, protocol } = context;
  await must(machine, 'systemctl reset-failed berth.service; systemctl start berth.socket berth.service');
  const journal: string[] = [];
  const complaints: string[] = [];
  const wanted = WORK_LINES_MIN + ((round * 7) % WORK_LINES_SPREAD) * 3;
  let cut: Promise<void> | undefined;
  await machine.run(`cd ${GUEST_REPOSITORY} && node --import tsx test/vm/power-work.ts ${round}`, {
    timeoutMs: WORK_MS_MAX,
    onLine: (line) => {
      // Beside the journal come complaints of work that fails and of the connection that breaks.
      (line.startsWith('{') ? journal : complaints).push(line);
      if (journal.length === wanted) {
        cut ??= machine.cutPower();
      }
    },
  });
  if (cut === undefined) {
    throw new Error(
      `the work ended before the power did:\n${[...journal.slice(-20), ...complaints].join('\n')}`,
    );
  }
  await cut;
  protocol.note(`cut ${round}: after ${journal.length} acknowledged steps (${kindsOf(journal)})`);
  const started = performance.now();
  await machine.boot();
  protocol.note(`cut ${round}: booted again after ${((performance.now() - started) / 1000).toFixed(0)} s`);
  await machine.write('/run/power-journal', `${journal.join('\n')}\n`);
  await guestTests(context, '', ['vm'], ['test/vm/after-power-cut.test.ts']);
  protocol.figure(`cut ${round} after ${journal.length} acknowledged steps`);
}

/** How many there were of each kind: `created 12, built 2`. */
function kindsOf(journal: readonly string[]): string {
  const kinds = new Map<string, number>();
  for (const line of journal) {
    const kind = /"did":"(\w+)"/.exec(line)?.[1] ?? 'torn';
    kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
  }
  return [...kinds].map(([kind, count]) => `${kind} ${count}`).join(', ');
}
