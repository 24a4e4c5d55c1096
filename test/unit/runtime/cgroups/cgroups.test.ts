import { expect, test } from 'vitest';
import { cgroupLayout } from '../../../../runtime/cgroups/detect.ts';
import {
  cgroupDirectories,
  cgroupsPathOf,
  idOfCgroup,
  relativeCgroup,
  relativeParent,
} from '../../../../runtime/cgroups/paths.ts';
import { ownCgroup } from '../../../../runtime/cgroups/quick-moves.ts';
import { parseMountInfo } from '../../../../runtime/mounts/mountinfo.ts';

const ID = 'a'.repeat(64);
const V1 = [
  '1 2 0:1 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct',
  '1 2 0:2 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory',
  '1 2 0:3 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,xattr,name=systemd',
];
const V2 = '1 2 0:4 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw,nsdelegate';

test.each([
  ['version 1', V1, 1, ['cpu', 'cpuacct', 'memory', 'name=systemd'], null],
  ['a hybrid', [...V1, V2], 1, ['cpu', 'cpuacct', 'memory', 'name=systemd'], '/sys/fs/cgroup/unified'],
  ['version 2', [V2], 2, [], '/sys/fs/cgroup/unified'],
  ['no cgroups', [], 1, [], null],
])('cgroupLayout of %s', (_title, lines, version, controllers, unified) => {
  const layout = cgroupLayout(parseMountInfo(lines.join('\n')));
  expect({ ...layout, controllers: [...layout.controllers.keys()] }).toEqual({
    version,
    controllers,
    unified,
  });
});

test.each([
  ['cgroupfs', '/berth', `/berth/${ID}`, `/berth/${ID}`, '/berth', ID],
  ['cgroupfs', 'a/b', `/a/b/${ID}`, `/a/b/${ID}`, '/a/b', ID],
  [
    'systemd',
    'berth-x.slice',
    `berth-x.slice:berth:${ID}`,
    `/berth.slice/berth-x.slice/berth-${ID}.scope`,
    '/berth.slice/berth-x.slice',
    `berth-${ID}.scope`,
  ],
] as const)(
  'paths of a container under %s below %s',
  (driver, parent, cgroupsPath, relative, directory, name) => {
    expect(cgroupsPathOf(driver, parent, ID)).toBe(cgroupsPath);
    expect(relativeCgroup(driver, cgroupsPath)).toBe(relative);
    expect(relativeParent(driver, parent)).toBe(directory);
    expect(idOfCgroup(driver, name)).toBe(ID);
    expect(idOfCgroup(driver, 'init.scope')).toBeUndefined();
  },
);

test('cgroupDirectories names co-mounted controllers once', () => {
  expect(cgroupDirectories(cgroupLayout(parseMountInfo([...V1, V2].join('\n'))), '/berth')).toEqual([
    '/sys/fs/cgroup/cpu,cpuacct/berth',
    '/sys/fs/cgroup/memory/berth',
    '/sys/fs/cgroup/systemd/berth',
    '/sys/fs/cgroup/unified/berth',
  ]);
});

test.each([
  ['version 1', V1, '3:rdma:/x\n2:cpu,cpuacct:/a\n0::/u\n', '/sys/fs/cgroup/cpu,cpuacct/a'],
  ['a named hierarchy', V1, '1:name=systemd:/init.scope\n', '/sys/fs/cgroup/systemd/init.scope'],
  [
    'version 2',
    [V2],
    '0::/system.slice/berth.service\n',
    '/sys/fs/cgroup/unified/system.slice/berth.service',
  ],
  ['a host that hides them', [], '2:cpu:/a\n0::/u\n', undefined],
])('ownCgroup under %s', (_title, lines, text, directory) => {
  expect(ownCgroup(cgroupLayout(parseMountInfo(lines.join('\n'))), text)).toBe(directory);
});
