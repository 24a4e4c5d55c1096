import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { TestDaemon } from '../../support/engine/daemon.ts';
import { differences } from '../../support/engine/oracle.ts';
import { needs } from '../../support/needs.ts';
import { TestRegistry } from '../../support/registry/registry.ts';
import { inTrixie } from '../../support/trixie.ts';

const IMAGE = '127.0.0.1:5000/app:1';
const CACHE = 'type=registry,ref=127.0.0.1:5000/cache:1';
const DOCKERFILE = (mark: number): string =>
  ['FROM busybox', `RUN cat /proc/sys/kernel/random/uuid >/one${mark}`, `RUN echo ${mark} >/two`].join('\n');

needs(
  'root',
  'built',
  'netns',
  'docker-cli',
  'docker-registry',
  'trixie',
)('caches of builds elsewhere', () => {
  let daemon: TestDaemon;
  let registry: TestRegistry;
  let built = 0;

  const run = (file: string, args: readonly string[]): Promise<{ code: number; err: string }> => {
    const { root, socket } = daemon.paths;
    const env = {
      PATH: process.env['PATH'] ?? '',
      HOME: root,
      DOCKER_HOST: `unix://${socket}`,
      DOCKER_BUILDKIT: '1',
    };
    return new Promise((resolve) => {
      const child = execFile(file, args, { env, timeout: 120_000 }, (error, _out, err) => {
        resolve({ code: error === null ? 0 : (child.exitCode ?? 1), err });
      });
      child.stdin?.end();
    });
  };
  const docker = (...args: string[]): ReturnType<typeof run> => run('/usr/bin/docker', args);
  const today = (...args: string[]): ReturnType<typeof run> => {
    const [file, ...rest] = inTrixie('docker', ...args);
    return run(file, rest);
  };
  const folder = (): string => `${daemon.paths.root}/context`;
  const build = (...args: string[]): ReturnType<typeof run> =>
    docker(
      'build',
      '--progress=plain',
      '--build-arg=BUILDKIT_INLINE_CACHE=1',
      '-t',
      IMAGE,
      ...args,
      folder(),
    );
  const write = (...args: string[]): ReturnType<typeof run> =>
    today('buildx', 'build', '--builder', 'far', '--progress=plain', '--cache-to', CACHE, ...args, folder());
  /** A Dockerfile of which no step is known yet. */
  const fresh = (): void => {
    built += 1;
    mkdirSync(folder(), { recursive: true });
    writeFileSync(`${folder()}/Dockerfile`, DOCKERFILE(built));
  };
  const prune = (): Promise<unknown> => daemon.http.ok('POST', '/build/prune?all=1');
  const isClean = async (): Promise<void> => {
    await expect.poll(() => differences(daemon), { timeout: 30_000 }).toEqual([]);
  };
  /** An image with its cache in the registry, and nothing of it here. */
  const pushed = async (): Promise<void> => {
    fresh();
    expect((await build()).code).toBe(0);
    expect((await docker('push', IMAGE)).code).toBe(0);
    expect((await docker('image', 'rm', IMAGE)).code).toBe(0);
    await prune();
  };

  beforeAll(async () => {
    daemon = await TestDaemon.start({ armable: true });
    await daemon.loadBusybox();
    registry = await TestRegistry.start({ port: 5000, enter: (...argv) => daemon.netns.enter(...argv) });
    const address = `unix://${daemon.paths.socket}`;
    expect((await today('buildx', 'create', '--name', 'far', '--driver', 'remote', address)).code).toBe(0);
  });
  afterAll(async () => {
    await registry[Symbol.asyncDispose]();
    await daemon[Symbol.asyncDispose]();
  });

  const IMPORT = ['images.build.cache.fetch', 'build.cache.import', 'build.cache.adopt'];
  const EXPORT = ['images.build.cache.push', 'build.cache.export.layer', 'build.cache.export.config'];

  it.each(IMPORT)(
    'R1: kill -9 at %s: the next start leaves nothing of it, and the cache is taken',
    async (point) => {
      await pushed();
      daemon.arm(`${point}=sigkill`);
      expect((await build('--cache-from', IMAGE)).code).not.toBe(0);
      await daemon.ended();
      daemon.arm('');
      await daemon.up();
      await isClean();
      const { code, err } = await build('--cache-from', IMAGE);
      expect(
        { code, cached: err.match(/^#\d+ \[[23]\/3\] RUN .*\n(?:#\d+ sha256:.*\n)?#\d+ CACHED/gm)?.length },
        err,
      ).toEqual({
        code: 0,
        cached: 2,
      });
      await isClean();
    },
  );

  it.each(IMPORT)(
    '%s fails: what the cache would give is built, and nothing of it is left',
    async (point) => {
      await pushed();
      daemon.arm(`${point}=errno(EIO)`);
      expect((await build('--cache-from', IMAGE)).code).toBe(0);
      daemon.arm('');
      await isClean();
    },
  );

  it.each(EXPORT)('R1: kill -9 at %s: the next start leaves nothing of it', async (point) => {
    await prune();
    fresh();
    daemon.arm(`${point}=sigkill`);
    expect((await write()).code).not.toBe(0);
    await daemon.ended();
    daemon.arm('');
    await daemon.up();
    await isClean();
    expect((await write()).code).toBe(0);
    await isClean();
  });

  it.each(EXPORT)('%s fails: the build says so, and goes on where it was', async (point) => {
    await prune();
    fresh();
    daemon.arm(`${point}=errno(EIO)`);
    expect((await write()).code).toBe(1);
    daemon.arm('');
    await isClean();
    expect((await write()).code).toBe(0);
  });
});
