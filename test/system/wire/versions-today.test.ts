import { describe, expect, test } from 'vitest';
import type { ContainerCreateResponse, ContainerInspect } from '../../../api/types/container.ts';
import type { ImageInspect, ImageSummary } from '../../../api/types/image.ts';
import type { NetworkInspect } from '../../../api/types/system.ts';
import { existsSync, readFileSync } from 'node:fs';
import { cgroupDirectories } from '../../support/engine/cleanup.ts';
import { describeEngine, onReference } from '../../support/engine/engine.ts';
import { TestRegistry } from '../../support/registry/registry.ts';
import { fileLayer, publish } from '../../support/registry/registry-content.ts';
import type { PublishOptions } from '../../support/registry/registry-content.ts';

const SLEEP = ['sleep', '1000'];
const MAC = '02:42:ac:11:be:ef';
/** A block device that every machine has. */
const DISK = '/dev/loop0';

const rules = (...rates: number[]): object => ({
  BlkioDeviceReadBps: rates.map((Rate) => ({ Path: DISK, Rate })),
});

/** What the API has got since the newest dockerd of a Debian release: only Berth is looked at. */
describe.skipIf(onReference)('versions since 1.44', () => {
  describeEngine('versions since 1.44', (engine) => {
    const createAt = async (
      version: string,
      more: object,
    ): Promise<ContainerCreateResponse & { status: number; message?: string }> => {
      using client = engine.daemon.at(version);
      const body = { Image: 'busybox:latest', Cmd: SLEEP, ...more };
      const answer = await client.request('POST', '/containers/create', { body });
      return { status: answer.status, ...(answer.json as ContainerCreateResponse) };
    };

    const rule = (id: string): string | undefined => {
      const files = cgroupDirectories(engine.daemon.cgroupParent)
        .filter((name) => name.endsWith(id))
        .flatMap((folder) => [`${folder}/blkio.throttle.read_bps_device`, `${folder}/io.max`]);
      const file = files.find((name) => existsSync(name));
      return file === undefined ? undefined : /^7:0 (?:rbps=)?(\d+)/m.exec(readFileSync(file, 'utf8'))?.[1];
    };
    const update = async (version: string, id: string, body: object): Promise<[number, string]> => {
      const { status, text } = await engine.http.request('POST', `${version}/containers/${id}/update`, {
        body,
      });
      return [status, text];
    };

    const enter = (...argv: string[]): string[] => engine.daemon.netns.enter(...argv);
    /** A registry where the daemon is, with an image of one file. */
    const filled = async (name: string, options: PublishOptions = {}): Promise<TestRegistry> => {
      await using store = await TestRegistry.start({ port: 0 });
      await publish(`http://${store.address}`, name, [fileLayer('a', name)], options);
      return await TestRegistry.start({ port: 5000, store, enter });
    };

    test('1.52: MacAddress beside the endpoints is refused, and honoured with a warning before', async () => {
      const body = { MacAddress: MAC, HostConfig: { NetworkMode: 'bridge' } };
      expect(await createAt('1.52', body)).toMatchObject({
        status: 400,
        message: expect.stringContaining('container-wide MAC address no longer supported') as string,
      });
      for (const [version, warned] of [
        ['1.51', true],
        ['1.44', true],
        ['1.43', false],
      ] as const) {
        const { Id, Warnings } = await createAt(version, body);
        const warning = 'The container-wide MacAddress field is now deprecated.';
        expect([version, Warnings.some((text) => text.startsWith(warning))]).toEqual([version, warned]);
        using client = engine.daemon.at(version);
        const shown = await client.ok<ContainerInspect>('GET', `/containers/${Id}/json`);
        expect(shown.Config.MacAddress).toBe(MAC);
        expect(shown.Config.OnBuild).toBeNull();
        const { Config } = await engine.inspect(Id);
        expect(Object.keys(Config).filter((key) => key === 'MacAddress' || key === 'OnBuild')).toEqual([]);
        await engine.http.ok('POST', `/containers/${Id}/start`);
        const { stdout } = await engine.exec(Id, ['cat', '/sys/class/net/eth0/address']);
        expect(stdout).toBe(`${MAC}\n`);
        await engine.remove(Id);
      }
    });

    test('1.52: the MacAddress of the main endpoint is that of Config no longer', async () => {
      const endpoint = { EndpointsConfig: { bridge: { MacAddress: MAC } } };
      for (const NetworkMode of ['bridge', 'default']) {
        const { Id } = await createAt('1.55', { HostConfig: { NetworkMode }, NetworkingConfig: endpoint });
        const shown = [];
        for (const version of ['1.51', '1.52']) {
          using client = engine.daemon.at(version);
          const { Config } = await client.ok<ContainerInspect>('GET', `/containers/${Id}/json`);
          shown.push(Config.MacAddress);
        }
        expect([NetworkMode, shown]).toEqual([NetworkMode, [MAC, undefined]]);
        await engine.remove(Id);
      }
    });

    test('1.52: KernelMemoryTCP is ignored, and dropped with a warning before', async () => {
      const HostConfig = { KernelMemoryTCP: 64 << 20 };
      const [older, newer] = [await createAt('1.51', { HostConfig }), await createAt('1.52', { HostConfig })];
      expect(older.Warnings).toEqual([expect.stringContaining('kernel memory TCP')]);
      expect(newer.Warnings).toEqual([]);
      const updates = [];
      for (const version of ['1.51', '1.52']) {
        using client = engine.daemon.at(version);
        updates.push(
          await client.ok<{ Warnings: string[] }>('POST', `/containers/${newer.Id}/update`, HostConfig),
        );
      }
      expect(updates.map(({ Warnings }) => Warnings.length)).toEqual([1, 0]);
    });

    test.each([
      ['1.48', '1.47', { VolumeDriver: 'local', Mounts: [{ Type: 'volume', Source: 'data', Target: '/d' }] }],
      ['1.52', '1.51', { PortBindings: { '80/tcp': [] } }],
    ])(
      '%s: create warns of what means something else than it says, %s does not',
      async (new_, old, HostConfig) => {
        const [newer, older] = [await createAt(new_, { HostConfig }), await createAt(old, { HostConfig })];
        expect(newer.Warnings).toHaveLength(1);
        expect(older.Warnings).toEqual([]);
        await engine.removeAll();
        await engine.http.request('DELETE', '/volumes/data?force=1');
      },
    );

    test('1.47, 1.48: manifests of an image are the one that it has, told when asked for', async () => {
      const id = await engine.create(SLEEP);
      const listed = await engine.http.ok<ImageSummary[]>('GET', '/images/json?manifests=1');
      const image = await engine.http.ok<ImageInspect>('GET', '/images/busybox/json?manifests=1');
      const [manifest] = image.Manifests ?? [];
      const digest = expect.stringMatching(/^sha256:[0-9a-f]{64}$/) as string;
      const platform = { architecture: image.Architecture, os: 'linux' };
      expect(image.Manifests).toEqual([
        {
          ID: digest,
          Descriptor: {
            mediaType: 'application/vnd.docker.distribution.manifest.v2+json',
            digest: manifest?.ID,
            size: expect.any(Number) as number,
            platform,
          },
          Available: true,
          Size: {
            Content: expect.any(Number) as number,
            Total: (manifest?.Size.Content ?? 0) + image.Size,
          },
          Kind: 'image',
          ImageData: { Platform: platform, Size: { Unpacked: image.Size }, Containers: [id] },
        },
      ]);
      expect(listed.find(({ Id }) => Id === image.Id)).toMatchObject({
        Manifests: image.Manifests,
        Descriptor: image.Descriptor,
      });
      for (const path of [
        '/images/busybox/json',
        '/v1.47/images/busybox/json?manifests=1',
        '/images/json',
        '/v1.46/images/json?manifests=1',
      ]) {
        const { text } = await engine.http.request('GET', path);
        expect([path, text.includes('"Manifests"')]).toEqual([path, false]);
      }
    });

    test('1.53, 1.54: the identity of an image is where it was pulled from', async () => {
      await using registry = await filled('tools/a:1');
      const name = `${registry.address}/tools/a`;
      await engine.http.request('POST', `/images/create?fromImage=${name}&tag=1`);
      const identity = { Pull: [{ Repository: name }] };
      const inspect = await engine.http.ok<ImageInspect>('GET', `/images/${name}:1/json`);
      expect(inspect.Identity).toEqual(identity);
      const path = '/images/json?manifests=1&identity=1';
      const list = await engine.http.ok<ImageSummary[]>('GET', path);
      const told = list.map(({ RepoTags, Manifests: [first] = [] }) => [
        RepoTags[0],
        first?.Kind === 'image' ? first.ImageData.Identity : undefined,
      ]);
      expect(Object.fromEntries(told)).toEqual({ [`${name}:1`]: identity, 'busybox:latest': undefined });
      const older = await engine.http.request('GET', `/v1.52/images/${name}:1/json`);
      expect(older.text.includes('Identity')).toBe(false);
      await engine.http.ok('DELETE', `/images/${name}:1`);
    });

    test('1.44: an image that does not say when it was made has no Created', async () => {
      await using registry = await filled('tools/b:1', { dated: false });
      const name = `${registry.address}/tools/b`;
      await engine.http.request('POST', `/images/create?fromImage=${name}&tag=1`);
      const shown = [];
      for (const version of ['', '/v1.44', '/v1.43']) {
        const image = await engine.http.ok<ImageInspect>('GET', `${version}/images/${name}:1/json`);
        shown.push(image.Created);
      }
      expect(shown).toEqual([undefined, undefined, '0001-01-01T00:00:00Z']);
      await engine.http.ok('DELETE', `/images/${name}:1`);
    });

    test('1.52: a network tells how many of its addresses are taken and free', async () => {
      const Config = [
        { Subnet: '10.14.0.0/24', IPRange: '10.14.0.128/25', AuxiliaryAddresses: { a: '10.14.0.9' } },
      ];
      const IPAM = { Config: [...Config, { Subnet: 'fd00:14::/64' }] };
      await engine.http.ok('POST', '/networks/create', { Name: 'counted', EnableIPv6: true, IPAM });
      await engine.start(SLEEP, { NetworkMode: 'counted' });
      // Its own address and the last one, the gateway's, that of `a`, the container's.
      const { text } = await engine.http.request('GET', '/networks/counted');
      expect(text).toContain('"10.14.0.0/24":{"IPsInUse":5,"DynamicIPsAvailable":126}');
      // 2^64 but its own address, the gateway's and the container's, each digit of it.
      expect(text).toContain('"fd00:14::/64":{"IPsInUse":3,"DynamicIPsAvailable":18446744073709551613}');
      const host = await engine.http.ok<NetworkInspect>('GET', '/networks/host');
      expect(host.Status).toEqual({ IPAM: {} });
      const older = await engine.http.request('GET', '/v1.51/networks/counted');
      expect(older.text.includes('"Status"')).toBe(false);
      const list = await engine.http.request('GET', '/networks');
      expect(list.text.includes('"Status"')).toBe(false);
      await engine.removeAll();
      await engine.http.ok('DELETE', '/networks/counted');
    });

    describe('1.55: rules for block devices', () => {
      test('update: they are in force at once, stay when they are not named, and go with an empty list', async () => {
        const id = await engine.start(SLEEP);
        const [status, text] = await update('', id, rules(54_321));
        expect(status).toBe(200);
        if (text.includes('Block I/O')) {
          // This kernel limits no disks.
          return;
        }
        expect(rule(id)).toBe('54321');
        await update('', id, { Memory: 32 << 20, MemorySwap: -1 });
        await update('/v1.54', id, rules());
        expect(rule(id)).toBe('54321');
        expect((await engine.inspect(id)).HostConfig.BlkioDeviceReadBps).toEqual([
          { Path: DISK, Rate: 54_321 },
        ]);
        expect((await update('', id, rules(65_432)))[0]).toBe(200);
        expect(rule(id)).toBe('65432');
        expect((await update('', id, rules()))[0]).toBe(200);
        expect([rule(id), (await engine.inspect(id)).HostConfig.BlkioDeviceReadBps]).toEqual([undefined, []]);
      });

      test('update: a container that does not run has them from its next start on', async () => {
        const id = await engine.create(SLEEP);
        const [, text] = await update('', id, rules(54_321));
        await engine.http.ok('POST', `/containers/${id}/start`);
        expect(text.includes('Block I/O') ? '54321' : rule(id)).toBe('54321');
      });

      test.each(['/nope', '/dev/null'])(
        'update: %s is no block device, and nothing changes',
        async (Path) => {
          const id = await engine.start(SLEEP);
          const before = (await engine.inspect(id)).HostConfig;
          const [status, text] = await update('', id, {
            BlkioDeviceReadBps: [{ Path, Rate: 1 }],
            CpuShares: 77,
          });
          if (!text.includes('Block I/O')) {
            expect([status, text]).toEqual([400, expect.stringContaining(Path)]);
            expect((await engine.inspect(id)).HostConfig).toEqual(before);
          }
        },
      );
    });
  });
});
