import { expect, test } from 'vitest';
import type { ContainerCreateRequest } from '../../../../api/types/container.ts';
import { invalidArgument } from '../../../../daemon/base/errors.ts';
import { namingFields } from '../../../../daemon/containers/request/faulty-fields.ts';
import { build } from './build.ts';
import { wrongConfigs, wrongHosts } from './wrong-requests.ts';

function messageOf(action: () => unknown): string {
  try {
    action();
    return 'accepted';
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

test.each([
  [{ HostConfig: { Memory: 4096 } }, 'Minimum memory limit allowed is 6MB (HostConfig.Memory: 4096)'],
  [
    { HostConfig: { NanoCpus: 1e9, CpuQuota: 5000, CpuShares: 2 } },
    'Conflicting options: Nano CPUs and CPU Quota cannot both be set ' +
      '(HostConfig.NanoCpus: 1000000000, HostConfig.CpuQuota: 5000)',
  ],
  [{ Hostname: 'a b', User: 'x' }, 'invalid hostname format: a b (Hostname: "a b")'],
  [{ Env: ['SECRET=x', ''] }, "invalid environment variable: entry 1 has no name before its '=' (Env)"],
  [
    {
      HostConfig: {
        Mounts: [{ Type: 'image' as const, Target: '/x', VolumeOptions: { Labels: { a: 'hush' } } }],
      },
    },
    'invalid mount config for type "image": field VolumeOptions must not be specified (HostConfig.Mounts)',
  ],
  [
    { HostConfig: { OomScoreAdj: 1001 } },
    'Invalid value 1001, range for oom score adj is [-1000, 1000] (HostConfig.OomScoreAdj: 1001)',
  ],
])('a refusal of %j says %s', (request, text) => {
  expect(messageOf(() => namingFields(request, build))).toBe(text);
});

/** For an image that has no command of its own. */
function withoutCommand(asked: ContainerCreateRequest): unknown {
  return build(asked, { image: { Cmd: null } });
}

test.each([
  [
    { Cmd: ['hush'], Labels: { a: 'hush' }, HostConfig: { Memory: 4096 } },
    'Minimum memory limit allowed is 6MB (HostConfig.Memory: 4096)',
  ],
  [
    { Cmd: ['hush'], HostConfig: { Memory: 4096, NanoCpus: 5e9 } },
    'Minimum memory limit allowed is 6MB (HostConfig.Memory: 4096)',
  ],
  [
    { Cmd: ['hush'], HostConfig: { NanoCpus: 1e9, CpuQuota: 5000, OomScoreAdj: 1001 } },
    'Conflicting options: Nano CPUs and CPU Quota cannot both be set ' +
      '(HostConfig.NanoCpus: 1000000000, HostConfig.CpuQuota: 5000)',
  ],
])('class 29: a refusal of %j does not name Cmd, which an image without a command needs', (request, text) => {
  expect(messageOf(() => namingFields(request, withoutCommand))).toBe(text);
});

test.each(['Cmd', 'Entrypoint', 'Env', 'Shell'] as const)(
  'class 29: %s is named without its content',
  (name) => {
    const refuse = (asked: ContainerCreateRequest): void => {
      if (asked[name]) {
        throw invalidArgument('no');
      }
    };
    expect(messageOf(() => namingFields({ [name]: ['hush'] }, refuse))).toBe(`no (${name})`);
  },
);

test('a text that names field and value stays as it is', () => {
  const message = 'sysctl Sysctls kernel.x is not allowed';
  const refuse = (request: object): void => {
    if ('HostConfig' in request) {
      throw invalidArgument(message);
    }
  };
  expect(messageOf(() => namingFields({ HostConfig: { Sysctls: { a: 'kernel.x' } } }, refuse))).toContain(
    message,
  );
});

const requests: ContainerCreateRequest[] = [
  ...wrongConfigs.map(([request]) => request),
  ...wrongHosts.map(([HostConfig]) => ({ HostConfig })),
];

test.each(requests)('the refusal of %j names a field of it', (request) => {
  const names = Object.entries(request).flatMap(([name, value]) =>
    name === 'HostConfig' ? Object.keys(value ?? {}) : [name],
  );
  const message = messageOf(() => namingFields(request, build));
  expect(names.some((name) => message.includes(name))).toBe(true);
});
