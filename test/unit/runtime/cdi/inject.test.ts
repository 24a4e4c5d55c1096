import { expect, test } from 'vitest';
import { injectCdi } from '../../../../runtime/cdi/inject.ts';
import type { OciSpec } from '../../../../runtime/runc/spec-types.ts';

const BARE: OciSpec = {
  ociVersion: '1.0.2',
  process: {
    terminal: false,
    user: { uid: 0, gid: 0, additionalGids: [5] },
    args: ['sh'],
    env: ['PATH=/bin', 'GPU=none'],
    cwd: '/',
    noNewPrivileges: false,
  },
  root: { path: '/r', readonly: false },
  mounts: [{ destination: '/proc' }],
  linux: {
    namespaces: [],
    cgroupsPath: '/c',
    devices: [{ path: '/dev/gpu', type: 'c', major: 9, minor: 9 }],
    resources: { devices: [{ allow: false, access: 'rwm' }] },
  },
};

const none = (): never => {
  throw new Error('not asked');
};
const lookUp = () => ({ type: 'c' as const, major: 1, minor: 3, fileMode: 0o666 });

test('nothing changes without devices', () => {
  expect(injectCdi(BARE, [], lookUp)).toBe(BARE);
});

test('variables and nodes take the place of those of their name, rules, mounts, hooks and groups are added', () => {
  const spec = injectCdi(
    BARE,
    [
      {
        env: ['GPU=0'],
        deviceNodes: [{ path: '/dev/gpu', hostPath: '/dev/real', permissions: 'rw' }],
        mounts: [
          { hostPath: '/a/b', containerPath: '/x/y' },
          { hostPath: '/a', containerPath: '/x', options: ['ro', 'bind'] },
        ],
        hooks: [{ hookName: 'createContainer', path: '/bin/one' }],
        additionalGids: [5, 44],
      },
      { hooks: [{ hookName: 'createContainer', path: '/bin/two', args: ['two'], timeout: 3 }] },
    ],
    lookUp,
  );
  expect(spec.process).toMatchObject({ env: ['PATH=/bin', 'GPU=0'], user: { additionalGids: [5, 44] } });
  expect(spec.linux.devices).toEqual([{ path: '/dev/gpu', type: 'c', major: 1, minor: 3, fileMode: 0o666 }]);
  expect(spec.linux.resources.devices).toEqual([
    { allow: false, access: 'rwm' },
    { allow: true, type: 'c', major: 1, minor: 3, access: 'rw' },
  ]);
  expect(spec.mounts.map(({ destination, options }) => [destination, options])).toEqual([
    ['/proc', undefined],
    ['/x', ['ro', 'bind']],
    ['/x/y', ['rbind', 'nosuid', 'nodev', 'ro']],
  ]);
  expect(spec.hooks).toEqual({
    createContainer: [{ path: '/bin/one' }, { path: '/bin/two', args: ['two'], timeout: 3 }],
  });
});

test('a node that is told whole is not looked up; it belongs to the user of the process', () => {
  const user = { uid: 1000, gid: 100 };
  const node = { path: '/dev/x', type: 'b' as const, major: 8, minor: 0, fileMode: 0o600 };
  const owned = injectCdi({ ...BARE, process: { ...BARE.process, user } }, [{ deviceNodes: [node] }], none);
  expect(owned.linux.devices?.at(-1)).toEqual({ ...node, uid: 1000, gid: 100 });
  const told = injectCdi(BARE, [{ deviceNodes: [{ ...node, uid: 7, gid: 8 }] }], none);
  expect(told.linux.devices?.at(-1)).toEqual({ ...node, uid: 7, gid: 8 });
});
