import { execFileSync } from 'node:child_process';
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ContainerCreateRequest } from '../../../api/types/container.ts';
import { newId } from '../../../daemon/base/ids.ts';
import { buildExecProcess } from '../../../daemon/containers/oci/process.ts';
import { readLaunchFacts } from '../../../daemon/containers/oci/oci-spec.ts';
import { translate } from '../../../daemon/containers/oci/translate.ts';
import { readAccountFiles, resolveUser } from '../../../daemon/containers/oci/user.ts';
import { buildSpec } from '../../../daemon/containers/request/build-spec.ts';
import type { ContainerSpec } from '../../../daemon/containers/request/container-spec.ts';
import { engineDefaults } from '../../../daemon/containers/request/engine-defaults.ts';
import type { HostFacts } from '../../../runtime/host/facts.ts';
import { readHostFacts } from '../../../runtime/host/read-facts.ts';
import { liveHost } from '../../../runtime/host/source.ts';
import { encodeSpec } from '../../../runtime/runc/spec-json.ts';
import { DEFAULT_CAPABILITIES, maskOfCapabilities } from '../../../runtime/security/capabilities.ts';
import { removeCgroup } from '../../support/engine/cleanup.ts';
import { needs } from '../../support/needs.ts';
import type { Probe } from '../../support/syscall-prober.ts';
import { readProbeResults, syscallProber } from '../../support/syscall-prober.ts';

const CLONE_NEWUSER = 0x10000000;
const CLONE_FS = 0x200;
/** Not a flag of unshare(2): without a filter it answers EINVAL and does nothing. */
const CLONE_FORBIDDEN = 0x1;
const [EPERM, EBADF, ENOSYS] = [-1, -9, -38];

/** Refused by the default filter, whatever the kernel would have said. */
const refused: Probe[] = [
  { name: 'unshare', number: 272, args: [CLONE_NEWUSER | CLONE_FORBIDDEN] },
  { name: 'clone(NEWUSER)', number: 56, args: [CLONE_NEWUSER | CLONE_FS] },
  { name: 'setns', number: 308, args: [-1] },
  { name: 'mount', number: 165 },
  { name: 'umount2', number: 166 },
  { name: 'pivot_root', number: 155 },
  { name: 'fsopen', number: 430 },
  { name: 'open_tree', number: 428, args: [-1] },
  { name: 'move_mount', number: 429, args: [-1] },
  { name: 'mount_setattr', number: 442, args: [-1] },
  { name: 'keyctl', number: 250, args: [-1] },
  { name: 'add_key', number: 248 },
  { name: 'request_key', number: 249 },
  { name: 'bpf', number: 321, args: [-1] },
  { name: 'perf_event_open', number: 298 },
  { name: 'userfaultfd', number: 323, args: [-1] },
  { name: 'io_uring_setup', number: 425 },
  { name: 'io_uring_enter', number: 426, args: [-1] },
  { name: 'kexec_load', number: 246 },
  { name: 'reboot', number: 169 },
  { name: 'init_module', number: 175 },
  { name: 'delete_module', number: 176 },
  { name: 'swapon', number: 167 },
  { name: 'settimeofday', number: 164 },
  { name: 'sethostname', number: 170 },
  { name: 'syslog', number: 103, args: [-1] },
  { name: 'open_by_handle_at', number: 304, args: [-1] },
  { name: 'quotactl', number: 179, args: [-1] },
  { name: 'acct', number: 163 },
  { name: 'iopl', number: 172, args: [3] },
  { name: 'vhangup', number: 153 },
  { name: 'mbind', number: 237 },
  { name: 'pidfd_getfd', number: 438, args: [-1] },
  { name: 'personality(ADDR_NO_RANDOMIZE)', number: 135, args: [0x40000] },
  { name: 'socket(AF_ALG)', number: 41, args: [38, 5, 0] },
  { name: 'socket(AF_VSOCK)', number: 41, args: [40, 1, 0] },
];

/** Let through to the kernel, which answers as it does without a filter. */
const allowed: Probe[] = [
  { name: 'getpid', number: 39 },
  { name: 'socket(AF_UNIX)', number: 41, args: [1, 1, 0] },
  { name: 'socket(AF_INET)', number: 41, args: [2, 1, 0] },
  { name: 'socket(AF_NETLINK)', number: 41, args: [16, 3, 0] },
  { name: 'socket(39)', number: 41, args: [39, 1, 0] },
  { name: 'socket(-1)', number: 41, args: [-1, 1, 0] },
  { name: 'personality(query)', number: 135, args: [0xffffffff] },
  { name: 'personality(LINUX32)', number: 135, args: [0x8] },
  { name: 'chroot(null)', number: 161 },
  { name: 'mknod(null)', number: 133 },
  { name: 'process_vm_readv', number: 310 },
  { name: 'openat2(null)', number: 437, args: [-1] },
  { name: 'memfd_create(null)', number: 319 },
  { name: 'landlock_create_ruleset(version)', number: 444, args: [0, 0, 1] },
];
/** Of a container with a quota: what would take a file out of it, with whatever in the bits that the kernel ignores. */
const projectChanges: Probe[] = [0x401c_5820, 0x4008_6602, 0x4004_6602].flatMap((request) =>
  [0, 2 ** 32, -(2 ** 32)].map((above) => ({
    name: `ioctl(${request + above})`,
    number: 16,
    args: [-1, request + above],
  })),
);
const ordinaryRequests: Probe[] = [0x5401, 0x5413, 0x8008_6601, 0x801c_581f, -0x7fe3_a7e1].map((request) => ({
  name: `ioctl(${request})`,
  number: 16,
  args: [-1, request],
}));
const probes: Probe[] = [
  ...projectChanges,
  ...ordinaryRequests,
  ...refused,
  ...allowed,
  { name: 'clone3', number: 435 },
];

/** The lines of /proc/self/status that say what a process may do. */
function privilegesOf(status: string): Record<string, string> {
  const lines = status.matchAll(/^(Uid|Groups|Cap\w+|NoNewPrivs|Seccomp):\s*(.*?)\s*$/gm);
  return Object.fromEntries([...lines].map(([, key = '', value = '']) => [key, value]));
}

needs(
  'root',
  'runc',
  'busybox',
  'ip',
)('a container in runc', () => {
  let facts: HostFacts;
  const directory = mkdtempSync(join(tmpdir(), 'bth-sandbox-'));
  const rootPath = join(directory, 'rootfs');
  const netns = `bth-spec-${process.pid}`;
  const cgroupParent = `/berth-test-spec-${process.pid}`;

  beforeAll(async () => {
    facts = await readHostFacts(liveHost(), { cgroupDriver: 'cgroupfs' });
    for (const name of ['bin', 'etc', 'proc', 'sys', 'dev', 'tmp', 'work']) {
      mkdirSync(join(rootPath, name), { recursive: true });
    }
    copyFileSync('/bin/busybox', join(rootPath, 'bin/busybox'));
    for (const applet of ['sh', 'cat', 'ping', 'sleep', 'touch', 'df', 'id', 'ls', 'env', 'pwd']) {
      symlinkSync('busybox', join(rootPath, 'bin', applet));
    }
    writeFileSync(
      join(rootPath, 'etc/passwd'),
      'root:x:0:0::/root:/bin/sh\nweb:x:1000:1000::/home/web:/bin/sh\n',
    );
    writeFileSync(join(rootPath, 'etc/group'), 'root:x:0:\nweb:x:1000:\nlog:x:50:web\n');
    writeFileSync(join(rootPath, 'probe'), syscallProber(probes));
    chmodSync(join(rootPath, 'probe'), 0o755);
    for (const name of ['hostname', 'hosts', 'resolv.conf']) {
      writeFileSync(join(directory, name), `${name} of the engine\n`);
    }
    execFileSync('ip', ['netns', 'add', netns]);
    execFileSync('ip', ['-n', netns, 'link', 'set', 'lo', 'up']);
  });

  afterAll(() => {
    execFileSync('ip', ['netns', 'delete', netns]);
    // runc made it in every hierarchy.
    removeCgroup(cgroupParent);
    rmSync(directory, { recursive: true, force: true });
  });

  function bundle(
    request: ContainerCreateRequest,
    { hasQuota = false }: { hasQuota?: boolean } = {},
  ): { id: string; path: string; spec: ContainerSpec } {
    const id = newId();
    const { spec } = buildSpec({
      id,
      request,
      image: { id: '', layerIds: [], config: {}, os: 'linux', architecture: facts.imageArchitecture },
      isPlatformAsked: false,
      facts,
      defaults: engineDefaults,
      findContainer: () => undefined,
      findNetwork: (name) => ({ id: name, name }),
      hostPathExists: () => true,
      findImage: () => undefined,
      describedDevices: () => [],
    });
    const oci = translate(spec, {
      host: facts,
      defaults: engineDefaults,
      ...readLaunchFacts(spec, rootPath),
      rootPath,
      cgroupsPath: `${cgroupParent}/${id}`,
      netnsPath: `/run/netns/${netns}`,
      files: {
        hostname: join(directory, 'hostname'),
        hosts: join(directory, 'hosts'),
        resolvConf: join(directory, 'resolv.conf'),
      },
      sharedMemory: join(directory, 'shm'),
      pinnedSources: new Map(),
      volumePaths: new Map(),
      hasQuota,
    });
    const path = join(directory, id);
    mkdirSync(path);
    writeFileSync(join(path, 'config.json'), encodeSpec(oci));
    return { id, path, spec };
  }

  function runc(...args: string[]): Buffer {
    return execFileSync('runc', ['--root', join(directory, 'runc'), ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  }

  function run(request: ContainerCreateRequest, { hasQuota = false } = {}): Buffer {
    const { id, path } = bundle(request, { hasQuota });
    return runc('run', '--bundle', path, id);
  }

  /** What the system answered to these probes. */
  function resultsOf(hasQuota: boolean, among: readonly Probe[]): Set<number | undefined> {
    const results = readProbeResults(run({ Cmd: ['/probe'] }, { hasQuota }), probes);
    return new Set(among.map(({ name }) => results.get(name)));
  }

  const status = ['cat', '/proc/self/status'];
  const defaultMask = maskOfCapabilities(DEFAULT_CAPABILITIES);
  const none = maskOfCapabilities([]);

  test.skipIf(process.arch !== 'x64')('cannot make the system calls that reach for the host', () => {
    const results = readProbeResults(run({ Cmd: ['/probe'] }), probes);
    expect(
      refused.filter(({ name }) => results.get(name) !== EPERM).map(({ name }) => [name, results.get(name)]),
    ).toEqual([]);
    expect(
      allowed
        .filter(({ name }) => results.get(name) === EPERM || results.get(name) === ENOSYS)
        .map(({ name }) => [name, results.get(name)]),
    ).toEqual([]);
    expect(results.get('clone3')).toBe(ENOSYS);
  });

  test.skipIf(process.arch !== 'x64')('cannot take files out of a quota, where it has one', () => {
    expect(resultsOf(true, projectChanges)).toEqual(new Set([EPERM]));
    expect(resultsOf(true, ordinaryRequests)).toEqual(new Set([EBADF]));
    expect(resultsOf(false, projectChanges)).toEqual(new Set([EBADF]));
  });

  test.skipIf(process.arch !== 'x64')('gets calls back with the capability they belong to', () => {
    const HostConfig = { CapAdd: ['SYS_ADMIN', 'syslog'] };
    const results = readProbeResults(run({ Cmd: ['/probe'], HostConfig }), probes);
    const still = refused.filter(({ name }) => results.get(name) === EPERM).map(({ name }) => name);
    for (const name of ['mount', 'setns', 'unshare', 'fsopen', 'syslog', 'bpf']) {
      expect(still).not.toContain(name);
    }
    for (const name of [
      'io_uring_setup',
      'keyctl',
      'userfaultfd',
      'init_module',
      'kexec_load',
      'socket(AF_ALG)',
    ]) {
      expect(still).toContain(name);
    }
  });

  test('has exactly the default capabilities, the filter, and none of it as another user', () => {
    expect(privilegesOf(run({ Cmd: status }).toString())).toEqual({
      Uid: '0\t0\t0\t0',
      Groups: '0',
      CapInh: none,
      CapPrm: defaultMask,
      CapEff: defaultMask,
      CapBnd: defaultMask,
      CapAmb: none,
      NoNewPrivs: '0',
      Seccomp: '2',
    });
    const SecurityOpt = ['no-new-privileges'];
    expect(privilegesOf(run({ Cmd: status, User: 'web', HostConfig: { SecurityOpt } }).toString())).toEqual({
      Uid: '1000\t1000\t1000\t1000',
      Groups: '50 1000',
      CapInh: none,
      CapPrm: none,
      CapEff: none,
      CapBnd: defaultMask,
      CapAmb: none,
      NoNewPrivs: '1',
      Seccomp: '2',
    });
  });

  test('has every capability of the daemon and no filter when privileged', () => {
    const all = maskOfCapabilities(facts.boundingSet);
    expect(privilegesOf(run({ Cmd: status, HostConfig: { Privileged: true } }).toString())).toMatchObject({
      CapInh: none,
      CapEff: all,
      CapBnd: all,
      CapAmb: none,
      Seccomp: '0',
    });
  });

  test('sees nothing at masked paths and changes nothing in /proc/sys, /sys and the cgroups', () => {
    const script = `
      cat /proc/kcore /proc/keys /proc/timer_list /proc/interrupts 2>/dev/null
      ls /sys/firmware /proc/acpi /proc/scsi 2>/dev/null | cat | busybox grep -v : | busybox grep .
      for path in /proc/sys/kernel/panic /proc/sysrq-trigger /proc/irq/x /sys/x /sys/fs/cgroup/x; do
        touch $path 2>/dev/null && echo "$path is writable"
        true >$path 2>/dev/null && echo "$path is writable"
      done
      echo done`;
    expect(run({ Cmd: ['sh', '-c', script] }).toString()).toBe('done\n');
  });

  test('finds the files of the engine, its own /dev/shm and its environment', () => {
    const script = `
      cat /etc/hostname /etc/hosts /etc/resolv.conf
      df -k /dev/shm | busybox awk 'END { print $2 }'
      pwd; env | busybox sort; cat /proc/sys/kernel/hostname /proc/sys/kernel/domainname
      cat /sys/fs/cgroup/pids/pids.max /sys/fs/cgroup/pids.max 2>/dev/null | busybox head -1; ulimit -n; ulimit -c`;
    const output = run({
      Hostname: 'web-1',
      Domainname: 'example.org',
      Cmd: ['sh', '-c', script],
      Env: ['B=2', 'A=1'],
      WorkingDir: '/work/new',
      User: 'web',
      HostConfig: {
        ShmSize: 1024 * 1024,
        PidsLimit: 50,
        Ulimits: [
          { Name: 'nofile', Soft: 100, Hard: 200 },
          { Name: 'core', Soft: -1, Hard: -1 },
        ],
      },
    });
    expect(
      output
        .toString()
        .split('\n')
        .filter((line) => !/^(?:OLDPWD|SHLVL|PWD)=/.test(line)),
    ).toEqual([
      'hostname of the engine',
      'hosts of the engine',
      'resolv.conf of the engine',
      '1024',
      '/work/new',
      'A=1',
      'B=2',
      'HOME=/home/web',
      'HOSTNAME=web-1',
      'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
      'web-1',
      'example.org',
      '50',
      '100',
      'unlimited',
      '',
    ]);
  });

  test('may ping: as root with a raw socket, as anybody with an ICMP one', () => {
    const output = run({ Cmd: ['ping', '-c', '1', '-W', '2', '127.0.0.1'] });
    expect(output.toString()).toContain('1 packets received');
    const range = run({ Cmd: ['cat', '/proc/sys/net/ipv4/ping_group_range'], User: 'web' });
    expect(range.toString()).toBe('0\t2147483647\n');
  });

  test('keeps read-only what is mounted read-only, all the way down', () => {
    const source = join(directory, 'source');
    mkdirSync(join(source, 'below'), { recursive: true });
    execFileSync('mount', ['-t', 'tmpfs', 'bth-spec', join(source, 'below')]);
    try {
      const script =
        'for path in /data/x /data/below/x /x /run/x; do touch $path 2>/dev/null && echo $path; done; true';
      const output = run({
        Cmd: ['sh', '-c', script],
        HostConfig: { Binds: [`${source}:/data:ro`], Tmpfs: { '/run': 'size=1m' }, ReadonlyRootfs: true },
      });
      expect(output.toString()).toBe(facts.recursiveReadOnly ? '/run/x\n' : '/data/below/x\n/run/x\n');
    } finally {
      execFileSync('umount', [join(source, 'below')]);
    }
  });

  test('has an init that reaps as process 1', () => {
    const script = 'cat /proc/1/cmdline | busybox tr "\\0" " "';
    const output = run({ Cmd: ['sh', '-c', script], HostConfig: { Init: true } });
    expect(output.toString()).toMatch(/^\/sbin\/docker-init -- sh -c /);
  });

  test('gives an exec the same sandbox', () => {
    const { id, path, spec } = bundle({ Cmd: ['sleep', '60'], Env: ['A=1'], WorkingDir: '/work' });
    execFileSync('runc', ['--root', join(directory, 'runc'), 'run', '--detach', '--bundle', path, id], {
      stdio: 'ignore',
    });
    try {
      const exec = (request: { User?: string; Privileged?: boolean }): string => {
        const user = resolveUser(request.User ?? '', readAccountFiles(rootPath));
        const process = buildExecProcess(
          spec,
          { ...request, Cmd: status },
          { host: facts, defaults: engineDefaults, user },
        );
        writeFileSync(join(path, 'process.json'), JSON.stringify(process));
        return runc('exec', '--process', join(path, 'process.json'), id).toString();
      };
      expect(privilegesOf(exec({}))).toMatchObject({
        CapInh: none,
        CapEff: defaultMask,
        CapBnd: defaultMask,
        Seccomp: '2',
      });
      expect(privilegesOf(exec({ User: 'web' }))).toMatchObject({
        Groups: '50 1000',
        CapInh: none,
        CapPrm: none,
        CapEff: none,
        CapBnd: defaultMask,
        CapAmb: none,
      });
      expect(privilegesOf(exec({ Privileged: true }))).toMatchObject({
        CapEff: maskOfCapabilities(facts.boundingSet),
      });
    } finally {
      runc('delete', '--force', id);
    }
  });
});
