import { expect, test } from 'vitest';
import type { ContainerCreateRequest, ContainerInspect } from '../../../../api/types/container.ts';
import type { HostConfig } from '../../../../api/types/host-config.ts';
import { describeEngine } from '../../../support/engine/engine.ts';

/** What tools that update containers do: stop, inspect, remove, create again from what inspect said. */
function recreated({ Config, HostConfig, NetworkSettings }: ContainerInspect): ContainerCreateRequest {
  return { ...Config, HostConfig, NetworkingConfig: { EndpointsConfig: NetworkSettings.Networks } };
}

const REQUESTS: readonly [string, HostConfig, ContainerCreateRequest][] = [
  ['nothing but defaults', {}, {}],
  [
    'the default bridge and ports',
    { NetworkMode: 'bridge', PortBindings: { '80/tcp': [{ HostPort: '8099' }] } },
    {},
  ],
  [
    'much of everything',
    {
      NetworkMode: 'bridge',
      Binds: ['named:/named:ro'],
      Mounts: [{ Type: 'tmpfs', Target: '/scratch', TmpfsOptions: { SizeBytes: 1 << 20 } }],
      Tmpfs: { '/run': 'size=1m' },
      Memory: 64 << 20,
      NanoCpus: 500_000_000,
      PidsLimit: 50,
      CapAdd: ['NET_ADMIN'],
      CapDrop: ['CHOWN'],
      Dns: ['192.0.2.1'],
      ExtraHosts: ['a:192.0.2.2'],
      IpcMode: 'shareable',
      Init: true,
      OomScoreAdj: 500,
      ReadonlyRootfs: true,
      RestartPolicy: { Name: 'on-failure', MaximumRetryCount: 3 },
      SecurityOpt: ['no-new-privileges'],
      ShmSize: 1 << 20,
      Sysctls: { 'net.core.somaxconn': '99' },
      Ulimits: [{ Name: 'nofile', Soft: 100, Hard: 200 }],
      Annotations: { a: 'b' },
      GroupAdd: ['55'],
      Links: ['linked:alias'],
      VolumesFrom: ['linked:ro'],
    },
    {
      Env: ['A=1'],
      Labels: { l: '1' },
      User: '5:6',
      WorkingDir: '/etc',
      Hostname: 'round',
      Domainname: 'trip',
      ExposedPorts: { '81/udp': {} },
      StopSignal: 'SIGINT',
      StopTimeout: 3,
      Volumes: { '/anonymous': {} },
      Healthcheck: { Test: ['CMD', 'true'], Interval: 1e9 },
    },
  ],
  [
    'privileged',
    { Privileged: true, PidMode: 'host', UTSMode: 'host', NetworkMode: 'host', IpcMode: 'host' },
    {},
  ],
];

describeEngine('round trip', (engine) => {
  test.each(REQUESTS)(
    'create: takes what inspect shows of a container with %s',
    async (_what, host, more) => {
      await engine.start(
        ['sleep', '1000'],
        { NetworkMode: 'bridge' },
        { Volumes: { '/shared': {} } },
        'linked',
      );
      const first = await engine.start(['sleep', '1000'], host, more, 'original');
      const before = await engine.inspect(first);
      await engine.http.ok('POST', `/containers/${first}/stop?t=0`);
      await engine.http.ok('DELETE', `/containers/${first}`);
      const body = recreated(before);
      const { Id } = await engine.http.ok<{ Id: string }>('POST', '/containers/create?name=original', body);
      await engine.http.ok('POST', `/containers/${Id}/start`);
      const after = await engine.inspect(Id);
      expect(after.HostConfig).toEqual(before.HostConfig);
      expect(after.Config).toEqual(before.Config);
      expect(after.Mounts.map(({ Destination }) => Destination)).toEqual(
        before.Mounts.map(({ Destination }) => Destination),
      );
      await engine.removeAll();
      await engine.http.request('DELETE', '/volumes/named?force=1');
    },
  );

  test.each(['1.24', '1.30', '1.41'])('create: takes what inspect of %s shows', async (version) => {
    const client = engine.daemon.at(version);
    const first = await engine.create(['sleep', '1000'], { NetworkMode: 'bridge' }, {}, 'original');
    const shown = await client.ok<ContainerInspect>('GET', `/containers/${first}/json`);
    await client.ok('DELETE', `/containers/${first}`);
    const { Id } = await client.ok<{ Id: string }>(
      'POST',
      '/containers/create?name=original',
      recreated(shown),
    );
    await client.ok('POST', `/containers/${Id}/start`);
    expect((await engine.inspect(Id)).State.Running).toBe(true);
    client[Symbol.dispose]();
  });
});
