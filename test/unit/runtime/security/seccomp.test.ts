import { expect, test } from 'vitest';
import {
  boundingSetOf,
  CAPABILITIES,
  DEFAULT_CAPABILITIES,
  maskOfCapabilities,
  requestedCapabilities,
} from '../../../../runtime/security/capabilities.ts';
import { compileSeccomp, parseSeccompProfile } from '../../../../runtime/security/seccomp-profile.ts';
import { defaultSeccomp } from '../../../../runtime/security/seccomp.ts';

const target = { architecture: 'amd64', kernelVersion: '6.1.0', capabilities: [...DEFAULT_CAPABILITIES] };

test('capabilities have the numbers of the kernel', () => {
  expect(maskOfCapabilities(DEFAULT_CAPABILITIES)).toBe('00000000a80425fb');
  expect(maskOfCapabilities(CAPABILITIES)).toBe('000001ffffffffff');
  expect(boundingSetOf('CapEff:\t0\nCapBnd:\t0000000000000401\n')).toEqual([
    'CAP_CHOWN',
    'CAP_NET_BIND_SERVICE',
  ]);
});

test.each<[string[], string[], number]>([
  [[], [], 14],
  [['SYS_TIME', 'cap_chown'], ['MKNOD'], 14],
  [['ALL'], ['sys_admin'], 40],
  [['NET_ADMIN'], ['all'], 1],
  [[], ['ALL'], 0],
])('adding %j and dropping %j leaves %i capabilities', (add, drop, count) => {
  expect(requestedCapabilities({ privileged: false, add, drop })).toHaveLength(count);
});

/** Calls that are allowed whatever their arguments. */
function namesOf(capabilities: readonly string[]): Set<string> {
  return new Set(
    defaultSeccomp({ ...target, capabilities })
      .syscalls.filter((rule) => rule.action === 'SCMP_ACT_ALLOW' && !rule.args)
      .flatMap((rule) => rule.names),
  );
}

test('the default filter has its special rules', () => {
  const filter = defaultSeccomp(target);
  const special = filter.syscalls.filter((rule) => rule.args || rule.action !== 'SCMP_ACT_ALLOW');
  expect({ ...filter, syscalls: special }).toMatchSnapshot();
});

test('the default filter opens up with capabilities, never for what reaches around it', () => {
  const [some, all] = [namesOf(DEFAULT_CAPABILITIES), namesOf(CAPABILITIES)];
  expect([...all].filter((name) => !some.has(name)).toSorted()).toMatchSnapshot();
  expect(
    [...all].filter((name) => /^(?:io_uring_|keyctl|add_key|request_key|kexec|userfaultfd|swap)/.test(name)),
  ).toEqual([]);
});

test('a profile of one’s own keeps the rules that hold here', () => {
  const profile = parseSeccompProfile(
    JSON.stringify({
      defaultAction: 'SCMP_ACT_ERRNO',
      defaultErrnoRet: 38,
      archMap: [
        { architecture: 'SCMP_ARCH_X86_64', subArchitectures: ['SCMP_ARCH_X86'] },
        { architecture: 'SCMP_ARCH_AARCH64', subArchitectures: null },
      ],
      syscalls: [
        { name: 'old', action: 'SCMP_ACT_ALLOW', args: null },
        {
          names: ['here'],
          action: 'SCMP_ACT_ALLOW',
          includes: { arches: ['amd64', 'x32'], minKernel: '4.8' },
        },
        { names: ['newer'], action: 'SCMP_ACT_ALLOW', includes: { minKernel: '6.2' } },
        { names: ['elsewhere'], action: 'SCMP_ACT_ALLOW', includes: { arches: ['arm64'] } },
        { names: ['admin'], action: 'SCMP_ACT_ALLOW', includes: { caps: ['CAP_SYS_ADMIN'] } },
        { names: ['noroot'], action: 'SCMP_ACT_ALLOW', excludes: { caps: ['CAP_CHOWN'] } },
        {
          names: ['masked'],
          action: 'SCMP_ACT_ALLOW',
          args: [{ index: 1, value: 7, valueTwo: 0, op: 'SCMP_CMP_MASKED_EQ' }],
        },
      ],
    }),
  );
  expect(compileSeccomp(profile, target)).toEqual({
    defaultAction: 'SCMP_ACT_ERRNO',
    defaultErrnoRet: 38,
    architectures: ['SCMP_ARCH_X86_64', 'SCMP_ARCH_X86'],
    syscalls: [
      { names: ['old'], action: 'SCMP_ACT_ALLOW' },
      { names: ['here'], action: 'SCMP_ACT_ALLOW' },
      {
        names: ['masked'],
        action: 'SCMP_ACT_ALLOW',
        args: [{ index: 1, value: 7, valueTwo: 0, op: 'SCMP_CMP_MASKED_EQ' }],
      },
    ],
  });
});

test.each([
  ['[]', 'profile must be an object'],
  ['{"defaultAction":"KILL"}', 'defaultAction: unknown action KILL'],
  ['{"defaultAction":"SCMP_ACT_LOG","syscalls":{}}', 'syscalls must be an array'],
  ['{"defaultAction":"SCMP_ACT_LOG","syscalls":[{"names":[7]}]}', 'syscalls[0].names[0] must be a string'],
  [
    '{"defaultAction":"SCMP_ACT_LOG","syscalls":[{"names":["a"],' +
      '"action":"SCMP_ACT_LOG","args":[{"index":9,"value":0,"op":"SCMP_CMP_EQ"}]}]}',
    'syscalls[0].args[0].index: a system call has arguments 0 to 5',
  ],
  [
    '{"defaultAction":"SCMP_ACT_LOG","architectures":["x"],"archMap":[{"architecture":"y"}]}',
    "both 'architectures' and 'archMap' are specified",
  ],
])('the profile %s is refused', (json, text) => {
  expect(() => parseSeccompProfile(json)).toThrow(text);
});
