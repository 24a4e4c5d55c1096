import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { TestDaemon } from '../../support/engine/daemon.ts';
import { needs } from '../../support/needs.ts';
import { inTrixie } from '../../support/trixie.ts';

const HUB = '127.0.0.1:5010';
const DOCKERFILE = [
  'FROM busybox AS made',
  'RUN cat /proc/sys/kernel/random/uuid >/made',
  'FROM busybox',
  'COPY --from=made /made /copied',
  'RUN cat /proc/sys/kernel/random/uuid >/once',
];

needs(
  'root',
  'built',
  'docker-cli',
  'netns',
  'trixie',
)('caches of builds in the registry of the hub', () => {
  let daemon: TestDaemon;
  const folder = (): string => `${daemon.paths.root}/app`;
  const docker = (...args: string[]): Promise<string> =>
    new Promise((resolve, reject) => {
      const env = {
        PATH: process.env['PATH'] ?? '',
        HOME: daemon.paths.root,
        DOCKER_HOST: `unix://${daemon.paths.socket}`,
      };
      const [file, ...rest] = inTrixie('docker', ...args);
      const child = execFile(file, rest, { env, timeout: 120_000 }, (error, out, err) =>
        error === null ? resolve(`${out}${err}`) : reject(new Error(err)),
      );
      child.stdin?.end();
    });
  const build = (...args: string[]): Promise<string> =>
    docker('buildx', 'build', '--builder', 'far', '--progress=plain', ...args, folder());

  beforeAll(async () => {
    daemon = await TestDaemon.start({ config: { hub: { address: HUB } } });
    await daemon.loadBusybox();
    await daemon.http.ok('POST', '/hub/admin/users', { login: 'alice' });
    const { token } = await daemon.http.ok<{ token: string }>('POST', '/hub/admin/users/alice/tokens', {
      scopes: ['write:packages'],
    });
    await docker('login', '-u', 'alice', '-p', token, HUB);
    await docker('buildx', 'create', '--name', 'far', '--driver', 'remote', `unix://${daemon.paths.socket}`);
    mkdirSync(folder(), { recursive: true });
    writeFileSync(`${folder()}/Dockerfile`, DOCKERFILE.join('\n'));
  });
  afterAll(async () => {
    await daemon[Symbol.asyncDispose]();
  });

  it('docker buildx writes one and takes it again', async () => {
    const ref = `${HUB}/alice/cache:1`;
    await build('--cache-to', `type=registry,ref=${ref},mode=max`);
    await daemon.http.ok('POST', '/build/prune?all=1');
    const again = await build('--cache-from', `type=registry,ref=${ref}`);
    expect(again).toMatch(/^#(\d+) \[.*RUN cat .*>\/once\n#\1 CACHED/m);
    expect(again).toMatch(/^#(\d+) \[.*COPY .*\n#\1 CACHED/m);
  });

  it('an index of layers, which the specification does not know, is refused by the hub', async () => {
    const ref = `${HUB}/alice/cache:index`;
    await expect(build('--cache-to', `type=registry,ref=${ref},image-manifest=false`)).rejects.toThrow(
      'manifest blob unknown',
    );
  });
});
