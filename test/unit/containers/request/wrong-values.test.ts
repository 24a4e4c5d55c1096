import { expect, test } from 'vitest';
import { EngineError } from '../../../../daemon/base/errors.ts';
import { barrenHost } from './host-facts.ts';
import { build } from './build.ts';
import { wrongConfigs, wrongHosts } from './wrong-requests.ts';

/** Code and text of the error that `action` throws. */
function refusalOf(action: () => unknown): unknown[] {
  try {
    return ['accepted', action()];
  } catch (error) {
    return error instanceof EngineError ? [error.code, error.message] : [error];
  }
}

const requests = [
  ...wrongConfigs,
  ...wrongHosts.map(([HostConfig, text]) => [{ HostConfig }, text] as const),
];

test.each(requests)('create refuses %j', (request, text) => {
  expect(refusalOf(() => build(request))).toEqual(['invalid_argument', text]);
});

test.each([
  [{ CpuRealtimeRuntime: 1 }, 'kernel does not support CPU real-time scheduler'],
  [
    { NanoCpus: 1e9 },
    'NanoCPUs can not be set, as your kernel does not support CPU CFS scheduler or the cgroup is not mounted',
  ],
  [{ CgroupnsMode: 'private' }, 'CgroupnsMode private: this kernel does not support cgroup namespaces'],
  [{ Init: true }, 'Init is not possible: no docker-init or tini binary was found on this host'],
  [
    { SecurityOpt: ['seccomp=builtin'] },
    'seccomp is not enabled in your kernel, cannot run a custom seccomp profile',
  ],
  [
    {
      Mounts: [
        {
          Type: 'bind' as const,
          Source: '/a',
          Target: '/x',
          ReadOnly: true,
          BindOptions: { ReadOnlyForceRecursive: true },
        },
      ],
    },
    'invalid mount config for type "bind": recursively read-only mounts need Linux 5.12 and runc 1.1 or later',
  ],
])('create refuses %j on a machine that cannot do it', (HostConfig, text) => {
  expect(refusalOf(() => build({ HostConfig }, { facts: barrenHost }))).toEqual(['invalid_argument', text]);
});
