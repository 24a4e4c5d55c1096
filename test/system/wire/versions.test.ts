import { expect, test } from 'vitest';
import type { ContainerInspect } from '../../../api/types/container.ts';
import type { HostConfig } from '../../../api/types/host-config.ts';
import { describeEngine, onReference } from '../../support/engine/engine.ts';
import { jsonLines } from '../../support/engine/http.ts';

/** What clients compare with what they asked for. */
const LISTS = [
  'Binds',
  'VolumesFrom',
  'CapAdd',
  'CapDrop',
  'GroupAdd',
  'SecurityOpt',
  'Devices',
  'Ulimits',
  'PortBindings',
  'Dns',
  'DnsOptions',
  'DnsSearch',
  'ExtraHosts',
  'BlkioWeightDevice',
  'BlkioDeviceReadBps',
  'BlkioDeviceWriteBps',
  'BlkioDeviceReadIOps',
  'BlkioDeviceWriteIOps',
] as const satisfies readonly (keyof HostConfig)[];

function valuesOf(host: HostConfig): [string, unknown][] {
  return LISTS.map((name) => [name, host[name]]);
}

/** What clients of old versions meet that send, or ask for, what came later. */
describeEngine('versions', (engine) => {
  const createAt = async (version: string, body: object): Promise<ContainerInspect> => {
    using client = engine.daemon.at(version);
    const { Id } = await client.ok<{ Id: string }>('POST', '/containers/create', {
      Image: 'busybox:latest',
      Cmd: ['true'],
      ...body,
    });
    return await engine.inspect(Id);
  };

  test('create: fields that are newer than the version of the path count', async () => {
    const Mounts = [{ Type: 'tmpfs' as const, Target: '/t' }];
    const {
      Config,
      HostConfig,
      Mounts: mounts,
    } = await createAt('1.24', {
      Healthcheck: { Test: ['CMD', 'true'], StartPeriod: 5_000_000_000 },
      StopTimeout: 7,
      HostConfig: { NanoCpus: 500_000_000, Mounts, Init: true, AutoRemove: true },
    });
    expect(Config).toMatchObject({
      Healthcheck: { Test: ['CMD', 'true'], StartPeriod: 5_000_000_000 },
      StopTimeout: 7,
    });
    expect(HostConfig).toMatchObject({ NanoCpus: 500_000_000, Mounts, Init: true, AutoRemove: false });
    expect(mounts).toMatchObject([{ Type: 'tmpfs', Destination: '/t' }]);
  });

  test('create: fields of HostConfig beside it count', async () => {
    const alone = await createAt('1.24', { Memory: 8e6, MemorySwap: 16e6, Dns: ['1.1.1.1'], Cpuset: '0' });
    expect(alone.HostConfig).toMatchObject({
      Memory: 8e6,
      MemorySwap: 16e6,
      Dns: ['1.1.1.1'],
      CpusetCpus: '0',
    });
    const beside = await createAt('1.41', {
      Memory: 8e6,
      MemorySwap: 16e6,
      CpuShares: 7,
      Dns: ['1.1.1.1'],
      HostConfig: { CpuShares: 8 },
    });
    expect(beside.HostConfig).toMatchObject({ Memory: 8e6, MemorySwap: 16e6, CpuShares: 8 });
    expect(beside.HostConfig.Dns ?? []).toEqual([]);
  });

  test('create: lists of HostConfig that are not given are null in every version, empty ones stay empty', async () => {
    for (const version of ['1.24', '1.41']) {
      const bare = await createAt(version, { HostConfig: {} });
      expect(valuesOf(bare.HostConfig)).toEqual(LISTS.map((name) => [name, null]));
      const empty = await createAt(version, {
        HostConfig: Object.fromEntries(LISTS.map((name) => [name, name === 'PortBindings' ? {} : []])),
      });
      expect(valuesOf(empty.HostConfig)).toEqual(
        LISTS.map((name) => [name, name === 'PortBindings' ? {} : []]),
      );
    }
  });

  test('exec: Env and WorkingDir count at 1.24, the answer is the id', async () => {
    const id = await engine.start(['sleep', '1000']);
    using client = engine.daemon.at('1.24');
    const exec = await client.ok<{ Id: string }>('POST', `/containers/${id}/exec`, {
      Cmd: ['sh', '-c', 'echo $WORD; pwd'],
      Env: ['WORD=w'],
      WorkingDir: '/tmp',
      AttachStdout: true,
    });
    expect(Object.keys(exec)).toEqual(['Id']);
    const stream = await client.hijack(`/exec/${exec.Id}/start`, { body: { Detach: false, Tty: false } });
    expect((await stream.output()).stdout).toBe('w\n/tmp\n');
  });

  test('operations: those that came later are served under 1.24, 1.22 and 1.23 are as 1.24', async () => {
    const answers = [];
    for (const [method, path] of [
      ['GET', '/v1.24/system/df'],
      ['POST', '/v1.24/containers/prune'],
      ['POST', '/v1.24/images/prune'],
      ['POST', '/v1.24/volumes/prune'],
      ['POST', '/v1.24/networks/prune'],
      ['POST', '/v1.24/build/prune'],
      ['GET', '/v1.22/version'],
      ['GET', '/v1.22/images/busybox:latest/json'],
      ['GET', '/v1.22/images/busybox:latest/get'],
      ['GET', '/v1.23/info'],
      ['GET', '/plugins'],
    ] as const) {
      answers.push([path, (await engine.http.request(method, path)).status]);
    }
    expect(answers.filter(([, status]) => status !== 200)).toEqual([]);
    expect((await engine.http.request('GET', '/plugins')).json).toEqual([]);
  });

  test('events: copies are told as archive-path and extract-to-dir in every version', async () => {
    const id = await engine.create(['true']);
    const { bytes } = await engine.http.request('GET', `/containers/${id}/archive?path=/bin/sh`);
    await engine.http.request('PUT', `/containers/${id}/archive?path=/tmp`, { body: bytes });
    const filters = encodeURIComponent(JSON.stringify({ container: [id] }));
    const until = Math.ceil(Date.now() / 1000);
    for (const version of ['/v1.24', '']) {
      const { text } = await engine.http.request(
        'GET',
        `${version}/events?since=1&until=${until}&filters=${filters}`,
      );
      expect(jsonLines(text).map((event) => (event as { Action: string }).Action)).toEqual([
        'create',
        'archive-path',
        'extract-to-dir',
      ]);
    }
  });

  // dockerd reads int64 and answers 500.
  test.skipIf(onReference)('events: an until of any size is in the future', async () => {
    for (const until of ['9999999999', '99999999999999999999999999', '9999-12-31T23:59:59Z']) {
      const response = await engine.http.open('GET', `/events?since=0&until=${until}`, { agent: false });
      expect(response.statusCode).toBe(200);
      response.destroy();
    }
  });

  // dockerd 20.10 has no subpaths.
  test.skipIf(onReference)(
    'subpath: one of 70,000 characters is a bad request, and a name of 300 is at start',
    async () => {
      const create = async (Subpath: string) =>
        await engine.http.request('POST', '/containers/create', {
          body: {
            Image: 'busybox:latest',
            HostConfig: {
              NetworkMode: 'none',
              Mounts: [{ Type: 'volume', Source: 'long', Target: '/x', VolumeOptions: { Subpath } }],
            },
          },
        });
      const long = await create('y'.repeat(70_000));
      expect([long.status, long.text.length < 1_000]).toEqual([400, true]);
      expect(long.text).toContain('path of 70000 bytes is longer than 4095');
      const name = (await create('y'.repeat(300))).json as { Id: string };
      const start = await engine.http.request('POST', `/containers/${name.Id}/start`);
      expect([start.status, start.text]).toEqual([
        400,
        expect.stringMatching(/subpath y{200}\.\.\.: a name in it is too long/),
      ]);
      await engine.removeAll();
      await engine.http.request('DELETE', '/volumes/long');
    },
  );
});
