import { expect, test } from 'vitest';
import { withoutFields } from '../../../api/versions/field-cut.ts';
import { NEWEST, OLDEST } from '../../../api/versions/version.ts';
import type { ServiceSpec } from '../../../api/types/swarm/service.ts';
import { startServer, type TestServer } from '../../support/api/api-server.ts';
import { fakePorts } from '../../support/api/fake-ports.ts';
import { NODE, SERVICE, SERVICE_SPEC, SWARM, TASK, fakeSwarm } from '../../support/api/fake-swarm.ts';

/** Paths of all fields of a value, without the numbers of lists. */
function fieldsOf(value: unknown, path = ''): string[] {
  if (Array.isArray(value)) {
    return value.flatMap((item) => fieldsOf(item, path));
  }
  if (typeof value !== 'object' || value === null) {
    return [];
  }
  return Object.entries(value).flatMap(([key, item]) => {
    const at = path === '' ? key : `${path}.${key}`;
    return [at, ...fieldsOf(item, at)];
  });
}

/** By version, the fields that came with it: those of a field that came with it too are left out. */
async function newByVersion(read: (version: string) => Promise<unknown>): Promise<Record<string, string[]>> {
  const news: Record<string, string[]> = {};
  let before = new Set(fieldsOf(await read(`1.${OLDEST}`)));
  for (let version = OLDEST + 1; version <= NEWEST; version += 1) {
    const now = new Set(fieldsOf(await read(`1.${version}`)));
    const added = [...now].filter((field) => !before.has(field));
    const tops = added.filter((field) => !added.some((other) => field.startsWith(`${other}.`)));
    if (tops.length > 0) {
      news[`1.${version}`] = tops.toSorted();
    }
    before = now;
  }
  return news;
}

const answeredAt =
  (server: TestServer, path: string) =>
  (version: string): Promise<unknown> =>
    server.json(`/v${version}${path}`);

test('a service that is sent: each version lets its fields through', async () => {
  let seen: ServiceSpec = {};
  const create = (spec: ServiceSpec): Promise<{ ID: string }> => {
    seen = spec;
    return Promise.resolve({ ID: 'i' });
  };
  await using server = await startServer(fakePorts({ swarm: fakeSwarm({ services: { create } }) }));
  const sentAt = async (version: string): Promise<unknown> => {
    await server.request('POST', `/v${version}/services/create`, {
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(SERVICE_SPEC),
    });
    return seen;
  };
  expect(await newByVersion(sentAt)).toMatchInlineSnapshot(`
    {
      "1.25": [
        "EndpointSpec.Ports.PublishMode",
        "TaskTemplate.ContainerSpec.DNSConfig",
        "TaskTemplate.ContainerSpec.Groups",
        "TaskTemplate.ContainerSpec.Healthcheck",
        "TaskTemplate.ContainerSpec.Hostname",
        "TaskTemplate.ContainerSpec.Hosts",
        "TaskTemplate.ContainerSpec.Mounts.TmpfsOptions",
        "TaskTemplate.ContainerSpec.OpenStdin",
        "TaskTemplate.ContainerSpec.Secrets",
        "TaskTemplate.ContainerSpec.TTY",
        "TaskTemplate.ForceUpdate",
        "UpdateConfig.MaxFailureRatio",
        "UpdateConfig.Monitor",
      ],
      "1.28": [
        "RollbackConfig",
        "TaskTemplate.ContainerSpec.ReadOnly",
        "TaskTemplate.ContainerSpec.StopSignal",
        "TaskTemplate.Placement.Preferences",
      ],
      "1.29": [
        "RollbackConfig.Order",
        "TaskTemplate.ContainerSpec.Privileges",
        "UpdateConfig.Order",
      ],
      "1.30": [
        "TaskTemplate.ContainerSpec.Configs",
        "TaskTemplate.Placement.Platforms",
        "TaskTemplate.Runtime",
      ],
      "1.32": [
        "TaskTemplate.Resources.Reservations.GenericResources",
      ],
      "1.35": [
        "TaskTemplate.ContainerSpec.Isolation",
      ],
      "1.37": [
        "TaskTemplate.ContainerSpec.Init",
      ],
      "1.40": [
        "TaskTemplate.ContainerSpec.Configs.Runtime",
        "TaskTemplate.ContainerSpec.Mounts.BindOptions.NonRecursive",
        "TaskTemplate.ContainerSpec.Privileges.CredentialSpec.Config",
        "TaskTemplate.ContainerSpec.Sysctls",
        "TaskTemplate.Placement.MaxReplicas",
      ],
      "1.41": [
        "TaskTemplate.ContainerSpec.CapabilityAdd",
        "TaskTemplate.ContainerSpec.CapabilityDrop",
        "TaskTemplate.ContainerSpec.Ulimits",
        "TaskTemplate.Resources.Limits.Pids",
      ],
      "1.42": [
        "TaskTemplate.ContainerSpec.Mounts.BindOptions.CreateMountpoint",
      ],
      "1.44": [
        "TaskTemplate.ContainerSpec.Healthcheck.StartInterval",
        "TaskTemplate.ContainerSpec.Privileges.AppArmor",
        "TaskTemplate.ContainerSpec.Privileges.NoNewPrivileges",
        "TaskTemplate.ContainerSpec.Privileges.Seccomp",
      ],
      "1.46": [
        "TaskTemplate.ContainerSpec.Mounts.TmpfsOptions.Options",
        "TaskTemplate.ContainerSpec.OomScoreAdj",
      ],
      "1.52": [
        "TaskTemplate.Resources.MemorySwappiness",
        "TaskTemplate.Resources.SwapBytes",
      ],
    }
  `);
  expect(seen).toEqual(SERVICE_SPEC);
});

test('a service, a task, a node and the swarm: each version tells its fields', async () => {
  await using server = await startServer(fakePorts({ swarm: fakeSwarm() }));
  expect({
    service: await newByVersion(answeredAt(server, '/services/x')),
    task: await newByVersion(answeredAt(server, '/tasks/x')),
    node: await newByVersion(answeredAt(server, '/nodes/x')),
    swarm: await newByVersion(answeredAt(server, '/swarm')),
  }).toMatchInlineSnapshot(`
    {
      "node": {
        "1.25": [
          "Status.Addr",
        ],
        "1.30": [
          "Description.TLSInfo",
        ],
        "1.32": [
          "Description.Resources.GenericResources",
        ],
      },
      "service": {
        "1.25": [
          "Endpoint.Ports.PublishMode",
          "Endpoint.Spec.Ports.PublishMode",
          "PreviousSpec",
          "Spec.EndpointSpec.Ports.PublishMode",
          "Spec.TaskTemplate.ContainerSpec.DNSConfig",
          "Spec.TaskTemplate.ContainerSpec.Groups",
          "Spec.TaskTemplate.ContainerSpec.Healthcheck",
          "Spec.TaskTemplate.ContainerSpec.Hostname",
          "Spec.TaskTemplate.ContainerSpec.Hosts",
          "Spec.TaskTemplate.ContainerSpec.Mounts.TmpfsOptions",
          "Spec.TaskTemplate.ContainerSpec.OpenStdin",
          "Spec.TaskTemplate.ContainerSpec.Secrets",
          "Spec.TaskTemplate.ContainerSpec.TTY",
          "Spec.TaskTemplate.ForceUpdate",
          "Spec.UpdateConfig.MaxFailureRatio",
          "Spec.UpdateConfig.Monitor",
        ],
        "1.28": [
          "PreviousSpec.RollbackConfig",
          "PreviousSpec.TaskTemplate.ContainerSpec.ReadOnly",
          "PreviousSpec.TaskTemplate.ContainerSpec.StopSignal",
          "PreviousSpec.TaskTemplate.Placement.Preferences",
          "Spec.RollbackConfig",
          "Spec.TaskTemplate.ContainerSpec.ReadOnly",
          "Spec.TaskTemplate.ContainerSpec.StopSignal",
          "Spec.TaskTemplate.Placement.Preferences",
        ],
        "1.29": [
          "PreviousSpec.RollbackConfig.Order",
          "PreviousSpec.TaskTemplate.ContainerSpec.Privileges",
          "PreviousSpec.UpdateConfig.Order",
          "Spec.RollbackConfig.Order",
          "Spec.TaskTemplate.ContainerSpec.Privileges",
          "Spec.UpdateConfig.Order",
        ],
        "1.30": [
          "PreviousSpec.TaskTemplate.ContainerSpec.Configs",
          "PreviousSpec.TaskTemplate.Placement.Platforms",
          "PreviousSpec.TaskTemplate.Runtime",
          "Spec.TaskTemplate.ContainerSpec.Configs",
          "Spec.TaskTemplate.Placement.Platforms",
          "Spec.TaskTemplate.Runtime",
        ],
        "1.32": [
          "PreviousSpec.TaskTemplate.Resources.Reservations.GenericResources",
          "Spec.TaskTemplate.Resources.Reservations.GenericResources",
        ],
        "1.35": [
          "PreviousSpec.TaskTemplate.ContainerSpec.Isolation",
          "Spec.TaskTemplate.ContainerSpec.Isolation",
        ],
        "1.37": [
          "PreviousSpec.TaskTemplate.ContainerSpec.Init",
          "Spec.TaskTemplate.ContainerSpec.Init",
        ],
        "1.40": [
          "PreviousSpec.TaskTemplate.ContainerSpec.Configs.Runtime",
          "PreviousSpec.TaskTemplate.ContainerSpec.Mounts.BindOptions.NonRecursive",
          "PreviousSpec.TaskTemplate.ContainerSpec.Privileges.CredentialSpec.Config",
          "PreviousSpec.TaskTemplate.ContainerSpec.Sysctls",
          "PreviousSpec.TaskTemplate.Placement.MaxReplicas",
          "Spec.TaskTemplate.ContainerSpec.Configs.Runtime",
          "Spec.TaskTemplate.ContainerSpec.Mounts.BindOptions.NonRecursive",
          "Spec.TaskTemplate.ContainerSpec.Privileges.CredentialSpec.Config",
          "Spec.TaskTemplate.ContainerSpec.Sysctls",
          "Spec.TaskTemplate.Placement.MaxReplicas",
        ],
        "1.41": [
          "PreviousSpec.TaskTemplate.ContainerSpec.CapabilityAdd",
          "PreviousSpec.TaskTemplate.ContainerSpec.CapabilityDrop",
          "PreviousSpec.TaskTemplate.ContainerSpec.Ulimits",
          "PreviousSpec.TaskTemplate.Resources.Limits.Pids",
          "Spec.TaskTemplate.ContainerSpec.CapabilityAdd",
          "Spec.TaskTemplate.ContainerSpec.CapabilityDrop",
          "Spec.TaskTemplate.ContainerSpec.Ulimits",
          "Spec.TaskTemplate.Resources.Limits.Pids",
        ],
        "1.42": [
          "PreviousSpec.TaskTemplate.ContainerSpec.Mounts.BindOptions.CreateMountpoint",
          "Spec.TaskTemplate.ContainerSpec.Mounts.BindOptions.CreateMountpoint",
        ],
        "1.44": [
          "PreviousSpec.TaskTemplate.ContainerSpec.Healthcheck.StartInterval",
          "PreviousSpec.TaskTemplate.ContainerSpec.Mounts.BindOptions.ReadOnlyNonRecursive",
          "PreviousSpec.TaskTemplate.ContainerSpec.Privileges.AppArmor",
          "PreviousSpec.TaskTemplate.ContainerSpec.Privileges.NoNewPrivileges",
          "PreviousSpec.TaskTemplate.ContainerSpec.Privileges.Seccomp",
          "Spec.TaskTemplate.ContainerSpec.Healthcheck.StartInterval",
          "Spec.TaskTemplate.ContainerSpec.Mounts.BindOptions.ReadOnlyNonRecursive",
          "Spec.TaskTemplate.ContainerSpec.Privileges.AppArmor",
          "Spec.TaskTemplate.ContainerSpec.Privileges.NoNewPrivileges",
          "Spec.TaskTemplate.ContainerSpec.Privileges.Seccomp",
        ],
        "1.46": [
          "PreviousSpec.TaskTemplate.ContainerSpec.Mounts.TmpfsOptions.Options",
          "PreviousSpec.TaskTemplate.ContainerSpec.OomScoreAdj",
          "Spec.TaskTemplate.ContainerSpec.Mounts.TmpfsOptions.Options",
          "Spec.TaskTemplate.ContainerSpec.OomScoreAdj",
        ],
        "1.52": [
          "PreviousSpec.TaskTemplate.Resources.MemorySwappiness",
          "PreviousSpec.TaskTemplate.Resources.SwapBytes",
          "Spec.TaskTemplate.Resources.MemorySwappiness",
          "Spec.TaskTemplate.Resources.SwapBytes",
        ],
      },
      "swarm": {
        "1.25": [
          "Spec.EncryptionConfig",
        ],
        "1.30": [
          "RootRotationInProgress",
          "Spec.CAConfig.ExternalCAs.CACert",
          "Spec.CAConfig.ForceRotate",
          "TLSInfo",
        ],
        "1.39": [
          "DefaultAddrPool",
          "SubnetSize",
        ],
        "1.40": [
          "DataPathPort",
        ],
      },
      "task": {
        "1.25": [
          "Labels",
          "Spec.ContainerSpec.DNSConfig",
          "Spec.ContainerSpec.Groups",
          "Spec.ContainerSpec.Healthcheck",
          "Spec.ContainerSpec.Hostname",
          "Spec.ContainerSpec.Hosts",
          "Spec.ContainerSpec.Mounts.TmpfsOptions",
          "Spec.ContainerSpec.OpenStdin",
          "Spec.ContainerSpec.Secrets",
          "Spec.ContainerSpec.TTY",
          "Spec.ForceUpdate",
          "Status.PortStatus",
        ],
        "1.28": [
          "Spec.ContainerSpec.ReadOnly",
          "Spec.ContainerSpec.StopSignal",
          "Spec.Placement.Preferences",
        ],
        "1.29": [
          "Spec.ContainerSpec.Privileges",
        ],
        "1.30": [
          "Spec.ContainerSpec.Configs",
          "Spec.Placement.Platforms",
          "Spec.Runtime",
        ],
        "1.32": [
          "GenericResources",
          "Spec.Resources.Reservations.GenericResources",
        ],
        "1.35": [
          "Spec.ContainerSpec.Isolation",
        ],
        "1.37": [
          "Spec.ContainerSpec.Init",
        ],
        "1.40": [
          "Spec.ContainerSpec.Configs.Runtime",
          "Spec.ContainerSpec.Mounts.BindOptions.NonRecursive",
          "Spec.ContainerSpec.Privileges.CredentialSpec.Config",
          "Spec.ContainerSpec.Sysctls",
          "Spec.Placement.MaxReplicas",
        ],
        "1.41": [
          "JobIteration",
          "Spec.ContainerSpec.CapabilityAdd",
          "Spec.ContainerSpec.CapabilityDrop",
          "Spec.ContainerSpec.Ulimits",
          "Spec.Resources.Limits.Pids",
        ],
        "1.42": [
          "Spec.ContainerSpec.Mounts.BindOptions.CreateMountpoint",
          "Volumes",
        ],
        "1.44": [
          "Spec.ContainerSpec.Healthcheck.StartInterval",
          "Spec.ContainerSpec.Mounts.BindOptions.ReadOnlyNonRecursive",
          "Spec.ContainerSpec.Privileges.AppArmor",
          "Spec.ContainerSpec.Privileges.NoNewPrivileges",
          "Spec.ContainerSpec.Privileges.Seccomp",
        ],
        "1.46": [
          "Spec.ContainerSpec.Mounts.TmpfsOptions.Options",
          "Spec.ContainerSpec.OomScoreAdj",
        ],
        "1.52": [
          "Spec.Resources.MemorySwappiness",
          "Spec.Resources.SwapBytes",
        ],
      },
    }
  `);
  expect([
    await server.json('/services/x'),
    await server.json('/tasks/x'),
    await server.json('/nodes/x'),
    await server.json('/swarm'),
  ]).toEqual([SERVICE, TASK, NODE, SWARM]);
});

test('what a client reads it can send: a service comes back whole under every version', async () => {
  let seen: ServiceSpec = {};
  const update = (_ref: string, spec: ServiceSpec): Promise<object> => {
    seen = spec;
    return Promise.resolve({});
  };
  await using server = await startServer(fakePorts({ swarm: fakeSwarm({ services: { update } }) }));
  for (let version = OLDEST; version <= NEWEST; version += 1) {
    // What the route answers.
    const { Spec: read } = (await server.json(`/v1.${version}/services/x`)) as typeof SERVICE;
    const { status } = await server.request('POST', `/v1.${version}/services/x/update?version=19`, {
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(read),
    });
    // 1.24 tells networks twice; read-only mounts of clients before 1.44 stay as they were then.
    const { Networks: _beside, ...within } = { Networks: undefined, ...read };
    expect([version, status, withoutMode(seen)]).toEqual([version, 200, withoutMode(within)]);
  }
});

function withoutMode(spec: ServiceSpec): unknown {
  return withoutFields(spec, ['TaskTemplate.ContainerSpec.Mounts.BindOptions.ReadOnlyNonRecursive']);
}
