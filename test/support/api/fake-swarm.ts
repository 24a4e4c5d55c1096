/** A manager that answers from fixed, complete bodies of API 1.55, for tests of the pipeline. */
import { Readable } from 'node:stream';
import type { ConfigInspect } from '../../../api/types/swarm/config.ts';
import type { NodeInspect } from '../../../api/types/swarm/node.ts';
import type {
  ConfigPort,
  NodePort,
  SecretPort,
  ServicePort,
  SwarmPort,
  TaskPort,
} from '../../../api/types/swarm/ports.ts';
import type { SecretInspect } from '../../../api/types/swarm/secret.ts';
import type { ServiceInspect, ServiceSpec } from '../../../api/types/swarm/service.ts';
import type { SwarmInspect } from '../../../api/types/swarm/swarm.ts';
import type { TaskInspect } from '../../../api/types/swarm/task.ts';

const HEAD = {
  ID: '9mnpnzenvg8p8tdbtq4wvbkcz',
  Version: { Index: 19 },
  CreatedAt: '2026-06-07T21:05:51.880065305Z',
  UpdatedAt: '2026-06-07T21:07:29.962229872Z',
};
const TLS = { TrustRoot: 'PEM', CertIssuerSubject: 'MBM=', CertIssuerPublicKey: 'MFkw' };

export const SERVICE_SPEC: ServiceSpec = {
  Name: 'web',
  Labels: {},
  TaskTemplate: {
    ContainerSpec: {
      Image: 'redis:7@sha256:0',
      Hostname: 'h',
      Groups: ['1'],
      Privileges: {
        CredentialSpec: { Config: 'c', File: 'f' },
        Seccomp: { Mode: 'default' },
        AppArmor: { Mode: 'default' },
        NoNewPrivileges: true,
      },
      Init: true,
      StopSignal: 'SIGINT',
      TTY: true,
      OpenStdin: true,
      ReadOnly: true,
      Mounts: [
        {
          Type: 'bind',
          Source: '/a',
          Target: '/b',
          ReadOnly: true,
          BindOptions: {
            Propagation: 'rprivate',
            NonRecursive: true,
            CreateMountpoint: true,
            ReadOnlyNonRecursive: true,
          },
          TmpfsOptions: { Options: [['noexec']] },
        },
      ],
      Healthcheck: { Test: ['NONE'], StartInterval: 5_000_000 },
      Hosts: ['10.0.0.1 a'],
      DNSConfig: { Nameservers: ['10.0.0.2'] },
      Secrets: [{ File: { Name: 's', UID: '0', GID: '0', Mode: 292 }, SecretID: 'i', SecretName: 's' }],
      Configs: [{ Runtime: {}, ConfigID: 'i', ConfigName: 'c' }],
      Isolation: 'default',
      Sysctls: { 'net.core.somaxconn': '1' },
      CapabilityAdd: ['CAP_CHOWN'],
      CapabilityDrop: ['CAP_KILL'],
      Ulimits: [{ Name: 'nofile', Soft: 1, Hard: 2 }],
      OomScoreAdj: 5,
    },
    Resources: {
      Limits: { MemoryBytes: 5_242_880, Pids: 7 },
      Reservations: { GenericResources: [{ DiscreteResourceSpec: { Kind: 'gpu', Value: 1 } }] },
      SwapBytes: 4096,
      MemorySwappiness: 20,
    },
    RestartPolicy: { Condition: 'any', MaxAttempts: 0 },
    Placement: {
      Constraints: ['node.role==worker'],
      Preferences: [{ Spread: { SpreadDescriptor: 'node.labels.zone' } }],
      MaxReplicas: 2,
      Platforms: [{ Architecture: 'amd64', OS: 'linux' }],
    },
    Networks: [{ Target: 'n' }],
    ForceUpdate: 0,
    Runtime: 'container',
  },
  Mode: { Replicated: { Replicas: 1 } },
  UpdateConfig: {
    Parallelism: 1,
    FailureAction: 'pause',
    Monitor: 5_000_000,
    MaxFailureRatio: 0.5,
    Order: 'stop-first',
  },
  RollbackConfig: { Parallelism: 1, Order: 'start-first' },
  EndpointSpec: {
    Mode: 'vip',
    Ports: [{ Protocol: 'tcp', TargetPort: 6379, PublishedPort: 30_001, PublishMode: 'host' }],
  },
};

export const SERVICE: ServiceInspect = {
  ...HEAD,
  Spec: SERVICE_SPEC,
  PreviousSpec: SERVICE_SPEC,
  Endpoint: {
    Spec: SERVICE_SPEC.EndpointSpec ?? {},
    Ports: [{ Protocol: 'tcp', TargetPort: 6379, PublishedPort: 30_001, PublishMode: 'host' }],
    VirtualIPs: [{ NetworkID: 'n', Addr: '10.255.0.2/16' }],
  },
  UpdateStatus: { State: 'completed', Message: 'update completed' },
};

/** Of a job. */
export const TASK: TaskInspect = {
  ...HEAD,
  Labels: {},
  Spec: SERVICE_SPEC.TaskTemplate ?? {},
  ServiceID: HEAD.ID,
  Slot: 1,
  NodeID: '60gvrl6tm78dmak4yl7srz94v',
  Status: {
    Timestamp: HEAD.CreatedAt,
    State: 'running',
    Message: 'started',
    ContainerStatus: { ContainerID: 'e'.repeat(64), PID: 677, ExitCode: 0 },
    PortStatus: {},
  },
  DesiredState: 'running',
  GenericResources: [{ DiscreteResourceSpec: { Kind: 'gpu', Value: 1 } }],
  JobIteration: { Index: 1 },
  Volumes: null,
};

export const NODE: NodeInspect = {
  ...HEAD,
  Spec: { Labels: {}, Role: 'manager', Availability: 'active' },
  Description: {
    Hostname: 'host',
    Platform: { Architecture: 'x86_64', OS: 'linux' },
    Resources: {
      NanoCPUs: 2_000_000_000,
      MemoryBytes: 1024,
      GenericResources: [{ NamedResourceSpec: { Kind: 'gpu', Value: 'a' } }],
    },
    Engine: { EngineVersion: '0.1.0', Plugins: [{ Type: 'Volume', Name: 'local' }] },
    TLSInfo: TLS,
  },
  Status: { State: 'ready', Addr: '10.0.0.1' },
  ManagerStatus: { Leader: true, Reachability: 'reachable', Addr: '10.0.0.1:2377' },
};

export const SECRET: SecretInspect = {
  ...HEAD,
  Spec: { Name: 's', Labels: {}, Driver: { Name: 'vault' }, Templating: { Name: 'golang' } },
};

export const CONFIG: ConfigInspect = {
  ...HEAD,
  Spec: { Name: 'c', Labels: {}, Data: 'YQ==', Templating: { Name: 'golang' } },
};

export const SWARM: SwarmInspect = {
  ...HEAD,
  Spec: {
    Name: 'default',
    Labels: {},
    Orchestration: { TaskHistoryRetentionLimit: 5 },
    CAConfig: {
      NodeCertExpiry: 7_776_000_000_000_000,
      ForceRotate: 1,
      ExternalCAs: [{ Protocol: 'cfssl', URL: 'https://ca', CACert: 'PEM' }],
    },
    EncryptionConfig: { AutoLockManagers: false },
  },
  TLSInfo: TLS,
  RootRotationInProgress: false,
  DefaultAddrPool: ['10.0.0.0/8'],
  SubnetSize: 24,
  DataPathPort: 4789,
  JoinTokens: { Worker: 'SWMTKN-1-a', Manager: 'SWMTKN-1-b' },
};

interface Overrides extends Partial<Omit<SwarmPort, 'nodes' | 'services' | 'tasks' | 'secrets' | 'configs'>> {
  nodes?: Partial<NodePort>;
  services?: Partial<ServicePort>;
  tasks?: Partial<TaskPort>;
  secrets?: Partial<SecretPort>;
  configs?: Partial<ConfigPort>;
}

const nothing = (): Promise<void> => Promise.resolve();
const logs: TaskPort['logs'] = () =>
  Promise.resolve({ tty: false, bytes: Readable.from([Buffer.from('frames')]) });

/** Every method answers; `overrides` replace single ones. */
export function fakeSwarm(overrides: Overrides = {}): SwarmPort {
  const { JoinTokens: _tokens, ...Cluster } = SWARM;
  return {
    role: 'active/manager',
    info: () =>
      Promise.resolve({
        NodeID: HEAD.ID,
        NodeAddr: '10.0.0.1',
        LocalNodeState: 'active',
        ControlAvailable: true,
        Error: '',
        RemoteManagers: [{ NodeID: HEAD.ID, Addr: '10.0.0.1:2377' }],
        Nodes: 1,
        Managers: 1,
        Cluster,
      }),
    init: () => Promise.resolve(HEAD.ID),
    join: nothing,
    leave: nothing,
    unlock: nothing,
    inspect: () => Promise.resolve(SWARM),
    update: nothing,
    unlockKey: () => Promise.resolve(''),
    ...overrides,
    nodes: {
      list: () => Promise.resolve([NODE]),
      inspect: () => Promise.resolve(NODE),
      update: nothing,
      remove: nothing,
      ...overrides.nodes,
    },
    services: {
      list: () => Promise.resolve([SERVICE]),
      inspect: () => Promise.resolve(SERVICE),
      create: () => Promise.resolve({ ID: HEAD.ID, Warnings: ['w'] }),
      update: () => Promise.resolve({}),
      remove: nothing,
      logs,
      ...overrides.services,
    },
    tasks: {
      list: () => Promise.resolve([TASK]),
      inspect: () => Promise.resolve(TASK),
      logs,
      ...overrides.tasks,
    },
    secrets: {
      list: () => Promise.resolve([SECRET]),
      inspect: () => Promise.resolve(SECRET),
      create: () => Promise.resolve({ ID: HEAD.ID }),
      update: nothing,
      remove: nothing,
      ...overrides.secrets,
    },
    configs: {
      list: () => Promise.resolve([CONFIG]),
      inspect: () => Promise.resolve(CONFIG),
      create: () => Promise.resolve({ ID: HEAD.ID }),
      update: nothing,
      remove: nothing,
      ...overrides.configs,
    },
  };
}
