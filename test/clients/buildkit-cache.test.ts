import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { must, runClient, type Said } from '../support/buildkit/run-client.ts';
import { describeEngine } from '../support/engine/engine.ts';
import { TestRegistry } from '../support/registry/registry.ts';
import { hasTrixie, inTrixie } from '../support/trixie.ts';

/** Each build of it is another, unless it is taken from a cache. */
const DOCKERFILE = [
  'FROM busybox AS made',
  'RUN cat /proc/sys/kernel/random/uuid >/made',
  'FROM busybox',
  'COPY one /one',
  'COPY --from=made /made /copied',
  'RUN cat /proc/sys/kernel/random/uuid >/once',
  'CMD ["cat", "/copied", "/once"]',
];
const HUB = '127.0.0.1:5000';

/** All but bases, which are here. */
const cachedSteps = ({ err }: Said): number => {
  const steps = [...err.matchAll(/^#(\d+) \[.*\] (?:RUN|COPY) /gm)].map(([, number]) => number);
  return steps.filter((number) => err.includes(`\n#${number} CACHED`)).length;
};

describeEngine(
  "BuildKit's clients: caches elsewhere",
  (engine) => {
    let registry: TestRegistry;
    const root = (): string => engine.daemon.paths.root;
    const app = (): string => `${root()}/app`;
    const run = (file: string, args: readonly string[]): Promise<Said> =>
      runClient(engine.daemon, [file, ...args]);
    const docker = (...args: string[]): Promise<Said> => run('/usr/bin/docker', args);
    const today = (...args: string[]): Promise<Said> => {
      const [file, ...rest] = inTrixie('docker', ...args);
      return run(file, rest);
    };
    const build = (...args: string[]): Promise<Said> =>
      today('buildx', 'build', '--builder', 'far', '--progress=plain', ...args, app());
    /** As a host that has never built it. */
    const forget = async (...images: string[]): Promise<void> => {
      for (const image of images) {
        await must(docker('image', 'rm', image));
      }
      await engine.http.ok('POST', '/build/prune?all=1');
    };

    beforeAll(async () => {
      registry = await TestRegistry.start({
        port: 5000,
        enter: (...argv) => engine.daemon.netns.enter(...argv),
      });
      mkdirSync(app(), { recursive: true });
      writeFileSync(`${app()}/Dockerfile`, DOCKERFILE.join('\n'));
      writeFileSync(`${app()}/one`, '1');
    });
    afterAll(async () => {
      await registry[Symbol.asyncDispose]();
    });
    beforeEach(async () => {
      await engine.http.ok('POST', '/build/prune?all=1');
    });

    test.each([
      ['docker CLI 20.10', docker, ['build']],
      ...(hasTrixie() ? ([['docker buildx', today, ['buildx', 'build']]] as const) : []),
    ] as const)('%s: an image brings its cache along', async (name, client, command) => {
      const image = `${HUB}/${name.replaceAll(/\W/g, '').toLowerCase()}:1`;
      const args = ['--progress=plain', '--build-arg', 'BUILDKIT_INLINE_CACHE=1', '--tag', image, app()];
      await must(client(...command, ...args));
      const first = await must(docker('run', '--rm', '--network', 'none', image));
      await must(docker('push', image));
      const [{ Id }] = JSON.parse((await docker('image', 'inspect', image)).out) as [{ Id: string }];
      await forget(image);
      const again = await must(client(...command, '--cache-from', image, ...args));
      expect(cachedSteps(again), again.err).toBeGreaterThanOrEqual(3);
      expect((await must(docker('run', '--rm', '--network', 'none', image))).out).toBe(first.out);
      // The same configuration, times and cache included.
      expect((await docker('image', 'inspect', '--format', '{{.Id}}', image)).out.trim()).toBe(Id);
      await forget(image);
      writeFileSync(`${app()}/one`, 'other');
      const other = await must(client(...command, '--cache-from', image, ...args));
      const ran = await must(docker('run', '--rm', '--network', 'none', image));
      expect(ran.out, other.err).not.toBe(first.out);
      writeFileSync(`${app()}/one`, '1');
      await forget(image);
    });

    test('docker CLI 20.10: an image that is here is a cache, without its registry', async () => {
      const image = 'kept.example/app:1';
      const args = ['build', '--progress=plain', '--build-arg', 'BUILDKIT_INLINE_CACHE=1', '--tag', image];
      await must(docker(...args, app()));
      const first = await must(docker('run', '--rm', '--network', 'none', image));
      await engine.http.ok('POST', '/build/prune?all=1');
      await must(docker(...args, '--cache-from', image, app()));
      expect((await must(docker('run', '--rm', '--network', 'none', image))).out).toBe(first.out);
      await forget(image);
    });

    test('docker CLI 20.10: a cache that cannot be read is told of, and the build goes on', async () => {
      const tag = ['--tag', 'without:1'];
      const said = await must(
        docker('build', '--progress=plain', '--cache-from', `${HUB}/none:1`, ...tag, app()),
      );
      expect(said.err).toContain(`importing cache manifest from ${HUB}/none:1`);
      expect(said.err).toContain('manifest unknown');
      await forget('without:1');
    });

    describe.runIf(hasTrixie())('docker buildx, driver remote', () => {
      beforeAll(async () => {
        const address = `unix://${engine.daemon.paths.socket}`;
        await must(today('buildx', 'create', '--name', 'far', '--driver', 'remote', address));
      });

      test.each(['true', 'false'])('registry, all stages, image-manifest=%s', async (isImage) => {
        const ref = `${HUB}/cache:all-${isImage}`;
        const to = `type=registry,ref=${ref},mode=max,image-manifest=${isImage}`;
        const written = await must(build('--cache-to', to));
        expect(written.err).toContain(`exporting cache to registry ${ref}`);
        await forget();
        const from = ['--cache-from', `type=registry,ref=${ref}`];
        const made = await must(build(...from, '--target', 'made'));
        expect(cachedSteps(made), made.err).toBeGreaterThanOrEqual(1);
        const all = await must(build(...from));
        expect(cachedSteps(all), all.err).toBeGreaterThanOrEqual(3);
      });

      test('registry, the layers of the image alone: a stage is not needed, and is not there', async () => {
        const ref = `${HUB}/cache:min`;
        await must(build('--cache-to', `type=registry,ref=${ref}`));
        await forget();
        const from = ['--cache-from', `type=registry,ref=${ref}`];
        const all = await must(build(...from));
        expect(cachedSteps(all), all.err).toBeGreaterThanOrEqual(3);
        const made = await must(build(...from, '--target', 'made'));
        expect(cachedSteps(made), made.err).toBe(0);
      });

      test('a directory of the client, and again', async () => {
        const folder = `${root()}/kept-cache`;
        rmSync(folder, { recursive: true, force: true });
        await must(build('--cache-to', `type=local,dest=${folder},mode=max`));
        expect(existsSync(`${folder}/index.json`)).toBe(true);
        const index = JSON.parse(readFileSync(`${folder}/index.json`, 'utf8')) as { manifests: object[] };
        expect(index.manifests).toHaveLength(1);
        await forget();
        const all = await must(build('--cache-from', `type=local,src=${folder}`));
        expect(cachedSteps(all), all.err).toBeGreaterThanOrEqual(3);
        // Written again by who did not need all of it: it has all of it.
        const both = [`--cache-from`, `type=local,src=${folder}`, '--cache-to'];
        await must(build(...both, `type=local,dest=${folder},mode=max`));
        expect(JSON.parse(readFileSync(`${folder}/index.json`, 'utf8'))).toEqual(index);
      });

      test('a blob of it that has changed is refused, and what it would give is built', async () => {
        const folder = `${root()}/broken-cache`;
        await must(build('--cache-to', `type=local,dest=${folder},mode=max`));
        await forget();
        const { manifests } = JSON.parse(readFileSync(`${folder}/index.json`, 'utf8')) as {
          manifests: { digest: string }[];
        };
        const blob = (digest: string): string => `${folder}/blobs/${digest.replace(':', '/')}`;
        const manifest = JSON.parse(readFileSync(blob(manifests[0]?.digest ?? ''), 'utf8')) as {
          layers: { digest: string; size: number }[];
        };
        for (const { digest, size } of manifest.layers) {
          writeFileSync(blob(digest), Buffer.alloc(size, 'x'));
        }
        const all = await must(build('--cache-from', `type=local,src=${folder}`));
        expect(cachedSteps(all), all.err).toBe(0);
        expect(all.err).toContain('1 warning found');
      });

      test('what cannot be written fails the build, unless that is to be no error', async () => {
        const to = 'type=registry,ref=127.0.0.1:1/none';
        const { code, err } = await build('--cache-to', to);
        expect({ code, err }).toEqual({ code: 1, err: expect.stringContaining('connection refused') });
        await must(build('--cache-to', `${to},ignore-error=true`));
      });

      test('what is not there is refused by its name', async () => {
        const { code, err } = await build('--cache-to', 'type=azblob,name=n,account_url=https://a.example');
        expect({ code, err }).toEqual({
          code: 1,
          err: expect.stringContaining(
            'cache export azblob is not supported: inline, local and registry are',
          ),
        });
      });
    });
  },
  { alsoNeeds: ['docker-cli', 'docker-registry'] },
);
