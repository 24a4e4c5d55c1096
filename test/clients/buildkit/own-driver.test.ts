import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ImageInspect } from '../../../api/types/image.ts';
import { must, runClient, type Said } from '../../support/buildkit/run-client.ts';
import { describeEngine } from '../../support/engine/engine.ts';
import { TestRegistry } from '../../support/registry/registry.ts';
import { hasTrixie, inTrixie } from '../../support/trixie.ts';

interface Document {
  manifests: { digest: string; platform: { os: string; architecture: string } }[];
}

const BOTH = 'linux/amd64,linux/arm64';
const FILES = [
  'FROM --platform=$BUILDPLATFORM busybox AS made',
  'ARG TARGETARCH',
  'RUN mkdir /o && cat /proc/sys/kernel/random/uuid >/o/$TARGETARCH',
  'FROM scratch AS files',
  'COPY --from=made /o /',
  'FROM busybox',
  'COPY --from=made /o /o',
];

describeEngine(
  "buildx's own driver (docker): what it asks of the engine",
  (engine) => {
    let registry: TestRegistry;
    const root = (): string => engine.daemon.paths.root;
    const enter = (...argv: string[]): string[] => engine.daemon.netns.enter(...argv);
    const docker = (...args: string[]): Promise<Said> =>
      runClient(engine.daemon, inTrixie('docker', ...args));
    const build = (...args: string[]): Promise<Said> =>
      docker('buildx', 'build', '--progress=plain', ...args, `${root()}/app`);
    const inspect = async (name: string, format: string): Promise<string> =>
      (await must(docker('image', 'inspect', '--format', format, name))).out.trim();
    beforeAll(async () => {
      registry = await TestRegistry.start({ port: 5000, enter });
      mkdirSync(`${root()}/app`);
      writeFileSync(`${root()}/app/Dockerfile`, FILES.join('\n'));
    });
    afterAll(() => registry[Symbol.asyncDispose]());

    test.runIf(hasTrixie())('--push: the image is here by the digests that it has there', async () => {
      const name = '127.0.0.1:5000/app:1';
      const [facts, id] = [`${root()}/facts.json`, `${root()}/id`];
      await must(build('--push', '--tag', name, '--metadata-file', facts, '--iidfile', id));
      const told = JSON.parse(readFileSync(facts, 'utf8')) as Record<string, string>;
      const digest = told['containerimage.digest'] ?? '';
      expect(await inspect(name, '{{json .RepoDigests}}')).toContain(`"127.0.0.1:5000/app@${digest}"`);
      const command = ['run', '--rm', '--network', 'none'];
      await must(docker(...command, readFileSync(id, 'utf8'), 'true'));
      // What newer clients keep in that file.
      await must(docker(...command, digest, 'true'));
      await must(docker('image', 'rm', '--force', digest));
      expect((await docker('image', 'inspect', name)).code).toBe(1);
    });

    test.runIf(hasTrixie())(
      'several platforms are written into archives, and with --load into the store',
      async () => {
        const archive = `${root()}/both.tar`;
        await must(
          build(
            `--platform=${BOTH}`,
            '--target=files',
            '--provenance=false',
            `--output=type=oci,dest=${archive}`,
          ),
        );
        const list = execFileSync('tar', ['-xOf', archive, 'index.json']).toString();
        const [first] = (JSON.parse(list) as Document).manifests;
        const blob = `blobs/${first?.digest.replace(':', '/')}`;
        const index = JSON.parse(execFileSync('tar', ['-xOf', archive, blob]).toString()) as Document;
        expect(index.manifests.map(({ platform }) => platform)).toEqual([
          { os: 'linux', architecture: 'amd64' },
          { os: 'linux', architecture: 'arm64' },
        ]);
        await must(build('--load', `--platform=${BOTH}`, '--target=files', '--tag=both:1'));
        expect(await inspect('both:1', '{{.Architecture}}')).toBe('amd64');
        await must(docker('image', 'rm', 'both:1'));
      },
    );

    test.runIf(hasTrixie())(
      'caches go into directories; what is said of an image goes into the store',
      async () => {
        const cache = `${root()}/cache`;
        await must(build('--tag=cached:1', `--cache-to=type=local,dest=${cache},mode=max`));
        const id = await inspect('cached:1', '{{.Id}}');
        await must(docker('image', 'rm', 'cached:1'));
        await engine.http.ok('POST', '/build/prune?all=1');
        const syntax = '--build-arg=BUILDKIT_SYNTAX=docker/dockerfile:1.7';
        await must(build('--tag=cached:1', syntax, `--cache-from=type=local,src=${cache}`));
        expect(await inspect('cached:1', '{{.Id}}')).toBe(id);
        await must(docker('image', 'rm', 'cached:1'));
        await must(build('--load', '--tag=said:1', '--provenance=mode=max'));
        const { Manifests = [] } = await engine.http.ok<ImageInspect>(
          'GET',
          '/images/said:1/json?manifests=1',
        );
        expect(Manifests.map(({ Kind }) => Kind)).toEqual(['image', 'attestation']);
        await must(docker('image', 'rm', 'said:1'));
      },
    );
  },
  { alsoNeeds: ['docker-registry'] },
);
