import { beforeEach, describe, expect, test } from 'vitest';
import type { ContainerSpec } from '../../../../api/types/swarm/container-spec.ts';
import type {
  EndpointSpec,
  PortConfig,
  ServiceSpec,
  UpdateConfig,
} from '../../../../api/types/swarm/service.ts';
import type { TaskSpec } from '../../../../api/types/swarm/task.ts';
import type { Clock } from '../../../../daemon/base/clock.ts';
import { invalidArgument } from '../../../../daemon/base/errors.ts';
import { put } from '../../../../swarm/objects/parts.ts';
import { StoreError } from '../../../../swarm/store/errors.ts';
import { ManualClock } from '../../../support/fakes/manual-clock.ts';
import { nodeWrites } from '../../../support/swarm/builders.ts';
import { controlRig, NOBODY, type ControlRig } from '../../../support/swarm/control-rig.ts';

const OPTIONS = { pinImage: false, signal: NOBODY };
const INVALID = 'rpc error: code = InvalidArgument desc = ';

let rig: ControlRig;

beforeEach(async () => {
  rig = await controlRig({
    checkTemplates: (task) => {
      if (task.ContainerSpec?.Hostname?.includes('{{')) {
        throw invalidArgument('expanding hostname failed');
      }
    },
  });
});

const task = (more: TaskSpec): ServiceSpec => ({
  Name: 'web',
  TaskTemplate: { ContainerSpec: { Image: 'busybox' }, ...more },
});
const container = (more: ContainerSpec): ServiceSpec =>
  task({ ContainerSpec: { Image: 'busybox', ...more } });
const update = (config: UpdateConfig): ServiceSpec => ({ ...task({}), UpdateConfig: config });
const ports = (Ports: PortConfig[], more: EndpointSpec = {}): ServiceSpec => ({
  ...task({}),
  EndpointSpec: { ...more, Ports },
});
/** What a client may send, whatever the types say. */
const any = (spec: unknown): ServiceSpec => spec as ServiceSpec;
const file = (Name: string) => ({ Name, UID: '0', GID: '0', Mode: 292 });
const host = { TargetPort: 80, PublishMode: 'host' } as const;

const NAME_RULE = `${INVALID}name must be valid as a DNS name component`;
const LOCAL_NETWORK =
  'The network blue cannot be used with services. Only networks scoped to the swarm can be used, such as those ' +
  'created with the overlay driver.';

describe('create: refuses in the words of dockerd and its managers', () => {
  test.each<[what: string, spec: ServiceSpec, code: string, message: string]>([
    ['a name', { ...task({}), Name: 'a b' }, 'invalid_argument', NAME_RULE],
    ['a name with a dash at its end', { ...task({}), Name: 'a-' }, 'invalid_argument', NAME_RULE],
    [
      'a long name',
      { ...task({}), Name: 'a'.repeat(64) },
      'invalid_argument',
      `${INVALID}name must be 63 characters or fewer`,
    ],
    [
      'no container',
      { Name: 'web', TaskTemplate: {} },
      'invalid_argument',
      `${INVALID}TaskSpec: missing runtime`,
    ],
    ...['', 'yes', 'True', '1'].map((value): [string, ServiceSpec, string, string] => [
      `${JSON.stringify(value)} for the preference of local tasks`,
      { ...task({}), Labels: { 'berth.ingress.prefer-local': value } },
      'invalid_argument',
      `${INVALID}Labels: berth.ingress.prefer-local: ${JSON.stringify(value)} is neither "true" nor "false"`,
    ]),
    [
      'no image',
      container({ Image: '' }),
      'invalid_argument',
      `${INVALID}ContainerSpec: image reference must be provided`,
    ],
    [
      'an image that is none',
      container({ Image: 'A b' }),
      'invalid_argument',
      `${INVALID}ContainerSpec: "A b" is not a valid repository/tag`,
    ],
    [
      'two mounts at one place',
      container({
        Mounts: [
          { Type: 'volume', Source: 'a', Target: '/p' },
          { Type: 'volume', Source: 'b', Target: '/p' },
        ],
      }),
      'invalid_argument',
      `${INVALID}ContainerSpec: duplicate mount point: /p`,
    ],
    [
      'a health check too often',
      container({ Healthcheck: { Interval: 5 } }),
      'invalid_argument',
      `${INVALID}ContainerSpec: Interval in HealthConfig cannot be less than 1ms`,
    ],
    [
      'a template that does not expand',
      container({ Hostname: '{{.Nothing}}' }),
      'invalid_argument',
      `${INVALID}expanding hostname failed`,
    ],
    [
      'too little processor',
      task({ Resources: { Limits: { NanoCPUs: 1 } } }),
      'invalid_argument',
      `${INVALID}invalid cpu value 1e-09: Must be at least 0.001`,
    ],
    [
      'too little reserved processor',
      task({ Resources: { Reservations: { NanoCPUs: 500_000 } } }),
      'invalid_argument',
      `${INVALID}invalid cpu value 0.0005: Must be at least 0.001`,
    ],
    [
      'too little memory',
      task({ Resources: { Limits: { MemoryBytes: 5 } } }),
      'invalid_argument',
      `${INVALID}invalid memory value 5: Must be at least 4MiB`,
    ],
    [
      'an OOM score that is too high',
      task({ ContainerSpec: { Image: 'app', OomScoreAdj: 1001 } }),
      'invalid_argument',
      `${INVALID}ContainerSpec: OomScoreAdj must be -1000 to 1000: 1001`,
    ],
    [
      'swap without a limit of memory',
      task({ Resources: { SwapBytes: 5 } }),
      'invalid_argument',
      `${INVALID}invalid SwapBytes 5: Needs a limit of memory (Limits.MemoryBytes)`,
    ],
    [
      'negative swap',
      task({ Resources: { Limits: { MemoryBytes: 8_388_608 }, SwapBytes: -2 } }),
      'invalid_argument',
      `${INVALID}invalid SwapBytes -2: Must be at least 0, or -1 for unlimited swap`,
    ],
    [
      'too much swappiness',
      task({ Resources: { MemorySwappiness: 101 } }),
      'invalid_argument',
      `${INVALID}invalid MemorySwappiness 101: Must be 0 to 100`,
    ],
    [
      'a negative delay',
      task({ RestartPolicy: { Delay: -1 } }),
      'invalid_argument',
      `${INVALID}TaskSpec: restart-delay cannot be negative`,
    ],
    [
      'a negative window',
      task({ RestartPolicy: { Window: -1 } }),
      'invalid_argument',
      `${INVALID}TaskSpec: restart-window cannot be negative`,
    ],
    [
      'a restart condition',
      any(task({ RestartPolicy: any({ Condition: 'x' }) as never })),
      'invalid_argument',
      'invalid RestartCondition: "x"',
    ],
    [
      'a negative delay of updates',
      update({ Delay: -1 }),
      'invalid_argument',
      `${INVALID}TaskSpec: update-delay cannot be negative`,
    ],
    [
      'a negative time to watch',
      update({ Monitor: -1 }),
      'invalid_argument',
      `${INVALID}TaskSpec: update-monitor cannot be negative`,
    ],
    [
      'a ratio of failures',
      update({ MaxFailureRatio: 1.5 }),
      'invalid_argument',
      `${INVALID}TaskSpec: update-maxfailureratio cannot be less than 0 or bigger than 1`,
    ],
    [
      'an action on failure',
      any({ ...task({}), UpdateConfig: { FailureAction: 'x' } }),
      'invalid_argument',
      'unrecognized update failure action x',
    ],
    [
      'an order of updates',
      any({ ...task({}), UpdateConfig: { Order: 'x' } }),
      'invalid_argument',
      'unrecognized update order x',
    ],
    [
      'a constraint, which has no code in swarmkit',
      task({ Placement: { Constraints: ['node.role'] } }),
      'failed_precondition',
      'rpc error: code = Unknown desc = constraint expected one operator from ==, !=',
    ],
    [
      'two modes',
      { ...task({}), Mode: { Global: {}, Replicated: { Replicas: 1 } } },
      'invalid_argument',
      'must specify only one service mode',
    ],
    [
      'a negative number of replicas',
      { ...task({}), Mode: { Replicated: { Replicas: -1 } } },
      'invalid_argument',
      `${INVALID}Number of replicas must be non-negative`,
    ],
    [
      'an update of a job',
      { ...task({}), Mode: { GlobalJob: {} }, UpdateConfig: {} },
      'invalid_argument',
      `${INVALID}Jobs may not have an update config`,
    ],
    [
      'a way to be found',
      any({ ...task({}), EndpointSpec: { Mode: 'x' } }),
      'invalid_argument',
      'invalid resolution mode: "x"',
    ],
    [
      'a port of the routing mesh without an address of its own',
      ports([{ TargetPort: 80 }], { Mode: 'dnsrr' }),
      'invalid_argument',
      `${INVALID}EndpointSpec: port published with ingress mode can't be used with dnsrr mode`,
    ],
    [
      'one port twice',
      ports([
        { ...host, PublishedPort: 80 },
        { ...host, TargetPort: 81, PublishedPort: 80 },
      ]),
      'invalid_argument',
      `${INVALID}EndpointSpec: duplicate published ports provided`,
    ],
    [
      'a port of a routing mesh that is not there',
      ports([{ TargetPort: 80, PublishedPort: 80 }]),
      'invalid_argument',
      'rpc error: code = FailedPrecondition desc = service needs ingress network, but no ingress network is present',
    ],
    ['a network of this host alone', task({ Networks: [{ Target: 'blue' }] }), 'forbidden', LOCAL_NETWORK],
    [
      'a network that is not there',
      task({ Networks: [{ Target: 'red' }] }),
      'not_found',
      'network red not found',
    ],
    [
      'a secret that is not there',
      container({ Secrets: [{ SecretID: 'i', SecretName: 'a', File: file('a') }] }),
      'invalid_argument',
      `${INVALID}secret not found: a`,
    ],
    [
      'secrets that are not there',
      container({
        Secrets: [
          { SecretID: 'i', SecretName: 'a', File: file('a') },
          { SecretID: 'j', SecretName: 'b', File: file('b') },
        ],
      }),
      'invalid_argument',
      `${INVALID}secrets not found: a, b`,
    ],
    [
      'a config that is not there',
      container({ Configs: [{ ConfigID: 'i', ConfigName: 'a', File: file('a') }] }),
      'invalid_argument',
      `${INVALID}config not found: a`,
    ],
    [
      'a secret without a name',
      container({ Secrets: [{ SecretID: 'i', SecretName: '', File: file('a') }] }),
      'invalid_argument',
      `${INVALID}malformed secret reference`,
    ],
    [
      'two secrets in one file',
      container({
        Secrets: [
          { SecretID: 'i', SecretName: 'a', File: file('f') },
          { SecretID: 'j', SecretName: 'b', File: file('f') },
        ],
      }),
      'invalid_argument',
      `${INVALID}secret references 'a' and 'b' have a conflicting target: 'f'`,
    ],
    [
      'a plugin',
      task({ Runtime: 'plugin' }),
      'not_implemented',
      'rpc error: code = Unimplemented desc = TaskTemplate.Runtime plugin is not supported',
    ],
    ['a runtime', task({ Runtime: 'x' }), 'invalid_argument', 'unsupported runtime'],
    [
      'credentials of Windows',
      container({ Privileges: { CredentialSpec: { File: 'x' } } }),
      'not_implemented',
      'ContainerSpec.Privileges.CredentialSpec is for Windows containers only',
    ],
    [
      'an isolation of Windows',
      container({ Isolation: 'hyperv' }),
      'not_implemented',
      'ContainerSpec.Isolation hyperv is for Windows containers only',
    ],
  ])('%s', async (_what, spec, code, message) => {
    await expect(rig.control.services.create(spec, OPTIONS)).rejects.toMatchObject({ code, message });
    expect(rig.context.cluster.state.services.size).toBe(0);
  });
});

test('create: networks that every node has are taken, by name or id; the ingress network is not', async () => {
  const { control } = rig;
  const { ID } = await control.services.create(task({ Networks: [{ Target: 'bridge' }] }), OPTIONS);
  const { Spec } = await control.services.inspect(ID, { insertDefaults: false });
  expect(Spec.TaskTemplate?.Networks).toEqual([{ Target: 'bridge' }]);
  await control.networks.create({ Name: 'ingress', Driver: 'overlay', Ingress: true });
  await expect(
    control.services.create({ ...task({ Networks: [{ Target: 'ingress' }] }), Name: 'b' }, OPTIONS),
  ).rejects.toThrow(`${INVALID}Service cannot be explicitly attached to the ingress network "ingress"`);
});

test('create: a port that the routing mesh gave to another service is taken', async () => {
  const { control, context } = rig;
  const { ID } = await control.services.create(ports([{ ...host, PublishedPort: 8080 }]), OPTIONS);
  const mesh = { ...task({}), Name: 'b', EndpointSpec: { Ports: [{ TargetPort: 80, PublishedPort: 8080 }] } };
  await expect(control.services.create(mesh, OPTIONS)).rejects.toThrow(
    `${INVALID}port '8080' is already in use by service 'web' (${ID}) as a host-published port`,
  );
  const given = { TargetPort: 80, PublishedPort: 9090, PublishMode: 'ingress' as const };
  await context.cluster.commit({
    conditions: [],
    parts: [put('serviceRun', { id: ID, ports: [given] })],
  });
  await expect(
    control.services.create({ ...ports([{ ...host, PublishedPort: 9090 }]), Name: 'c' }, OPTIONS),
  ).rejects.toThrow(`${INVALID}port '9090' is already in use by service 'web' (${ID}) as an ingress port`);
  // Host ports are the nodes' own.
  await control.services.create({ ...ports([{ ...host, PublishedPort: 8080 }]), Name: 'd' }, OPTIONS);
});

describe('update: refuses in the words of dockerd and its managers', () => {
  test.each<[what: string, change: object, message: string, options?: object]>([
    [
      'a new name',
      { Name: 'b' },
      'rpc error: code = Unimplemented desc = renaming services is not supported',
    ],
    [
      'another mode',
      { Mode: { Global: {} } },
      'rpc error: code = Unimplemented desc = service mode change is not allowed',
    ],
    [
      'a rollback to nothing',
      {},
      'rpc error: code = FailedPrecondition desc = service ID does not have a previous spec',
      { rollback: 'previous' },
    ],
    ['a rollback to what', {}, 'unrecognized rollback option x', { rollback: 'x' }],
    ['credentials from where', {}, 'unsupported registryAuthFrom value', { registryAuthFrom: 'x' }],
    [
      'credentials of nothing',
      {},
      'service does not have a previous spec',
      { registryAuthFrom: 'previous-spec' },
    ],
  ])('%s', async (_what, change, message, options = {}) => {
    const { services } = rig.control;
    const { ID } = await services.create(task({}), OPTIONS);
    const { Version } = await services.inspect(ID, { insertDefaults: false });
    await expect(
      services.update(
        'web',
        { ...task({}), ...change },
        {
          ...OPTIONS,
          version: Version.Index ?? 0,
          registryAuthFrom: '',
          rollback: '',
          ...options,
        },
      ),
    ).rejects.toThrow(message.replace('ID', ID));
  });
});

test('look-up: an id, then a name, then the beginning of one id', async () => {
  const { services } = rig.control;
  const { ID } = await services.create(task({}), OPTIONS);
  const { ID: other } = await services.create({ ...task({}), Name: ID.slice(0, 4) }, OPTIONS);
  const found = async (ref: string): Promise<string> =>
    (await services.inspect(ref, { insertDefaults: false })).ID;
  expect(await found(ID)).toBe(ID);
  expect(await found('web')).toBe(ID);
  expect(await found(ID.slice(0, 4))).toBe(other);
  expect(await found(ID.slice(0, 5))).toBe(ID);
  await expect(found('x')).rejects.toMatchObject({ code: 'not_found', message: 'service x not found' });
});

const ANSWERED_MS = 5_000;
const STEP_MS = 100;

describe('writing: without a majority', () => {
  test.each<[what: string, refuse: (timeoutMs: number, clock: Clock) => Promise<never>]>([
    ['a store that says so', () => Promise.reject(new StoreError('unavailable', 'commit: no majority'))],
    [
      'a store that does not answer',
      async (timeoutMs, clock) => {
        await new Promise<void>((resolve) => {
          clock.setTimeout(resolve, timeoutMs);
        });
        throw new StoreError('unknown', 'commit: no answer');
      },
    ],
  ])('%s: in 5 s it is told that none leads, and which managers are seen', async (_what, refuse) => {
    const managers = (['reachable', 'unreachable', 'unknown'] as const).map((reachability, at) => ({
      node: `node${at + 1}`,
      addr: `10.0.0.${at + 1}:2377`,
      isLeader: false,
      reachability,
    }));
    const clock = new ManualClock();
    await using there = await controlRig({ clock, managers: { list: () => managers } });
    await there.context.cluster.commit({
      conditions: [],
      parts: nodeWrites('node2', { Role: 'manager' }, { Hostname: 'two' }),
    });
    Object.assign(there.context.cluster, {
      commit: ({ timeoutMs = ANSWERED_MS }: { timeoutMs?: number }) => refuse(timeoutMs, clock),
    });
    const writing = { isOver: false };
    const creating = there.control.services.create(task({}), OPTIONS).finally(() => {
      writing.isOver = true;
    });
    const refused = expect(creating).rejects.toMatchObject({
      code: 'failed_precondition',
      message:
        "rpc error: code = Unknown desc = The swarm does not have a leader. It's possible that too few managers are " +
        'online. Make sure more than half of the managers are online. Seen from here: node1 (10.0.0.1:2377) is ' +
        'reachable, two (10.0.0.2:2377) is unreachable, node3 (10.0.0.3:2377) is unknown.',
    });
    while (!writing.isOver) {
      await clock.advance(STEP_MS);
    }
    await refused;
    expect(clock.monotonicMs()).toBeLessThanOrEqual(ANSWERED_MS + STEP_MS);
  });
});

test('writing: a service whose commit was taken and not answered is there', async () => {
  const { cluster } = rig.context;
  const commit = cluster.commit.bind(cluster);
  Object.assign(cluster, {
    commit: async (what: Parameters<typeof commit>[0]) => {
      await commit(what);
      throw new StoreError('unknown', 'commit: the answer is lost');
    },
  });
  const { ID } = await rig.control.services.create(task({}), OPTIONS);
  expect(cluster.state.services.has(ID)).toBe(true);
});

test('writing: five times another change comes first, then the client is told', async () => {
  const { control, context } = rig;
  const { ID } = await control.services.create(task({}), OPTIONS);
  const { cluster } = context;
  const commit = cluster.commit.bind(cluster);
  let attempts = 0;
  Object.assign(cluster, {
    commit: async (what: Parameters<typeof commit>[0]) => {
      attempts += 1;
      const record = cluster.part('service', ID);
      await commit({
        conditions: [],
        parts: record ? [put('service', { ...record, updated: attempts })] : [],
      });
      return commit(what);
    },
  });
  await expect(control.services.remove('web')).rejects.toMatchObject({
    code: 'failed_precondition',
    message: 'rpc error: code = Unknown desc = update out of sequence',
  });
  expect(attempts).toBe(5);
});
