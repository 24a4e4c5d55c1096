import { expect, test } from 'vitest';
import { engineDefaults } from '../../../../daemon/containers/request/engine-defaults.ts';
import { checkCgroupParent } from '../../../../daemon/containers/request/limits/cgroup-parent.ts';
import { build } from './build.ts';
import { capableHost } from './host-facts.ts';

test.each([
  ['cgroupfs', ''],
  ['cgroupfs', '/'],
  ['cgroupfs', '/a/b'],
  ['cgroupfs', 'a.slice'],
  ['systemd', ''],
  ['systemd', 'ci.slice'],
  ['systemd', 'ci-job_1.slice'],
] as const)('checkCgroupParent: %s takes %j', (driver, parent) => {
  expect(checkCgroupParent(parent, driver, 'CgroupParent')).toBe(parent);
});

const NO_SLICE = 'cgroup-parent for systemd cgroup should be a valid slice named as "xxx.slice"';

test.each([
  ['systemd', '/ci', NO_SLICE],
  ['systemd', '.slice', NO_SLICE],
  ['systemd', '-.slice', NO_SLICE],
  ['systemd', 'a--b.slice', NO_SLICE],
  ['systemd', 'a-.slice', NO_SLICE],
  ['systemd', 'a:b.slice', NO_SLICE],
  ['systemd', 'a.slice/b.slice', NO_SLICE],
  ['systemd', `${'a'.repeat(300)}.slice`, NO_SLICE],
  ['cgroupfs', `/${'a'.repeat(300)}`, 'not a path of cgroups'],
] as const)('checkCgroupParent: %s refuses %j', (driver, parent, message) => {
  expect(() => checkCgroupParent(parent, driver, 'CgroupParent')).toThrow(message);
});

test.each([
  // version, default of the daemon, asked, privileged -> mode
  [1, '', '', false, 'host'],
  [2, '', '', false, 'private'],
  [2, '', '', true, 'private'],
  [2, 'host', '', false, 'host'],
  [1, 'private', '', false, 'private'],
  [1, 'private', '', true, 'host'],
  [1, 'host', 'private', true, 'private'],
  [2, 'private', 'host', false, 'host'],
] as const)(
  'CgroupnsMode on version %d, default %j: asked %j, privileged %j is %s',
  (version, cgroupnsMode, CgroupnsMode, Privileged, expected) => {
    const facts = { ...capableHost, cgroup: { ...capableHost.cgroup, version } };
    const defaults = { ...engineDefaults, cgroupnsMode };
    const { spec } = build({ HostConfig: { CgroupnsMode, Privileged } }, { facts, defaults });
    expect(spec.hostConfig.CgroupnsMode).toBe(expected);
  },
);

test('CgroupnsMode: a kernel without these namespaces has the host mode alone', () => {
  const facts = { ...capableHost, cgroupNamespaces: false };
  const defaults = { ...engineDefaults, cgroupnsMode: 'private' as const };
  expect(build({}, { facts, defaults }).spec.hostConfig.CgroupnsMode).toBe('host');
  expect(() => build({ HostConfig: { CgroupnsMode: 'private' } }, { facts })).toThrow(
    'CgroupnsMode private: this kernel does not support cgroup namespaces',
  );
});
