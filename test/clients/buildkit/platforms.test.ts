import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { must, runClient, type Said } from '../../support/buildkit/run-client.ts';
import { describeEngine } from '../../support/engine/engine.ts';
import { fileLayer, publish, publishIndex } from '../../support/registry/registry-content.ts';
import { TestRegistry } from '../../support/registry/registry.ts';

/** Where Debian has its CLI, whatever else is on the PATH. */
const OLD = '/usr/bin/docker';
const REGISTRY = '127.0.0.1:5000';

describeEngine(
  "BuildKit's clients: images of a platform that is not this host's",
  (engine) => {
    const root = (): string => engine.daemon.paths.root;
    const docker = (...args: string[]): Promise<Said> => runClient(engine.daemon, [OLD, ...args]);
    const idOf = async (image: string): Promise<string> =>
      (await docker('image', 'inspect', '--format', '{{.Id}}', image)).out.trim();
    /** What the file `a` of an image has for this platform. */
    const built = async (image: string, ...options: string[]): Promise<string> => {
      const out = `${root()}/out`;
      const said = docker('build', ...options, '-o', out, '--build-arg', `IMAGE=${image}`, `${root()}/app`);
      await must(said);
      return readFileSync(`${out}/a`, 'utf8');
    };
    const enter = (...argv: string[]): string[] => engine.daemon.netns.enter(...argv);
    const ids = { amd: '', arm: '' };
    let registry: TestRegistry;

    beforeAll(async () => {
      mkdirSync(`${root()}/app`, { recursive: true });
      writeFileSync(`${root()}/app/Dockerfile`, 'ARG IMAGE\nFROM $IMAGE\n');
      await using store = await TestRegistry.start({ port: 0 });
      const base = `http://${store.address}`;
      for (const name of ['here', 'elsewhere']) {
        const amd = await publish(base, `${name}:amd`, [fileLayer('a', 'of amd64')]);
        const arm = await publish(base, `${name}:arm`, [fileLayer('a', 'of arm64')], {
          architecture: 'arm64',
        });
        await publishIndex(base, `${name}:1`, [
          { image: amd, platform: { os: 'linux', architecture: 'amd64' } },
          { image: arm, platform: { os: 'linux', architecture: 'arm64' } },
        ]);
        Object.assign(ids, { amd: amd.id, arm: arm.id });
      }
      registry = await TestRegistry.start({ port: 5000, store, enter });
    });

    afterAll(() => registry[Symbol.asyncDispose]());

    test('a name that stands for another platform here stays as it is; the registry is asked', async () => {
      await must(docker('pull', `${REGISTRY}/here:1`));
      expect(await idOf(`${REGISTRY}/here:1`)).toBe(ids.amd);
      expect(await built(`${REGISTRY}/here:1`, '--platform', 'linux/arm64')).toBe('of arm64');
      expect(await built(`${REGISTRY}/here:1`, '--platform', 'linux/arm64', '--pull')).toBe('of arm64');
      expect(await built(`${REGISTRY}/here:1`)).toBe('of amd64');
      expect(await idOf(`${REGISTRY}/here:1`)).toBe(ids.amd);
    });

    test('a name that is not here does not come to stand for another platform', async () => {
      expect(await built(`${REGISTRY}/elsewhere:1`, '--platform', 'linux/arm64')).toBe('of arm64');
      expect(await idOf(`${REGISTRY}/elsewhere:1`)).toBe('');
      expect(await built(`${REGISTRY}/elsewhere:1`)).toBe('of amd64');
    });

    test('an image without an index is taken as it is', async () => {
      expect(await built(`${REGISTRY}/here:amd`, '--platform', 'linux/arm64')).toBe('of amd64');
    });
  },
  { alsoNeeds: ['docker-cli', 'docker-registry'] },
);
