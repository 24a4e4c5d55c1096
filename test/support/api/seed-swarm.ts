/** The swarm's part of the API 1.24 document (sections 4.7 to 4.9) as data: what is sent, and the shapes of answers. */
import { all, map } from './seed-shapes.ts';
import type { Shape } from './seed-shapes.ts';

const mount = {
  ...all('string', 'Target Type'),
  ...all('string', 'Source?'),
  'ReadOnly?': 'bool',
  'BindOptions?': { 'Propagation?': 'string' },
  'VolumeOptions?': {
    'NoCopy?': 'bool',
    'Labels?': map('string'),
    'DriverConfig?': { 'Name?': 'string', 'Options?': map('string') },
  },
};

const amounts = { ...all('int', 'NanoCPUs? MemoryBytes?') };
const targets: Shape = [{ Target: 'string' }];

const taskTemplate = {
  ContainerSpec: {
    Image: 'string',
    ...all('string[]', 'Command? Args? Env?'),
    ...all('string', 'Dir? User?'),
    'Labels?': map('string'),
    'Mounts?': [mount],
    'StopGracePeriod?': 'int',
  },
  'LogDriver?': { 'Name?': 'string', 'Options?': map('string') },
  'Resources?': { 'Limits?': amounts, 'Reservations?': amounts },
  'RestartPolicy?': { 'Condition?': 'string', ...all('int', 'Delay? MaxAttempts? Window?') },
  'Placement?': { 'Constraints?': 'string[]' },
  'Networks?': targets,
} as const satisfies Shape;

const port = { 'Protocol?': 'string', TargetPort: 'int', 'PublishedPort?': 'int' };
const endpointSpec = { 'Mode?': 'string', 'Ports?': [port] } as const satisfies Shape;
const head = { ID: 'string', Version: { Index: 'int' }, ...all('string', 'CreatedAt UpdatedAt') };

export const SEED_SERVICE: Shape = {
  ...head,
  Spec: {
    Name: 'string',
    'Labels?': map('string'),
    TaskTemplate: taskTemplate,
    Mode: { 'Replicated?': { Replicas: 'int' }, 'Global?': {} },
    'UpdateConfig?': { 'Parallelism?': 'int', 'Delay?': 'int', 'FailureAction?': 'string' },
    'EndpointSpec?': endpointSpec,
    // Where engines of that time told them.
    'Networks?': targets,
  },
  Endpoint: {
    Spec: endpointSpec,
    'Ports?': [port],
    'VirtualIPs?': [{ NetworkID: 'string', Addr: 'string' }],
  },
  '+': ['UpdateStatus'],
};

export const SEED_TASK: Shape = {
  ...head,
  'Name?': 'string',
  Spec: taskTemplate,
  ...all('string', 'ServiceID NodeID DesiredState'),
  'Slot?': 'int',
  Status: {
    ...all('string', 'Timestamp State Message'),
    'ContainerStatus?': { ContainerID: 'string', 'PID?': 'int', '+': ['ExitCode'] },
    '+': ['Err'],
  },
  '+': ['NetworksAttachments'],
};

const CONTAINER_SPEC = {
  Image: 'nginx:alpine',
  Command: ['/entry'],
  Args: ['-g'],
  Env: ['A=b'],
  Dir: '/srv',
  User: '33',
  Labels: { c: 'd' },
  Mounts: [
    {
      ReadOnly: true,
      Source: 'web-data',
      Target: '/usr/share/nginx/html',
      Type: 'volume',
      VolumeOptions: {
        NoCopy: true,
        DriverConfig: { Name: 'local', Options: { e: 'f' } },
        Labels: { 'com.example.something': 'something-value' },
      },
    },
    { Source: '/a', Target: '/b', Type: 'bind', BindOptions: { Propagation: 'rslave' } },
  ],
  StopGracePeriod: 10_000_000_000,
};

const TASK_TEMPLATE = {
  ContainerSpec: CONTAINER_SPEC,
  LogDriver: { Name: 'json-file', Options: { 'max-file': '3', 'max-size': '10M' } },
  Placement: { Constraints: ['node.role == worker'] },
  RestartPolicy: { Condition: 'on-failure', Delay: 10_000_000_000, MaxAttempts: 10, Window: 0 },
  Networks: [{ Target: 'overlay1' }],
};

const SERVICE = {
  Name: 'web',
  Labels: { foo: 'bar' },
  Mode: { Replicated: { Replicas: 4 } },
  UpdateConfig: { Delay: 30_000_000_000, Parallelism: 2, FailureAction: 'pause' },
  EndpointSpec: { Mode: 'vip', Ports: [{ Protocol: 'tcp', PublishedPort: 8080, TargetPort: 80 }] },
};

const SWARM_SPEC = {
  Name: 'default',
  Orchestration: { TaskHistoryRetentionLimit: 10 },
  Raft: {
    SnapshotInterval: 10_000,
    KeepOldSnapshots: 1,
    LogEntriesForSlowFollowers: 500,
    HeartbeatTick: 1,
    ElectionTick: 3,
  },
  Dispatcher: { HeartbeatPeriod: 5_000_000_000 },
};
const AUTHORITY = { Protocol: 'cfssl', URL: 'https://ca.example', Options: { a: 'b' } };

interface SeedRequest {
  what: string;
  path: string;
  sent: unknown;
  status: number;
  answer: string;
  /** What the manager gets: its newest shape. */
  taken: unknown;
}

const limits = { NanoCPUs: 500_000_000, MemoryBytes: 104_857_600 };
const called = { CPU: 500_000_000, Memory: 104_857_600 };
const serviceOf = (Resources: object): object => ({
  ...SERVICE,
  TaskTemplate: { ...TASK_TEMPLATE, Resources },
});

export const SEED_REQUESTS: readonly SeedRequest[] = [
  {
    what: 'Update a swarm',
    path: '/v1.24/swarm/update?version=12',
    sent: {
      ...SWARM_SPEC,
      CAConfig: { NodeCertExpiry: 7_776_000_000_000_000, ExternalCA: AUTHORITY },
      JoinTokens: { Worker: 'SWMTKN-1-a', Manager: 'SWMTKN-1-b' },
    },
    status: 200,
    answer: '',
    taken: {
      ...SWARM_SPEC,
      CAConfig: { NodeCertExpiry: 7_776_000_000_000_000, ExternalCAs: [AUTHORITY] },
    },
  },
  {
    what: 'Create a service',
    path: '/v1.24/services/create',
    sent: serviceOf({ Limits: limits, Reservation: limits }),
    status: 201,
    answer: '{"ID":"9mnpnzenvg8p8tdbtq4wvbkcz"}\n',
    taken: serviceOf({ Limits: limits, Reservations: limits }),
  },
  {
    what: 'Create a service, as its result is shown',
    path: '/v1.24/services/create',
    sent: serviceOf({ Limits: limits, Reservations: limits }),
    status: 201,
    answer: '{"ID":"9mnpnzenvg8p8tdbtq4wvbkcz"}\n',
    taken: serviceOf({ Limits: limits, Reservations: limits }),
  },
  {
    what: 'Create a service on every node',
    path: '/v1.24/services/create',
    sent: { Name: 'all', TaskTemplate: { ContainerSpec: { Image: 'redis' } }, Mode: { Global: {} } },
    status: 201,
    answer: '{"ID":"9mnpnzenvg8p8tdbtq4wvbkcz"}\n',
    taken: { Name: 'all', TaskTemplate: { ContainerSpec: { Image: 'redis' } }, Mode: { Global: {} } },
  },
  {
    what: 'Update a service',
    path: '/v1.24/services/web/update?version=23',
    sent: serviceOf({ Limits: called, Reservation: called }),
    status: 200,
    // The document shows an empty answer; dockerd sends this, and docker-py reads it.
    answer: '{"Warnings":null}\n',
    taken: serviceOf({ Limits: limits, Reservations: limits }),
  },
];

/** Requests without a body. `shape` of the answer; undefined where it is empty. */
export const SEED_QUERIES: readonly { method: string; path: string; shape?: Shape }[] = [
  { method: 'POST', path: '/v1.24/swarm/leave' },
  { method: 'POST', path: '/v1.24/swarm/leave?force=True' },
  { method: 'GET', path: '/v1.24/services', shape: [SEED_SERVICE] },
  ...['{"id":["9mn"]}', '{"label":["a=b"]}', '{"name":{"web":true}}'].map((filters) => ({
    method: 'GET',
    path: `/v1.24/services?filters=${encodeURIComponent(filters)}`,
    shape: [SEED_SERVICE] as const,
  })),
  { method: 'GET', path: '/v1.24/services/web', shape: SEED_SERVICE },
  { method: 'DELETE', path: '/v1.24/services/web' },
  { method: 'GET', path: '/v1.24/tasks', shape: [SEED_TASK] },
  ...['{"service":["web"]}', '{"desired-state":["running"],"node":["n"],"label":["a"]}'].map((filters) => ({
    method: 'GET',
    path: `/v1.24/tasks?filters=${encodeURIComponent(filters)}`,
    shape: [SEED_TASK] as const,
  })),
  { method: 'GET', path: '/v1.24/tasks/0kzzo1i0y4jz6027t0k7aezc7', shape: SEED_TASK },
];
