import { constants } from 'node:os';
import { expect, test } from 'vitest';
import type { HostConfig } from '../../../api/types/host-config.ts';
import { describeEngine, onReference } from '../../support/engine/engine.ts';
import type { Engine } from '../../support/engine/engine.ts';
import { until } from '../../support/engine/http.ts';
import { busyboxImageTar } from '../../support/images/images.ts';
import { syscallProber, takes32BitCalls } from '../../support/syscall-prober.ts';
import type { Probe } from '../../support/syscall-prober.ts';

const [EPERM, ENOSYS] = [-constants.errno.EPERM, -constants.errno.ENOSYS];
const CLONE_NEWUSER = 0x10000000;
/** With CLONE_FS the kernel itself answers EINVAL: nothing is cloned where the filter lets it through. */
const CLONE_INVALID = CLONE_NEWUSER | 0x200;
/** Not a flag of unshare(2). */
const UNSHARE_INVALID = CLONE_NEWUSER | 0x1;
const [AF_INET, AF_NETLINK, AF_ALG, AF_VSOCK] = [2, 16, 38, 40];
const SYS_SOCKET = 1;

/** Name, numbers on x86-64 and on i386, and arguments that do no harm where the call is let through. */
type Call = [string, number, number, number[]?];

const REFUSED: readonly Call[] = [
  ['mount', 165, 21],
  ['umount2', 166, 52],
  ['pivot_root', 155, 217],
  ['fsopen', 430, 430],
  ['open_tree', 428, 428, [-1]],
  ['move_mount', 429, 429, [-1]],
  ['mount_setattr', 442, 442, [-1]],
  ['unshare', 272, 310, [UNSHARE_INVALID]],
  ['clone of a namespace', 56, 120, [CLONE_INVALID]],
  ['setns', 308, 346, [-1]],
  ['keyctl', 250, 288, [-1]],
  ['add_key', 248, 286],
  ['request_key', 249, 287],
  ['bpf', 321, 357, [-1]],
  ['perf_event_open', 298, 336],
  ['userfaultfd', 323, 374, [-1]],
  ['io_uring_setup', 425, 425],
  ['io_uring_enter', 426, 426, [-1]],
  ['io_uring_register', 427, 427, [-1]],
  ['kexec_load', 246, 283],
  ['reboot', 169, 88],
  ['init_module', 175, 128],
  ['finit_module', 313, 350, [-1]],
  ['delete_module', 176, 129],
  ['swapon', 167, 87],
  ['swapoff', 168, 115],
  ['settimeofday', 164, 79],
  ['clock_settime', 227, 264],
  ['sethostname', 170, 74],
  ['setdomainname', 171, 121],
  ['syslog', 103, 103, [-1]],
  ['open_by_handle_at', 304, 342, [-1]],
  ['quotactl', 179, 131, [-1]],
  ['acct', 163, 51],
  ['iopl', 172, 110, [3]],
  ['ioperm', 173, 101],
  ['vhangup', 153, 111],
  ['mbind', 237, 274],
  ['set_mempolicy', 238, 276],
  ['move_pages', 279, 317],
  ['fanotify_init', 300, 338],
  ['lookup_dcookie', 212, 253],
  ['pidfd_getfd', 438, 438, [-1]],
  ['kcmp', 312, 349],
  ['personality without random addresses', 135, 136, [0x40000]],
  ['socket(AF_ALG)', 41, 359, [AF_ALG, 5, 0]],
  ['socket(AF_VSOCK)', 41, 359, [AF_VSOCK, 1, 0]],
];
/** The filter does not stand in their way, whatever the kernel says. */
const ALLOWED: readonly Call[] = [
  ['getpid', 39, 20],
  ['socket(AF_UNIX)', 41, 359, [1, 1, 0]],
  ['socket(AF_INET)', 41, 359, [AF_INET, 1, 0]],
  ['socket(AF_NETLINK)', 41, 359, [AF_NETLINK, 3, 0]],
  ['socket(39)', 41, 359, [39, 1, 0]],
  ['socket(41)', 41, 359, [41, 1, 0]],
  ['socket(-1)', 41, 359, [-1, 1, 0]],
  ['personality(query)', 135, 136, [0xffffffff]],
  ['openat2', 437, 437, [-1]],
  ['memfd_create', 319, 356],
  ['epoll_create1', 291, 329],
  ['getrandom', 318, 355],
  ['ptrace', 101, 26, [-1]],
];

/** Those of 64-bit programs, and those of 32-bit ones. */
const PROBES: Readonly<Record<64 | 32, readonly Probe[]>> = {
  64: [
    ...[...REFUSED, ...ALLOWED].map(([name, number, , args = []]): Probe => ({ name, number, args })),
    { name: 'clone3', number: 435 },
  ],
  32: [
    ...[...REFUSED, ...ALLOWED].map(([name, , number, args = []]): Probe => ({
      name,
      number,
      args,
      i386: true,
    })),
    { name: 'clone3', number: 435, i386: true },
    { name: 'stime', number: 25, i386: true },
  ],
};
const SOCKET_CALLS: readonly Probe[] = [
  { name: 'socketcall(AF_INET)', number: 102, args: [SYS_SOCKET], words: [AF_INET, 1, 0], i386: true },
  { name: 'socketcall(AF_NETLINK)', number: 102, args: [SYS_SOCKET], words: [AF_NETLINK, 3, 0], i386: true },
];
const NO_32_BIT = 'the kernel of this machine ends programs that make 32-bit calls';
const X32_BIT = 0x40000000;
const X32_PROBES: readonly Probe[] = [
  { name: 'getpid of x32', number: X32_BIT + 39 },
  { name: 'mount of x32', number: X32_BIT + 165 },
  { name: 'unshare of x32', number: X32_BIT + 272, args: [UNSHARE_INVALID] },
  { name: 'socket(AF_ALG) of x32', number: X32_BIT + 41, args: [AF_ALG, 5, 0] },
  { name: 'keyctl of x32', number: X32_BIT + 250, args: [-1] },
];

async function probe(
  engine: Engine,
  probes: readonly Probe[],
  host: HostConfig,
  more: object = {},
): Promise<{ exitCode: number; results: Map<string, number> }> {
  const content = syscallProber(probes);
  const image = busyboxImageTar({
    tags: ['probe:1'],
    // Set-user-id: what that changes is a test of its own.
    extraLayers: [[{ name: 'probe', mode: 0o4755, content }]],
  });
  await engine.http.ok('POST', '/images/load?quiet=1', image);
  const command = ['sh', '-c', 'set -o pipefail; /probe | od -An -v -w8 -td8'];
  const { exitCode, stdout } = await engine.run(command, host, { Image: 'probe:1', ...more });
  const values = stdout.trim() === '' ? [] : stdout.trim().split('\n').map(Number);
  return { exitCode, results: new Map(probes.map(({ name }, index) => [name, values[index] ?? Number.NaN])) };
}

describeEngine('system calls', (engine) => {
  test.skipIf(process.arch !== 'x64').for([64, 32] as const)(
    'class 6: what reaches for the kernel is refused to %i-bit programs, and nothing ordinary is',
    async (bits, context) => {
      context.skip(bits === 32 && !takes32BitCalls(), NO_32_BIT);
      const { exitCode, results } = await probe(engine, PROBES[bits], {});
      expect(exitCode).toBe(0);
      const got = (calls: readonly Call[]) => calls.map(([name]) => [name, results.get(name)] as const);
      expect(got(REFUSED).filter(([, result]) => result !== EPERM)).toEqual([]);
      expect(got(ALLOWED).filter(([, result]) => result === EPERM || result === ENOSYS)).toEqual([]);
      expect(results.get('stime')).toBe(bits === 32 ? EPERM : undefined);
      // C libraries fall back to clone only on this one.
      expect(results.get('clone3')).toBe(ENOSYS);
    },
  );

  test.skipIf(process.arch !== 'x64').for([
    [64, ['keyctl', 'io_uring_setup']],
    [32, ['keyctl', 'userfaultfd']],
  ] as const)(
    'class 6: it is the filter that refuses: without one most calls of %i-bit programs get as far as their arguments',
    async ([bits, some], context) => {
      context.skip(bits === 32 && !takes32BitCalls(), NO_32_BIT);
      const { exitCode, results } = await probe(engine, PROBES[bits], {
        SecurityOpt: ['seccomp=unconfined'],
      });
      expect(exitCode).toBe(0);
      const through = REFUSED.map(([name]) => name).filter((name) => results.get(name) !== EPERM);
      expect(through).toEqual(expect.arrayContaining([...some]));
      expect(through.length).toBeGreaterThan(REFUSED.length / 2);
    },
  );

  test.skipIf(process.arch !== 'x64')(
    'class 6: 32-bit programs open ordinary sockets by socketcall, whose family no filter can see',
    async (context) => {
      context.skip(!takes32BitCalls(), NO_32_BIT);
      const { results } = await probe(engine, SOCKET_CALLS, {});
      for (const { name } of SOCKET_CALLS) {
        expect([name, results.get(name)]).toEqual([name, expect.toSatisfy((fd: number) => fd >= 0)]);
      }
    },
  );

  test.skipIf(process.arch !== 'x64').each(X32_PROBES)('class 6: $name is refused', async (one) => {
    const { exitCode, results } = await probe(engine, [one], {});
    const result = results.get(one.name);
    // Refused with an error, or by the end of the program, by a signal: x32 is no architecture of the filter.
    expect([exitCode, result]).toEqual(
      exitCode === 0
        ? [0, expect.toSatisfy((code: number) => code === EPERM || code === ENOSYS)]
        : [expect.toSatisfy((code: number) => code > 128), Number.NaN],
    );
  });

  test('class 6: every process of a container is behind the filter, unless it is said otherwise', async () => {
    const mode = ['sh', '-c', 'grep -E "^(Seccomp|NoNewPrivs):" /proc/self/status | cut -f2 | tr "\\n" " "'];
    const table: [HostConfig, string][] = [
      [{}, '0 2 '],
      [{ CapAdd: ['ALL'] }, '0 2 '],
      [{ SecurityOpt: ['no-new-privileges'] }, '1 2 '],
      [{ SecurityOpt: ['no-new-privileges:true'] }, '1 2 '],
      [{ SecurityOpt: ['no-new-privileges=false'] }, '0 2 '],
      [{ SecurityOpt: ['seccomp=unconfined'] }, '0 0 '],
      [{ SecurityOpt: ['seccomp:unconfined', 'no-new-privileges'] }, '1 0 '],
      [{ Privileged: true }, '0 0 '],
      [{ Privileged: true, SecurityOpt: ['seccomp=builtin'] }, '0 2 '],
    ];
    for (const [host, expected] of table) {
      if (onReference && JSON.stringify(host).includes('builtin')) {
        continue;
      }
      const id = await engine.start(['sh', '-c', `${mode[2]}; exec sleep 600`], host);
      await until('its words', async () => (await engine.logs(id)).stdout.length >= expected.length);
      const exec = await engine.exec(id, mode);
      const asUser = await engine.exec(id, mode, { User: '1000' });
      const { stdout } = await engine.logs(id);
      expect([host, stdout, exec.stdout, asUser.stdout]).toEqual([host, expected, expected, expected]);
      await engine.remove(id);
    }
  });

  test.skipIf(process.arch !== 'x64')(
    'class 6: a set-user-id program gains nothing with no-new-privileges',
    async () => {
      expect(await effectiveUser(engine, {})).toBe(0);
      expect(await effectiveUser(engine, { SecurityOpt: ['no-new-privileges'] })).toBe(1000);
    },
  );

  test.each([
    ['no JSON', '{'],
    ['a list', '[]'],
    ['empty', '{}'],
    ['an unknown action', '{"defaultAction":"SCMP_ACT_FLY"}'],
    ['an action that needs a listener', '{"defaultAction":"SCMP_ACT_NOTIFY","listenerPath":"/x"}'],
    ['a path on the host', '/etc/passwd'],
    ['an unknown operator', rule({ args: [{ index: 0, value: 1, op: 'SCMP_CMP_MAYBE' }] })],
    ['a seventh argument', rule({ args: [{ index: 6, value: 1, op: 'SCMP_CMP_EQ' }] })],
    ['a number too large to be exact', rule({ args: [{ index: 0, value: 2 ** 60, op: 'SCMP_CMP_EQ' }] })],
    ['name and names', rule({ name: 'mount' })],
    ['prototype keys', '{"__proto__":{"defaultAction":"SCMP_ACT_ALLOW"},"syscalls":[]}'],
  ])('class 6: a profile that is %s is refused, never replaced by none', async (_what, profile) => {
    const answer = await engine.http.request('POST', '/containers/create', {
      body: { Image: 'busybox', Cmd: ['true'], HostConfig: { SecurityOpt: [`seccomp=${profile}`] } },
    });
    if (!onReference) {
      expect([answer.status, answer.text]).toEqual([400, expect.stringMatching(/seccomp/)]);
    }
    if (answer.status === 201) {
      const { Id } = JSON.parse(answer.text);
      expect((await engine.http.request('POST', `/containers/${Id}/start`)).status).toBeGreaterThan(399);
    }
  });

  test('class 6: a profile of one’s own is in force, one for an unknown architecture does not start', async () => {
    const profile = {
      defaultAction: 'SCMP_ACT_ALLOW',
      syscalls: [{ names: ['mkdir'], action: 'SCMP_ACT_ERRNO' }],
    };
    const { stdout } = await engine.run(
      ['sh', '-c', 'mkdir /x 2>/dev/null || echo refused'],
      filteredBy(profile),
    );
    expect(stdout).toBe('refused\n');
    const id = await engine.create(['true'], filteredBy({ ...profile, architectures: ['SCMP_ARCH_PDP11'] }));
    const started = await engine.http.request('POST', `/containers/${id}/start`);
    expect([started.status, started.text]).toEqual([
      500,
      expect.stringMatching(/seccomp|architecture|ARCH/i),
    ]);
  });
});

/** Whom the set-user-id prober runs as when uid 1000 starts it. */
async function effectiveUser(engine: Engine, host: HostConfig): Promise<number | undefined> {
  const { results } = await probe(engine, [{ name: 'geteuid', number: 107 }], host, { User: '1000' });
  return results.get('geteuid');
}

function filteredBy(profile: object): HostConfig {
  return { SecurityOpt: [`seccomp=${JSON.stringify(profile)}`] };
}

function rule(fields: object): string {
  const syscalls = [{ names: ['mkdir'], action: 'SCMP_ACT_ERRNO', ...fields }];
  return JSON.stringify({ defaultAction: 'SCMP_ACT_ALLOW', syscalls });
}
