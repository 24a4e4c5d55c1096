import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { must, runClient, type Said } from '../../support/buildkit/run-client.ts';
import { describeEngine } from '../../support/engine/engine.ts';
import { TestRegistry } from '../../support/registry/registry.ts';
import { hasTrixie, inTrixie } from '../../support/trixie.ts';

type Document = Record<string, unknown> & { manifests: Record<string, unknown>[] };

const BOTH = 'linux/amd64,linux/arm64';

describeEngine(
  'buildx at the engine as a builder of its own (driver remote)',
  (engine) => {
    const root = (): string => engine.daemon.paths.root;
    const buildx = (...args: string[]): Promise<Said> =>
      runClient(engine.daemon, inTrixie('docker', 'buildx', ...args), { env: { BUILDX_BUILDER: '' } });
    const build = (name: string, lines: readonly string[], ...args: string[]): Promise<Said> => {
      const folder = `${root()}/${name}`;
      mkdirSync(folder, { recursive: true });
      writeFileSync(`${folder}/Dockerfile`, lines.join('\n'));
      return buildx('build', '--builder', 'berth', '--progress=plain', ...args, folder);
    };
    const enter = (...argv: string[]): string[] => engine.daemon.netns.enter(...argv);
    /** What the registry has, as another client reads it. */
    const raw = (reference: string): Document => {
      const [file = '', ...args] = enter(
        'skopeo',
        'inspect',
        '--raw',
        '--tls-verify=false',
        `docker://${reference}`,
      );
      return JSON.parse(execFileSync(file, args).toString()) as Document;
    };
    let registry: TestRegistry;

    beforeAll(async () => {
      registry = await TestRegistry.start({ port: 5000, enter });
      if (hasTrixie()) {
        await must(
          buildx('create', '--driver=remote', '--name=berth', `unix://${engine.daemon.paths.socket}`),
        );
      }
    });
    afterAll(() => registry[Symbol.asyncDispose]());

    const FILES = [
      'FROM --platform=$BUILDPLATFORM busybox AS made',
      'ARG TARGETARCH',
      'RUN mkdir /o && echo $TARGETARCH >/o/for',
      'FROM scratch',
      'COPY --from=made /o /',
    ];

    test.runIf(hasTrixie())('several platforms are pushed as an index, with annotations', async () => {
      const facts = `${root()}/facts.json`;
      const name = '127.0.0.1:5000/both:1';
      await must(
        build(
          'both',
          FILES,
          `--platform=${BOTH}`,
          '--provenance=false',
          '--push',
          `--tag=${name}`,
          '--annotation=index:a=b',
          '--annotation=manifest[linux/arm64]:c=d',
          `--metadata-file=${facts}`,
        ),
      );
      const told = JSON.parse(readFileSync(facts, 'utf8')) as Record<string, { digest: string }>;
      const index = raw(name);
      expect(index['annotations']).toEqual({ a: 'b' });
      expect(index.manifests.map(({ platform }) => platform)).toEqual([
        { os: 'linux', architecture: 'amd64' },
        { os: 'linux', architecture: 'arm64' },
      ]);
      const annotations = index.manifests.map(
        ({ digest }) => raw(`127.0.0.1:5000/both@${String(digest)}`)['annotations'],
      );
      expect(annotations).toEqual([undefined, { c: 'd' }]);
      expect(told['containerimage.descriptor']?.digest).toBe(told['containerimage.digest']);
    });

    test.runIf(hasTrixie())('provenance is pushed beside an image, and buildx reads it back', async () => {
      const name = '127.0.0.1:5000/proven:1';
      await must(build('proven', FILES, '--provenance=mode=max', '--push', `--tag=${name}`));
      const [file = '', ...args] = enter(
        ...inTrixie('docker', 'buildx', 'imagetools', 'inspect', name, '--format', '{{json .Provenance}}'),
      );
      const { SLSA } = JSON.parse(execFileSync(file, args).toString()) as {
        SLSA: { buildConfig: object; materials: { uri: string }[] };
      };
      expect(SLSA.materials.map(({ uri }) => uri)).toEqual([
        expect.stringContaining('pkg:docker/busybox@latest'),
      ]);
      expect(SLSA.buildConfig).toHaveProperty('llbDefinition');
    });

    test.runIf(hasTrixie())('a layout in a directory, of one platform and of several', async () => {
      for (const platform of ['linux/arm64', BOTH]) {
        const to = `${root()}/layout-${platform.length}`;
        const output = `--output=type=oci,tar=false,name=app:1,compression=zstd,dest=${to}`;
        await must(build('files', FILES, `--platform=${platform}`, '--provenance=false', output));
        const argv = ['skopeo', 'copy', '--override-arch=arm64', `oci:${to}`, `oci:${to}-copy`];
        await must(runClient(engine.daemon, argv));
      }
    });

    test.runIf(hasTrixie())('a command of another architecture says what is wrong', async () => {
      const name = '127.0.0.1:5000/foreign:1';
      await must(
        build(
          'foreign',
          ['FROM scratch', 'COPY --chmod=755 Dockerfile /bin/sh', 'ENV A=b'],
          '--platform=linux/arm64',
          '--push',
          `--tag=${name}`,
          '--provenance=false',
        ),
      );
      const { code, err } = await build('runs', [`FROM ${name}`, 'RUN true'], '--platform=linux/arm64');
      expect(code).toBe(1);
      expect(err).toContain('exec format error');
    });
  },
  { alsoNeeds: ['skopeo'] },
);
