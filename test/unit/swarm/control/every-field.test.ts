import { expect, test } from 'vitest';
import type { ServiceSpec } from '../../../../api/types/swarm/service.ts';
import { put } from '../../../../swarm/objects/parts.ts';
import { taskRecord } from '../../../support/swarm/builders.ts';
import { controlRig, NOBODY } from '../../../support/swarm/control-rig.ts';

/** Every field of the newest API that a service of this engine can have, none at its default. */
function everything(secret: string, config: string): ServiceSpec {
  const file = { UID: '1', GID: '2', Mode: 256 };
  return {
    Name: 'web',
    Labels: { a: 'b' },
    TaskTemplate: {
      ContainerSpec: {
        Image: 'busybox',
        Labels: { c: 'd' },
        Command: ['sh'],
        Args: ['-c', 'true'],
        Hostname: 'h',
        Env: ['A=b'],
        Dir: '/d',
        User: 'u',
        Groups: ['g'],
        Privileges: {
          SELinuxContext: { Disable: true },
          Seccomp: { Mode: 'unconfined' },
          AppArmor: { Mode: 'disabled' },
          NoNewPrivileges: true,
        },
        Init: true,
        StopSignal: 'SIGINT',
        TTY: true,
        OpenStdin: true,
        ReadOnly: true,
        Mounts: [
          {
            Type: 'volume',
            Source: 'v',
            Target: '/v',
            ReadOnly: true,
            VolumeOptions: {
              NoCopy: true,
              Labels: { e: 'f' },
              DriverConfig: { Name: 'local', Options: { i: '' } },
            },
          },
          { Type: 'bind', Source: '/s', Target: '/b', BindOptions: { Propagation: 'rprivate' } },
        ],
        StopGracePeriod: 3e9,
        Healthcheck: { Test: ['CMD', 'true'], Interval: 1e9, Timeout: 2e9, StartPeriod: 3e9, Retries: 4 },
        Hosts: ['10.0.0.1 one'],
        DNSConfig: { Nameservers: ['10.0.0.2'], Search: ['x.y'], Options: ['ndots:1'] },
        Secrets: [{ SecretID: secret, SecretName: 's', File: { Name: 'sf', ...file } }],
        Configs: [{ ConfigID: config, ConfigName: 'c', File: { Name: '/cf', ...file } }],
        Isolation: 'default',
        Sysctls: { 'net.ipv4.ip_unprivileged_port_start': '0' },
        CapabilityAdd: ['CAP_NET_ADMIN'],
        CapabilityDrop: ['ALL'],
        Ulimits: [{ Name: 'nofile', Soft: 1, Hard: 2 }],
        OomScoreAdj: 3,
      },
      Resources: {
        Limits: { NanoCPUs: 2e9, MemoryBytes: 8_388_608, Pids: 9 },
        Reservations: {
          NanoCPUs: 1e9,
          MemoryBytes: 4_194_304,
          GenericResources: [{ DiscreteResourceSpec: { Kind: 'gpu', Value: 1 } }],
        },
        SwapBytes: 4096,
        MemorySwappiness: 20,
      },
      RestartPolicy: { Condition: 'on-failure', Delay: 1e9, MaxAttempts: 2, Window: 3e9 },
      Placement: {
        Constraints: ['node.role==worker'],
        Preferences: [{ Spread: { SpreadDescriptor: 'node.labels.zone' } }],
        MaxReplicas: 2,
        Platforms: [{ Architecture: 'amd64', OS: 'linux' }],
      },
      Networks: [{ Target: 'bridge', Aliases: ['alias'], DriverOpts: { g: 'h' } }],
      LogDriver: { Name: 'json-file', Options: { 'max-size': '1m' } },
      ForceUpdate: 3,
      Runtime: 'container',
    },
    Mode: { Replicated: { Replicas: 0 } },
    UpdateConfig: {
      Parallelism: 2,
      Delay: 1e9,
      FailureAction: 'rollback',
      Monitor: 2e9,
      MaxFailureRatio: 0.5,
      Order: 'start-first',
    },
    RollbackConfig: {
      Parallelism: 3,
      Delay: 1e9,
      FailureAction: 'continue',
      Monitor: 2e9,
      MaxFailureRatio: 0.25,
      Order: 'start-first',
    },
    EndpointSpec: {
      Mode: 'dnsrr',
      Ports: [
        { Name: 'http', Protocol: 'udp', TargetPort: 80, PublishedPort: 8080, PublishMode: 'host' },
        { Protocol: 'tcp', TargetPort: 81, PublishMode: 'host' },
      ],
    },
  };
}

test('44: what was read and is written again changes nothing, whatever the client leaves out of it', async () => {
  const { control, context } = await controlRig();
  const { cluster } = context;
  const options = { pinImage: false, signal: NOBODY };
  const { ID } = await control.services.create(
    {
      Name: 'web',
      TaskTemplate: {
        ContainerSpec: { Image: 'busybox', Env: [], Labels: {}, TTY: false, Mounts: null, Dir: '' },
        Resources: { Limits: { NanoCPUs: 0 } },
        RestartPolicy: {},
      },
      EndpointSpec: { Ports: [{ TargetPort: 80, PublishMode: 'host', PublishedPort: 0, Name: '' }] },
    },
    options,
  );
  await cluster.commit({ conditions: [], parts: [put('task', taskRecord('t', ID, { slot: 1 }))] });
  for (const replicas of [2, 3]) {
    const { Spec, Version } = await control.services.inspect(ID, { insertDefaults: false });
    await control.services.update(
      ID,
      { ...Spec, Mode: { Replicated: { Replicas: replicas } } },
      { ...options, version: Version.Index ?? 0, registryAuthFrom: '', rollback: '' },
    );
    const filters = new Map([['_up-to-date', ['true']]]);
    expect((await control.tasks.list(filters)).map((task) => task.ID)).toEqual(['t']);
  }
});

test('create and inspect: every field of a service is kept as it was sent', async () => {
  const { control } = await controlRig();
  const secret = await control.secrets.create({ Name: 's', Data: 'eA==' });
  const config = await control.configs.create({ Name: 'c', Data: 'eA==' });
  const spec = everything(secret.ID, config.ID);
  const options = { pinImage: false, signal: NOBODY };
  const { ID } = await control.services.create(spec, options);
  const shown = await control.services.inspect(ID, { insertDefaults: false });
  expect(shown.Spec).toEqual(spec);
  expect(shown.Endpoint.Spec).toEqual(spec.EndpointSpec);
  // A client that reads, changes one thing and writes loses nothing.
  await control.services.update(
    ID,
    { ...shown.Spec, Labels: {} },
    { ...options, version: shown.Version.Index ?? 0, registryAuthFrom: '', rollback: '' },
  );
  const after = await control.services.inspect(ID, { insertDefaults: true });
  expect(after.Spec).toEqual({ ...spec, Labels: {} });
  expect(after.PreviousSpec).toEqual(spec);
});
