import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { beforeAll, expect, test } from 'vitest';
import { describeEngine } from '../support/engine/engine.ts';
import { until } from '../support/engine/http.ts';

interface UsedCache {
  Type: string;
  Description: string;
  InUse: boolean;
  Size: number;
}

describeEngine(
  'builder of daemon.json',
  (engine) => {
    const folder = (): string => `${engine.daemon.paths.root}/app`;
    const docker = (...args: string[]): Promise<{ code: number; out: string; err: string }> =>
      new Promise((resolve) => {
        const env = {
          PATH: process.env['PATH'] ?? '',
          HOME: engine.daemon.paths.root,
          DOCKER_HOST: `unix://${engine.daemon.paths.socket}`,
          DOCKER_BUILDKIT: '1',
        };
        const child = execFile('/usr/bin/docker', args, { env, timeout: 120_000 }, (error, out, err) => {
          resolve({ code: error === null ? 0 : (child.exitCode ?? 1), out, err });
        });
        child.stdin?.end();
      });
    const used = async (): Promise<UsedCache[]> =>
      (await engine.http.ok<{ BuildCache: UsedCache[] }>('GET', '/v1.45/system/df')).BuildCache;

    beforeAll(() => {
      mkdirSync(folder(), { recursive: true });
      writeFileSync(
        `${folder()}/Dockerfile`,
        'FROM busybox\nRUN --mount=type=cache,target=/c dd if=/dev/zero of=/c/big bs=1k count=64 && echo x >/x\n',
      );
    });

    test('what a policy does not keep goes soon after the build, what it keeps stays, and df agrees', async () => {
      const { code, err } = await docker('build', '--no-cache', folder());
      expect({ code, err: code === 0 ? '' : err }).toEqual({ code: 0, err: '' });
      const types = async (): Promise<string[]> => (await used()).map(({ Type }) => Type);
      await until('the result of the step to go', async () => !(await types()).includes('regular'));
      const [mount] = await used();
      expect(mount).toMatchObject({ Type: 'exec.cachemount', InUse: false });
      expect(mount?.Size).toBeGreaterThanOrEqual(64 * 1024);
    });

    test('a prune keeps what it is told to, by its older and its newer name', async () => {
      for (const kept of ['keep-storage', 'reserved-space', 'max-used-space']) {
        const report = await engine.http.ok<{ CachesDeleted: string[] | null }>(
          'POST',
          `/build/prune?all=1&${kept}=${1024 ** 3}`,
        );
        expect([kept, report.CachesDeleted]).toEqual([kept, null]);
      }
      await engine.http.ok('POST', '/build/prune?all=1&max-used-space=1000');
      expect(await used()).toEqual([]);
    });

    test('a build that asks for what builds may not have is refused', async () => {
      const { code, err } = await docker('build', '--network=host', folder());
      expect(code).toBe(1);
      expect(err).toContain('entitlement network.host is not allowed (builder.entitlements)');
    });
  },
  {
    alsoNeeds: ['docker-cli'],
    config: {
      builder: {
        gc: { policy: [{ keepStorage: '0b', filter: ['type=regular'], all: true }] },
        entitlements: { 'network-host': false },
      },
    },
  },
);
