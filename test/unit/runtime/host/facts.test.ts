import { expect, test } from 'vitest';
import { readHostFacts } from '../../../../runtime/host/read-facts.ts';
import type { HostSource } from '../../../../runtime/host/source.ts';
import { isAtLeast } from '../../../../runtime/host/version.ts';

function machine(files: Record<string, string>, programs: Record<string, string>): HostSource {
  return {
    architecture: 'x86_64',
    read: (path) => files[path],
    exists: (path) => path in files,
    find: (name) => (name in programs ? `/usr/bin/${name}` : undefined),
    run: async ([path]) => programs[path.slice('/usr/bin/'.length)],
  };
}

const common = {
  '/proc/sys/kernel/hostname': 'metal\n',
  '/proc/sys/kernel/osrelease': '6.1.0-18-amd64\n',
  '/proc/self/status': 'Name:\tberthd\nCapBnd:\t00000000a80425fb\nSeccomp:\t0\nCpus_allowed_list:\t0-2,5\n',
  '/proc/meminfo': 'MemTotal:        8000000 kB\nMemFree:  1 kB\n',
  '/proc/filesystems': 'nodev\tsysfs\nnodev\toverlay\n\text4\n',
  '/proc/self/limits':
    'Limit                     Soft Limit           Hard Limit           Units     \n' +
    'Max open files            1024                 524288               files     \n' +
    'Max core file size        0                    unlimited            bytes     \n' +
    'Max nice priority         0                    0                    \n',
  '/proc/self/oom_score_adj': '-500\n',
  '/proc/sys/user/max_user_namespaces': '9999\n',
  '/proc/self/ns/cgroup': '',
  '/proc/sys/net/ipv4/ip_forward': '1\n',
  '/proc/swaps': '',
  '/etc/os-release': 'NAME="Debian"\nPRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\nVERSION_ID=\'12\'\n',
  '/sys/devices/system/cpu/possible': '0-2\n',
  '/sys/devices/system/cpu/cpu1/thermal_throttle': '',
};

const programs = {
  runc: 'runc version 1.3.6\ncommit: v1.3.6-0-gabc\nspec: 1.2.0\n',
  conmon: 'conmon version 2.1.6\ncommit: unknown\n',
  nft: 'nftables v1.0.6 (Lester Gooch #5)\n',
  'docker-init': 'tini version 0.19.0 - git.de40ad0\n',
};

const v2 = {
  ...common,
  '/sys/fs/cgroup/cgroup.controllers': 'cpuset cpu io memory hugetlb pids rdma misc\n',
  '/sys/fs/cgroup/cpuset.cpus.effective': '0-3\n',
  '/sys/fs/cgroup/cpuset.mems.effective': '0\n',
};

test('facts of a machine with cgroup version 2', async () => {
  expect(await readHostFacts(machine(v2, programs), { cgroupDriver: 'systemd' })).toMatchSnapshot();
});

test('facts of a hybrid machine that lacks things', async () => {
  const files = {
    '/proc/self/status': common['/proc/self/status'].replace('Seccomp:\t0\n', ''),
    '/proc/sys/kernel/osrelease': '5.4.0\n',
    '/proc/self/mountinfo':
      '30 29 0:26 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n' +
      '31 29 0:27 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,xattr,name=systemd\n' +
      '32 29 0:28 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n' +
      '33 29 0:29 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n',
    '/sys/fs/cgroup/memory/memory.oom_control': '',
    '/sys/fs/cgroup/cpu,cpuacct/cpu.shares': '',
  };
  const facts = await readHostFacts(
    machine(files, { ...programs, runc: 'runc version 1.1.5+ds1\n', 'docker-init': '' }),
    {
      cgroupDriver: 'cgroupfs',
    },
  );
  expect({ cgroup: facts.cgroup, warnings: facts.warnings }).toMatchSnapshot();
});

test.each([
  ['6.1.0-18-amd64', '5.12', true],
  ['5.4.0', '5.12', false],
  ['1.10', '1.9', true],
  ['1.1.5+ds1', '1.1.5', true],
  ['1.3.6-rc.1', '1.3.6', true],
  ['', '1', false],
])('%s is at least %s: %s', (version, floor, answer) => {
  expect(isAtLeast(version, floor)).toBe(answer);
});

test.each([
  ['built in or loaded', { '/proc/filesystems': 'nodev\toverlay\n' }, true],
  [
    'a module that nothing has asked for since the boot',
    {
      '/lib/modules/6.1.0-18-amd64/modules.dep':
        'kernel/fs/overlayfs/overlay.ko.xz:\nkernel/fs/fat/fat.ko:\n',
    },
    true,
  ],
  [
    'a module of another kernel',
    { '/lib/modules/5.4.0/modules.dep': 'kernel/fs/overlayfs/overlay.ko:\n' },
    false,
  ],
  ['another file system', { '/proc/filesystems': 'nodev\toverlayfs2\n' }, false],
])('overlay: %s', async (_what, files, expected) => {
  const host = machine({ ...v2, '/proc/filesystems': '', ...files }, programs);
  expect((await readHostFacts(host, { cgroupDriver: 'systemd' })).overlay).toBe(expected);
});
