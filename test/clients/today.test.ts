import { execFile } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { describeEngine } from '../support/engine/engine.ts';
import { inTrixie } from '../support/trixie.ts';

const run = promisify(execFile);
const GREETING = ['cat', '/greeting'];

describeEngine(
  'clients of Debian 13',
  (engine) => {
    const scratch = (): string => engine.daemon.paths.root;
    const host = (): string => `unix://${engine.daemon.paths.socket}`;
    const call = async (...argv: string[]): Promise<string> => {
      const [file, ...args] = inTrixie('env', `HOME=${scratch()}`, `DOCKER_HOST=${host()}`, ...argv);
      return (await run(file, args, { timeout: 120_000 })).stdout.trimEnd();
    };
    const docker = (...args: string[]): Promise<string> => call('docker', ...args);
    const skopeo = (...args: string[]): Promise<string> => call('skopeo', '--insecure-policy', ...args);
    const podman = (...args: string[]): Promise<string> => {
      const folder = `${scratch()}/podman`;
      const store = ['--root', folder, '--runroot', `${folder}-run`, '--storage-driver', 'vfs'];
      return call('podman', ...store, ...args);
    };
    const commitGreeting = async (name: string): Promise<string> => {
      await docker('run', '--name', 'greeter', 'busybox', 'sh', '-c', 'echo hello >/greeting');
      const id = await docker('commit', 'greeter', name);
      await docker('rm', 'greeter');
      return id;
    };

    test('docker CLI 26: runs, executes, stops and shows, by the API version that the engine offers', async () => {
      expect(await docker('version', '--format', '{{.Client.Version}} {{.Client.APIVersion}}')).toMatch(
        /^26\.\S+ 1\.4[45]$/,
      );
      expect(await docker('run', '--rm', '--network', 'none', 'busybox', 'echo', 'hello')).toBe('hello');
      await docker('run', '--detach', '--name', 'web', '--publish', '8481:80', 'busybox', 'sleep', '1000');
      expect(await docker('exec', 'web', 'sh', '-c', 'echo inside')).toBe('inside');
      expect(await docker('ps', '--format', '{{.Names}} {{.Ports}}')).toMatch(
        /^web 0\.0\.0\.0:8481->80\/tcp/,
      );
      await docker('stop', '--time', '0', 'web');
      expect(await docker('inspect', '--format', '{{.State.Status}} {{.State.ExitCode}}', 'web')).toBe(
        'exited 137',
      );
    });

    test('skopeo 1.18: docker-daemon: reads an image, and what it brings back runs', async () => {
      const id = await commitGreeting('greeting:1');
      const layout = `oci:${scratch()}/layout:1`;
      await skopeo('copy', '--src-daemon-host', host(), 'docker-daemon:greeting:1', layout);
      await skopeo('copy', '--dest-daemon-host', host(), layout, 'docker-daemon:copied:1');
      expect(await docker('run', '--rm', '--network', 'none', 'copied:1', ...GREETING)).toBe('hello');
      expect(await docker('images', '--no-trunc', '--quiet', 'greeting')).toBe(id);
      const found: unknown = JSON.parse(
        await skopeo('inspect', '--daemon-host', host(), 'docker-daemon:greeting:1'),
      );
      expect(found).toMatchObject({ Os: 'linux', Layers: expect.any(Array) });
      await docker('rmi', 'greeting:1', 'copied:1');
    });

    test('podman 5: takes what docker saves, and what it saves is loaded and runs', async () => {
      mkdirSync(`${scratch()}/podman`, { recursive: true });
      const file = (name: string): string => `${scratch()}/${name}.tar`;
      await commitGreeting('greeting:2');
      await docker('save', '--output', file('saved'), 'greeting:2');
      await podman('load', '--input', file('saved'));
      for (const kind of ['docker-archive', 'oci-archive']) {
        const found: unknown = JSON.parse(await skopeo('inspect', '--config', `${kind}:${file('saved')}`));
        expect(found).toMatchObject({ os: 'linux', rootfs: { type: 'layers' } });
        await skopeo('copy', `${kind}:${file('saved')}`, `dir:${scratch()}/${kind}`);
      }
      const tag = 'localhost/back:2';
      await podman('tag', 'greeting:2', tag);
      await podman('save', '--format', 'docker-archive', '--output', file('back'), tag);
      await podman('save', '--format', 'oci-archive', '--output', file('layout'), tag);
      await docker('rmi', 'greeting:2');
      for (const archive of ['back', 'layout']) {
        expect(await docker('load', '--input', file(archive))).toContain(tag);
        expect(await docker('images', '--no-trunc', '--quiet', tag)).toMatch(/^sha256:[0-9a-f]{64}$/);
        expect(await docker('run', '--rm', '--network', 'none', tag, ...GREETING)).toBe('hello');
        await docker('rmi', tag);
      }
    });
  },
  { alsoNeeds: ['trixie'] },
);
