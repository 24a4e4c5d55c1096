import { createHash } from 'node:crypto';
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ControlClient, type AskedOutput } from '../../support/buildkit/control-client.ts';
import { SessionServer } from '../../support/buildkit/session-server.ts';
import { describeEngine } from '../../support/engine/engine.ts';

interface Descriptor {
  digest: string;
  size: number;
  mediaType: string;
  annotations?: Record<string, string>;
}

const DOCKERFILE = 'FROM busybox\nRUN echo made >/made && true\nLABEL a=b\n';

/** A blob that is what its descriptor says. */
function blob(read: (path: string) => Buffer, { digest, size }: Descriptor): Buffer {
  const bytes = read(`blobs/sha256/${digest.slice('sha256:'.length)}`);
  expect(`sha256:${createHash('sha256').update(bytes).digest('hex')}`).toBe(digest);
  expect(bytes.length).toBe(size);
  return bytes;
}

function plain(compression: string, input: Buffer): Buffer {
  if (compression === 'zstd') {
    return execFileSync('zstd', ['-dc'], { input, maxBuffer: 64 * 1024 * 1024 });
  }
  return compression === 'gzip' ? gunzipSync(input) : input;
}

describeEngine(
  'tarballs of built images',
  (engine) => {
    let server: SessionServer;
    let client: ControlClient;

    beforeAll(() => {
      mkdirSync(`${engine.daemon.paths.root}/client`);
      server = new SessionServer(`${engine.daemon.paths.root}/client`);
      client = new ControlClient(engine.daemon.paths.socket);
      server.list = [
        {
          stat: { path: Buffer.from('Dockerfile'), mode: 0o644, size: DOCKERFILE.length },
          content: Buffer.from(DOCKERFILE),
        },
      ];
    });
    afterAll(async () => {
      client[Symbol.dispose]();
      await server[Symbol.asyncDispose]();
    });

    const build = async (
      outputs: readonly AskedOutput[],
      options: Record<string, string> = {},
    ): Promise<{ told: ReadonlyMap<string, string>; tars: Buffer[] }> => {
      server.sends.length = 0;
      const told = await client.build(server, outputs, options);
      return { told, tars: server.sends.map(({ bytes }) => bytes) };
    };
    /** Unpacks it; answers a reader of its files. */
    const unpack = (tar: Buffer, name: string): ((path: string) => Buffer) => {
      const folder = `${engine.daemon.paths.root}/${name}`;
      mkdirSync(folder);
      writeFileSync(`${folder}.tar`, tar);
      execFileSync('tar', ['-xf', `${folder}.tar`, '-C', folder]);
      return (path) => readFileSync(`${folder}/${path}`);
    };
    test.each(['gzip', 'uncompressed', 'zstd'])(
      'oci with %s: a layout with all that it names',
      async (compression) => {
        const attrs = { name: 'app:1', compression, 'annotation.x': 'y' };
        const { told, tars } = await build([{ type: 'oci', attrs }], {
          'build-arg:SOURCE_DATE_EPOCH': '1700000000',
        });
        const read = unpack(tars[0] ?? Buffer.alloc(0), `oci-${compression}`);
        const index = JSON.parse(read('index.json').toString()) as { manifests: Descriptor[] };
        const [descriptor] = index.manifests;
        expect(descriptor?.annotations).toEqual({
          'io.containerd.image.name': 'docker.io/library/app:1',
          'org.opencontainers.image.ref.name': '1',
        });
        expect(descriptor).toMatchObject({ platform: { os: 'linux', architecture: 'amd64' } });
        expect(told.get('containerimage.digest')).toBe(descriptor?.digest);
        expect(told.get('image.name')).toBe('docker.io/library/app:1');
        const manifest = JSON.parse(blob(read, descriptor as Descriptor).toString()) as {
          config: Descriptor;
          layers: Descriptor[];
          annotations: Record<string, string>;
        };
        expect(manifest.annotations).toEqual({ x: 'y' });
        expect(told.get('containerimage.config.digest')).toBe(manifest.config.digest);
        const config = JSON.parse(blob(read, manifest.config).toString()) as {
          created: string;
          rootfs: { diff_ids: string[] };
        };
        expect(config.created).toBe('2023-11-14T22:13:20Z');
        const diffIds = manifest.layers.map((layer) => {
          const bytes = blob(read, layer);
          return `sha256:${createHash('sha256').update(plain(compression, bytes)).digest('hex')}`;
        });
        expect(diffIds).toEqual(config.rootfs.diff_ids);
      },
    );

    test('docker: `docker load` has the image, with the same id; twice the same bytes', async () => {
      const outputs = [{ type: 'docker', attrs: { name: 'loaded:1' } }];
      const { told, tars } = await build(outputs);
      const again = await build(outputs);
      expect(again.tars[0]?.equals(tars[0] ?? Buffer.alloc(0))).toBe(true);
      const { status } = await engine.http.request('POST', '/images/load', { body: tars[0] });
      expect(status).toBe(200);
      const { Id } = await engine.http.ok<{ Id: string }>('GET', '/images/loaded:1/json');
      expect(Id).toBe(told.get('containerimage.config.digest'));
      await engine.http.ok('DELETE', '/images/loaded:1');
    });

    test('several platforms: an index of their images; a folder for each in a directory', async () => {
      const lines = [
        'FROM --platform=$BUILDPLATFORM busybox AS made',
        'ARG TARGETARCH',
        'RUN echo $TARGETARCH >/for && mkdir /o && mv /for /o',
        'FROM scratch',
        'COPY --from=made /o /',
      ];
      const content = Buffer.from(lines.join('\n'));
      const [before] = server.list;
      server.list = [
        { stat: { path: Buffer.from('Dockerfile'), mode: 0o644, size: content.length }, content },
      ];
      const options = { platform: 'linux/arm64,linux/amd64' };
      const { told, tars } = await build(
        [{ type: 'oci', attrs: { name: 'both:1' } }, { type: 'tar' }],
        options,
      );
      const read = unpack(tars[0] ?? Buffer.alloc(0), 'both');
      const { manifests } = JSON.parse(read('index.json').toString()) as { manifests: Descriptor[] };
      expect(manifests.map(({ digest }) => digest)).toEqual([told.get('containerimage.digest')]);
      const index = JSON.parse(blob(read, manifests[0] as Descriptor).toString()) as {
        manifests: (Descriptor & { platform: object })[];
      };
      expect(index.manifests.map(({ platform }) => platform)).toEqual([
        { os: 'linux', architecture: 'arm64' },
        { os: 'linux', architecture: 'amd64' },
      ]);
      const configs = index.manifests.map((descriptor) => {
        const { config } = JSON.parse(blob(read, descriptor).toString()) as { config: Descriptor };
        return JSON.parse(blob(read, config).toString()) as { architecture: string };
      });
      expect(configs.map(({ architecture }) => architecture)).toEqual(['arm64', 'amd64']);
      const file = unpack(tars[1] ?? Buffer.alloc(0), 'both-files');
      expect(file('linux_amd64/for').toString()).toBe('amd64\n');
      expect(file('linux_arm64/for').toString()).toBe('arm64\n');
      server.takes = 'files';
      server.sends.length = 0;
      await client.build(server, [{ type: 'local' }], options);
      expect(server.sends[0]?.listed.map(({ stat }) => String(stat.path))).toEqual([
        'linux_amd64',
        'linux_amd64/for',
        'linux_arm64',
        'linux_arm64/for',
      ]);
      server.takes = 'bytes';
      await expect(build([{ type: 'docker' }], options)).rejects.toThrow(
        'exporter docker: several platforms at once are not supported: linux/arm64,linux/amd64',
      );
      server.list = before === undefined ? [] : [before];
    });

    test('several outputs of one build', async () => {
      const { told, tars } = await build([
        { type: 'moby', attrs: { name: 'several:1' } },
        { type: 'tar' },
        { type: 'oci' },
      ]);
      expect(tars.length).toBe(2);
      expect(server.sends.map(({ metadata }) => metadata.get('buildkit-attachable-exporter-id'))).toEqual([
        ['1'],
        ['2'],
      ]);
      expect(told.get('image.name')).toContain('several:1');
      await engine.http.ok('DELETE', '/images/several:1');
    });

    test.each([
      [
        { type: 'oci', attrs: { compression: 'estargz' } },
        'exporter oci: compression estargz is not supported',
      ],
      [
        { type: 'oci', attrs: { 'annotation-index.a': 'b' } },
        'index annotations not supported for single platform export',
      ],
      [{ type: 'image', attrs: { push: 'true' } }, 'exporter image: push=true needs a name'],
      [{ type: 'image', attrs: { unheard: 'of' } }, 'exporter image: option unheard=of is not supported'],
    ])('%o is refused by name', async (output, message) => {
      await expect(build([output])).rejects.toThrow(message);
    });
  },
  { alsoNeeds: [] },
);
