import { readFileSync } from 'node:fs';
import type { HostConfig } from '../../../../../api/types/host-config.ts';
import type { FieldRow, Look } from '../table.ts';

const NET_ADMIN = 1n << 12n;
const CHOWN = 1n << 0n;
const bounding = async (look: Look): Promise<bigint> => BigInt(`0x${await look.status('CapBnd')}`);

function option(
  what: string,
  SecurityOpt: string[],
  observe: FieldRow['observe'],
  expected: unknown,
): FieldRow {
  return { field: 'HostConfig.SecurityOpt', what, ask: { HostConfig: { SecurityOpt } }, observe, expected };
}

/** Denies one call and allows all others; with the parts that only some machines read. */
const NO_MKDIR = JSON.stringify({
  defaultAction: 'SCMP_ACT_ALLOW',
  archMap: [{ architecture: 'SCMP_ARCH_X86_64', subArchitectures: ['SCMP_ARCH_X86'] }],
  syscalls: [
    { names: ['mkdir', 'mkdirat'], action: 'SCMP_ACT_ERRNO', args: [], includes: {}, excludes: {} },
    { names: ['rmdir'], action: 'SCMP_ACT_ERRNO', excludes: { caps: ['CAP_CHOWN'] } },
    { names: ['unlinkat', 'unlink'], action: 'SCMP_ACT_ERRNO', includes: { caps: ['CAP_SYS_ADMIN'] } },
  ],
});

const paths = (
  HostConfig: HostConfig,
  field: string,
  observe: FieldRow['observe'],
  expected: unknown,
): FieldRow => ({
  field: `HostConfig.${field}`,
  ask: { HostConfig },
  observe,
  expected,
});

export const securityRows: readonly FieldRow[] = [
  {
    field: 'HostConfig.CapAdd',
    ask: { HostConfig: { CapAdd: ['NET_ADMIN'] } },
    observe: async (look) => ((await bounding(look)) & NET_ADMIN) !== 0n,
    expected: true,
  },
  {
    field: 'HostConfig.CapDrop',
    ask: { HostConfig: { CapDrop: ['CHOWN'] } },
    observe: async (look) => ((await bounding(look)) & CHOWN) !== 0n,
    expected: false,
  },
  {
    field: 'HostConfig.Privileged',
    what: 'every capability the daemon has, no filter, the devices of the host',
    ask: { HostConfig: { Privileged: true } },
    observe: async (look) => {
      const own = /^CapBnd:\s*(\w+)/m.exec(
        readFileSync(`/proc/${look.engine.daemon.pid}/status`, 'utf8'),
      )?.[1];
      return [
        (await look.status('CapBnd')) === own,
        await look.status('Seccomp'),
        await look.shell('test -b /dev/loop0 && test -w /proc/sys/kernel/panic && echo all'),
      ];
    },
    expected: [true, '0', 'all'],
  },
  option('seccomp=unconfined', ['seccomp=unconfined'], (look) => look.status('Seccomp'), '0'),
  option('the built-in filter by name', ['seccomp=builtin'], (look) => look.status('Seccomp'), '2'),
  option(
    'a profile of the client',
    [`seccomp=${NO_MKDIR}`],
    (look) => look.shell('mkdir /x 2>&1; rmdir /nothing 2>&1; touch /f && rm /f && echo removed'),
    [
      "mkdir: can't create directory '/x': Operation not permitted",
      // Excluded for who has CAP_CHOWN, and the next one included for CAP_SYS_ADMIN only.
      "rmdir: '/nothing': No such file or directory",
      'removed',
    ].join('\n'),
  ),
  option('no-new-privileges', ['no-new-privileges'], (look) => look.status('NoNewPrivs'), '1'),
  option('no-new-privileges:false', ['no-new-privileges:false'], (look) => look.status('NoNewPrivs'), '0'),
  option('label=disable', ['label=disable'], (look) => look.status('NoNewPrivs'), '0'),
  option('apparmor=unconfined', ['apparmor=unconfined'], (look) => look.status('NoNewPrivs'), '0'),
  option(
    'systempaths=unconfined',
    ['systempaths=unconfined'],
    async (look) => [await look.mount('/proc/kcore'), await look.mount('/proc/sys')],
    [undefined, undefined],
  ),
  paths(
    { MaskedPaths: ['/etc', '/bin/busybox.masked', '/proc/version'] },
    'MaskedPaths',
    async (look) => [await look.shell('ls -A /etc; cat /proc/version'), await look.mount('/proc/kcore')],
    ['', undefined],
  ),
  paths(
    { ReadonlyPaths: ['/etc'] },
    'ReadonlyPaths',
    async (look) => [await look.shell('touch /etc/x'), await look.mount('/proc/sys')],
    ['touch: /etc/x: Read-only file system', undefined],
  ),
  {
    field: 'HostConfig.Sysctls',
    ask: { HostConfig: { Sysctls: { 'kernel.msgmax': '4096', 'net.ipv4.ip_default_ttl': '42' } } },
    observe: (look) => look.shell('cat /proc/sys/kernel/msgmax /proc/sys/net/ipv4/ip_default_ttl'),
    expected: '4096\n42',
  },
  {
    field: [
      'HostConfig.Devices.PathOnHost',
      'HostConfig.Devices.PathInContainer',
      'HostConfig.Devices.CgroupPermissions',
    ],
    ask: {
      HostConfig: {
        Devices: [
          { PathOnHost: '/dev/zero', PathInContainer: '/dev/nothing', CgroupPermissions: 'rwm' },
          { PathOnHost: '/dev/loop0', PathInContainer: '/dev/disk', CgroupPermissions: 'w' },
        ],
      },
    },
    observe: (look) =>
      look.shell(
        'head -c 2 /dev/nothing | wc -c; test -b /dev/disk && echo there; dd if=/dev/disk count=1 2>&1 | head -1',
      ),
    expected: "2\nthere\ndd: can't open '/dev/disk': Operation not permitted",
  },
  {
    field: 'HostConfig.DeviceCgroupRules',
    ask: { HostConfig: { DeviceCgroupRules: ['c 10:237 rw'] } },
    observe: (look) =>
      look.shell(
        'mknod /k c 10 237; mknod /l c 10 235; (exec 3</k && echo opened); (exec 3</l || echo closed) 2>&1',
      ),
    expected: "opened\nsh: can't open /l: Operation not permitted",
  },
  {
    field: 'HostConfig.Annotations',
    what: 'reach the runtime',
    ask: { HostConfig: { Annotations: { 'org.example.note': 'for hooks' } } },
    observe: (look) => {
      const bundle = `${look.engine.daemon.paths.execRoot}/containers/${look.id}/config.json`;
      const { annotations }: { annotations: unknown } = JSON.parse(readFileSync(bundle, 'utf8'));
      return annotations;
    },
    expected: { 'org.example.note': 'for hooks' },
  },
  {
    field: 'HostConfig.Isolation',
    what: 'default is the only one on Linux',
    ask: { HostConfig: { Isolation: 'default' } },
    observe: async (look) => (await look.inspect()).HostConfig.Isolation,
    expected: 'default',
  },
];
