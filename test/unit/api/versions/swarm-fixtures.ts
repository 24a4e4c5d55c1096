/** Pairs for the changes of what is of the swarm; see `fixtures.ts`. */
import { CONFIG, NODE, SECRET, SERVICE, SERVICE_SPEC, SWARM, TASK } from '../../../support/api/fake-swarm.ts';
import type { Fixture } from './fixtures.ts';

type Parts = Readonly<Record<string, unknown>>;

/** What a service's tasks are made of, sent and told; in `older` undefined is "not there". */
function ofTasks(newest: Parts, older: Parts): Fixture[] {
  return [
    {
      kind: 'request',
      older: { body: { TaskTemplate: newest } },
      newest: { body: { TaskTemplate: given(older) } },
    },
    {
      kind: 'response',
      newest: SERVICE,
      older: { Spec: { TaskTemplate: older }, PreviousSpec: { TaskTemplate: older } },
    },
    { kind: 'response', newest: [SERVICE], older: [{ Spec: { TaskTemplate: older } }] },
    { kind: 'response', newest: [TASK], older: [{ Spec: older }] },
  ];
}

const ofContainers = (newest: Parts, older: Parts): Fixture[] =>
  ofTasks({ ContainerSpec: newest }, { ContainerSpec: older });

/** Without what is undefined, at any depth. */
function given(value: unknown): unknown {
  if (Array.isArray(value)) {
    return value.map(given);
  }
  return typeof value === 'object' && value !== null
    ? Object.fromEntries(
        Object.entries(value)
          .filter(([, item]) => item !== undefined)
          .map(([key, item]) => [key, given(item)]),
      )
    : value;
}

/** A parameter that an older client cannot mean. */
const withoutParameter = (name: string, value: string): Fixture => ({
  kind: 'request',
  older: { query: `version=1&${name}=${value}` },
  newest: { query: 'version=1' },
});

/** The swarm as `GET /swarm` tells it, and as `/info` does. */
const ofCluster = (older: Parts): Fixture[] => [
  { kind: 'response', newest: SWARM, older },
  {
    kind: 'response',
    newest: { Swarm: { NodeID: 'n', Cluster: SWARM } },
    older: { Swarm: { NodeID: 'n', Cluster: older } },
  },
];

const bind = (options: object, rest: object = {}): object => ({
  TaskTemplate: { ContainerSpec: { Mounts: [{ Type: 'bind', ...rest, BindOptions: options }] } },
});

export const SWARM_FIXTURES: Readonly<Record<string, readonly Fixture[]>> = {
  'container-spec-1.25': [
    ...ofContainers(
      {
        Image: 'redis:7@sha256:0',
        Hostname: 'a',
        Groups: ['a'],
        TTY: true,
        OpenStdin: true,
        Healthcheck: {},
        Hosts: [],
        DNSConfig: {},
        Secrets: [{}],
        Mounts: [{ TmpfsOptions: {} }],
      },
      {
        Image: 'redis:7@sha256:0',
        Hostname: undefined,
        Groups: undefined,
        TTY: undefined,
        OpenStdin: undefined,
        Healthcheck: undefined,
        Hosts: undefined,
        DNSConfig: undefined,
        Secrets: undefined,
        Mounts: [{ TmpfsOptions: undefined }],
      },
    ),
    ...ofTasks({ ForceUpdate: 3 }, { ForceUpdate: undefined }),
  ],
  'service-spec-1.25': [
    {
      kind: 'request',
      older: {
        body: {
          UpdateConfig: { Parallelism: 1, Monitor: 1, MaxFailureRatio: 1 },
          EndpointSpec: { Ports: [{ TargetPort: 1, PublishMode: 'host' }] },
        },
      },
      newest: { body: { UpdateConfig: { Parallelism: 1 }, EndpointSpec: { Ports: [{ TargetPort: 1 }] } } },
    },
    {
      kind: 'response',
      newest: SERVICE,
      older: {
        PreviousSpec: undefined,
        Spec: {
          UpdateConfig: { Parallelism: 1, Monitor: undefined, MaxFailureRatio: undefined },
          EndpointSpec: { Ports: [{ PublishedPort: 30_001, PublishMode: undefined }] },
        },
        Endpoint: {
          Ports: [{ PublishedPort: 30_001, PublishMode: undefined }],
          Spec: { Ports: [{ PublishMode: undefined }] },
        },
      },
    },
  ],
  'service-networks-beside': [
    {
      kind: 'response',
      newest: SERVICE,
      older: { Spec: { Networks: [{ Target: 'n' }], TaskTemplate: { Networks: [{ Target: 'n' }] } } },
    },
    {
      kind: 'response',
      newest: [SERVICE, { Spec: { TaskTemplate: {} } }],
      older: [
        { Spec: { Name: 'web', Networks: [{ Target: 'n' }] } },
        { Spec: { TaskTemplate: {}, Networks: undefined } },
      ],
    },
  ],
  'resources-1.24': [
    {
      kind: 'request',
      older: {
        body: {
          TaskTemplate: {
            Resources: { Limits: { CPU: 1, Memory: 2 }, Reservation: { NanoCPUs: 3, MemoryBytes: 4 } },
          },
        },
      },
      newest: {
        body: {
          TaskTemplate: {
            Resources: {
              Limits: { NanoCPUs: 1, MemoryBytes: 2 },
              Reservations: { NanoCPUs: 3, MemoryBytes: 4 },
            },
          },
        },
      },
    },
    {
      kind: 'request',
      older: {
        body: {
          TaskTemplate: {
            Resources: {
              Limits: { CPU: 1, NanoCPUs: 5 },
              Reservation: { CPU: 3 },
              Reservations: { Memory: 4 },
            },
          },
        },
      },
      newest: {
        body: { TaskTemplate: { Resources: { Limits: { NanoCPUs: 5 }, Reservations: { MemoryBytes: 4 } } } },
      },
    },
  ],
  'external-ca-1.24': [
    {
      kind: 'request',
      older: { body: { CAConfig: { ExternalCA: { Protocol: 'cfssl' } } } },
      newest: { body: { CAConfig: { ExternalCAs: [{ Protocol: 'cfssl' }] } } },
    },
    {
      kind: 'request',
      older: { body: { Spec: { CAConfig: { ExternalCA: [{ URL: 'a' }] } } } },
      newest: { body: { Spec: { CAConfig: { ExternalCAs: [{ URL: 'a' }] } } } },
    },
    {
      kind: 'request',
      older: { body: { CAConfig: { ExternalCA: { URL: 'a' }, ExternalCAs: [{ URL: 'b' }] } } },
      newest: { body: { CAConfig: { ExternalCAs: [{ URL: 'b' }] } } },
    },
  ],
  'swarm-autolock': [
    {
      kind: 'request',
      older: {
        query: 'version=1&rotateManagerUnlockKey=1',
        body: {
          AutoLockManagers: true,
          Spec: { Name: 'default', EncryptionConfig: { AutoLockManagers: true } },
        },
      },
      newest: { query: 'version=1', body: { Spec: { Name: 'default' } } },
    },
    {
      kind: 'request',
      older: { body: { EncryptionConfig: { AutoLockManagers: true } } },
      newest: { body: {} },
    },
    ...ofCluster({ Spec: { Name: 'default', EncryptionConfig: undefined } }),
  ],
  'task-1.25': [
    {
      kind: 'response',
      newest: TASK,
      older: { Labels: undefined, Slot: 1, Status: { State: 'running', PortStatus: undefined } },
    },
  ],
  'node-address': [
    { kind: 'response', newest: NODE, older: { Status: { State: 'ready', Addr: undefined } } },
    { kind: 'response', newest: [NODE], older: [{ Status: { State: 'ready', Addr: undefined } }] },
  ],
  'service-registry-auth-from': [withoutParameter('registryAuthFrom', 'previous-spec')],
  'service-create-warnings': [
    { kind: 'response', newest: { ID: 'i', Warnings: ['w'] }, older: { ID: 'i', Warnings: undefined } },
  ],
  'container-spec-1.28': [
    ...ofContainers({ ReadOnly: true, StopSignal: 'INT' }, { ReadOnly: undefined, StopSignal: undefined }),
    ...ofTasks(
      { Placement: { Constraints: ['node.role==worker'], Preferences: [] } },
      { Placement: { Constraints: ['node.role==worker'], Preferences: undefined } },
    ),
  ],
  'service-rollback-config': [
    {
      kind: 'request',
      older: { body: { Name: 'a', RollbackConfig: {} } },
      newest: { body: { Name: 'a' } },
    },
    {
      kind: 'response',
      newest: SERVICE,
      older: {
        Spec: { Name: 'web', RollbackConfig: undefined },
        PreviousSpec: { RollbackConfig: undefined },
      },
    },
  ],
  'service-rollback': [withoutParameter('rollback', 'previous')],
  'container-spec-privileges': ofContainers({ Privileges: {} }, { Privileges: undefined }),
  'service-update-order': [
    {
      kind: 'request',
      older: { body: { UpdateConfig: { Order: 'start-first' }, RollbackConfig: { Order: 'start-first' } } },
      newest: { body: { UpdateConfig: {}, RollbackConfig: {} } },
    },
    {
      kind: 'response',
      newest: [SERVICE],
      older: [
        {
          Spec: {
            UpdateConfig: { Order: undefined, Parallelism: 1 },
            RollbackConfig: { Order: undefined, Parallelism: 1 },
          },
        },
      ],
    },
  ],
  'service-insert-defaults': [withoutParameter('insertDefaults', 'true')],
  'task-spec-1.30': [
    ...ofContainers({ Configs: [{}] }, { Configs: undefined }),
    ...ofTasks(
      { Placement: { Platforms: [] }, Runtime: 'container' },
      { Placement: { Platforms: undefined }, Runtime: undefined },
    ),
  ],
  'swarm-data-path-address': [
    {
      kind: 'request',
      older: { body: { ListenAddr: 'a', DataPathAddr: 'b' } },
      newest: { body: { ListenAddr: 'a' } },
    },
  ],
  'swarm-root-rotation': [
    {
      kind: 'request',
      older: {
        body: {
          CAConfig: {
            NodeCertExpiry: 1,
            SigningCACert: 'a',
            SigningCAKey: 'b',
            ForceRotate: 1,
            ExternalCAs: [{ URL: 'c', CACert: 'd' }],
          },
        },
      },
      newest: { body: { CAConfig: { NodeCertExpiry: 1, ExternalCAs: [{ URL: 'c' }] } } },
    },
    {
      kind: 'request',
      older: { body: { Spec: { CAConfig: { ForceRotate: 1 } } } },
      newest: { body: { Spec: { CAConfig: {} } } },
    },
    ...ofCluster({
      TLSInfo: undefined,
      RootRotationInProgress: undefined,
      Spec: {
        CAConfig: { ForceRotate: undefined, ExternalCAs: [{ URL: 'https://ca', CACert: undefined }] },
      },
    }),
  ],
  'node-tls-info': [
    { kind: 'response', newest: [NODE], older: [{ Description: { Hostname: 'host', TLSInfo: undefined } }] },
  ],
  'event-swarm': [
    { kind: 'item', newest: { Type: 'service', Action: 'create', scope: 'swarm' }, older: undefined },
    { kind: 'item', newest: { Type: 'network', Action: 'remove', scope: 'swarm' }, older: undefined },
    {
      kind: 'item',
      newest: { Type: 'network', Action: 'create', scope: 'local' },
      older: { Type: 'network', Action: 'create', scope: 'local' },
    },
  ],
  'secret-driver': [
    {
      kind: 'request',
      older: { body: { Name: 's', Driver: { Name: 'd' } } },
      newest: { body: { Name: 's' } },
    },
    { kind: 'response', newest: [SECRET], older: [{ Spec: { Name: 's', Driver: undefined } }] },
  ],
  'generic-resources': [
    ...ofTasks(
      { Resources: { Reservations: { GenericResources: [] } } },
      { Resources: { Reservations: { GenericResources: undefined } } },
    ),
    { kind: 'response', newest: TASK, older: { GenericResources: undefined } },
  ],
  'node-generic-resources': [
    {
      kind: 'response',
      newest: NODE,
      older: { Description: { Resources: { MemoryBytes: 1024, GenericResources: undefined } } },
    },
  ],
  'container-spec-isolation': ofContainers({ Isolation: 'default' }, { Isolation: undefined }),
  'container-spec-init': ofContainers({ Init: true }, { Init: undefined }),
  'data-templating': [
    {
      kind: 'request',
      older: { body: { Name: 'c', Templating: { Name: 'golang' } } },
      newest: { body: { Name: 'c' } },
    },
    { kind: 'response', newest: [SECRET], older: [{ Spec: { Name: 's', Templating: undefined } }] },
    { kind: 'response', newest: CONFIG, older: { Spec: { Name: 'c', Data: 'YQ==', Templating: undefined } } },
  ],
  'swarm-address-pool': [
    {
      kind: 'request',
      older: { body: { ListenAddr: 'a', DefaultAddrPool: ['10.0.0.0/8'], SubnetSize: 24 } },
      newest: { body: { ListenAddr: 'a' } },
    },
    ...ofCluster({ DefaultAddrPool: undefined, SubnetSize: undefined }),
  ],
  'task-spec-1.40': [
    ...ofContainers(
      {
        Sysctls: {},
        Configs: [{ ConfigName: 'c', Runtime: {} }],
        Privileges: { CredentialSpec: { Config: 'c', File: 'f' } },
        Mounts: [{ Type: 'bind', BindOptions: { NonRecursive: true } }],
      },
      {
        Sysctls: undefined,
        Configs: [{ ConfigName: 'c', Runtime: undefined }],
        Privileges: { CredentialSpec: { Config: undefined, File: 'f' } },
        Mounts: [{ Type: 'bind', BindOptions: { NonRecursive: undefined } }],
      },
    ),
    ...ofTasks({ Placement: { MaxReplicas: 1 } }, { Placement: { MaxReplicas: undefined } }),
  ],
  'swarm-data-path-port': [
    {
      kind: 'request',
      older: { body: { ListenAddr: 'a', DataPathPort: 4789 } },
      newest: { body: { ListenAddr: 'a' } },
    },
    ...ofCluster({ DataPathPort: undefined }),
  ],
  'task-spec-1.41': [
    ...ofContainers(
      { CapabilityAdd: ['a'], CapabilityDrop: ['b'], Ulimits: [] },
      { CapabilityAdd: undefined, CapabilityDrop: undefined, Ulimits: undefined },
    ),
    ...ofTasks(
      { Resources: { Limits: { MemoryBytes: 5_242_880, Pids: 1 } } },
      { Resources: { Limits: { MemoryBytes: 5_242_880, Pids: undefined } } },
    ),
    { kind: 'response', newest: TASK, older: { JobIteration: undefined } },
  ],
  'service-jobs': [
    {
      kind: 'request',
      older: { body: { Mode: { ReplicatedJob: {}, GlobalJob: {} } } },
      newest: { body: { Mode: {} } },
    },
    {
      kind: 'response',
      newest: {
        Spec: { Mode: { GlobalJob: {} } },
        JobStatus: { JobIteration: {}, LastExecution: SERVICE.CreatedAt },
      },
      older: { Spec: { Mode: { GlobalJob: undefined } }, JobStatus: undefined },
    },
  ],
  'service-status': [withoutParameter('status', 'true')],
  'container-spec-create-mountpoint': [
    ...ofContainers(
      { Mounts: [{ Type: 'bind', BindOptions: { CreateMountpoint: true } }] },
      { Mounts: [{ Type: 'bind', BindOptions: { CreateMountpoint: undefined } }] },
    ),
    { kind: 'response', newest: TASK, older: { Volumes: undefined } },
  ],
  'container-spec-1.44': ofContainers(
    {
      Privileges: { Seccomp: {}, AppArmor: {}, NoNewPrivileges: true },
      Healthcheck: { Test: ['NONE'], StartInterval: 1 },
    },
    {
      Privileges: { Seccomp: undefined, AppArmor: undefined, NoNewPrivileges: undefined },
      Healthcheck: { Test: ['NONE'], StartInterval: undefined },
    },
  ),
  'service-oom-score-adj': ofContainers({ OomScoreAdj: 5 }, { OomScoreAdj: undefined }),
  'service-tmpfs-options': ofContainers(
    { Mounts: [{ TmpfsOptions: { Options: [['noexec']] } }] },
    { Mounts: [{ TmpfsOptions: { Options: undefined } }] },
  ),
  'service-swap': ofTasks(
    { Resources: { Limits: { MemoryBytes: 5_242_880 }, SwapBytes: 1, MemorySwappiness: 2 } },
    { Resources: { Limits: { MemoryBytes: 5_242_880 }, SwapBytes: undefined, MemorySwappiness: undefined } },
  ),
  'service-networks': [
    {
      kind: 'request',
      older: { body: { Networks: [{ Target: 'b' }] } },
      newest: { body: { TaskTemplate: { Networks: [{ Target: 'b' }] } } },
    },
    {
      kind: 'request',
      older: { body: { TaskTemplate: { Networks: [{ Target: 'a' }] }, Networks: [{ Target: 'b' }] } },
      newest: { body: { TaskTemplate: { Networks: [{ Target: 'a' }] } } },
    },
    { kind: 'request', older: { body: SERVICE_SPEC }, newest: { body: SERVICE_SPEC } },
  ],
  'service-bind-read-only-recursive': [
    {
      kind: 'request',
      older: { body: bind({ Propagation: 'shared' }, { ReadOnly: true }) },
      newest: { body: bind({ Propagation: 'shared', ReadOnlyNonRecursive: true }, { ReadOnly: true }) },
    },
    { kind: 'request', older: { body: bind({ ReadOnlyNonRecursive: true }) }, newest: { body: bind({}) } },
    {
      kind: 'request',
      older: { body: bind({ ReadOnlyForceRecursive: true }) },
      newest: { refused: 'BindOptions.ReadOnlyForceRecursive needs API version 1.44 or newer' },
    },
    {
      kind: 'response',
      newest: TASK,
      older: { Spec: { ContainerSpec: { Mounts: [{ BindOptions: { ReadOnlyNonRecursive: undefined } }] } } },
    },
  ],
};
