import { execFile } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { TestDaemon } from '../support/daemon.ts';
import { needs } from '../support/needs.ts';
import { busyboxEntries } from '../support/images.ts';
import { fileLayer, publish, type PublishedImage } from '../support/registry-content.ts';
import { TestRegistry } from '../support/registry.ts';

const run = promisify(execFile);

needs(
  'root',
  'built',
  'docker-cli',
  'docker-registry',
  'netns',
)('docker and a registry', () => {
  let daemon: TestDaemon;
  let registry: TestRegistry;
  let image: PublishedImage;
  const config = mkdtempSync(path.join(tmpdir(), 'berth-registry-'));

  beforeAll(async () => {
    daemon = await TestDaemon.start();
    await using store = await TestRegistry.start({ port: 0 });
    image = await publish(`http://${store.address}`, 'tools/busybox:1', [
      busyboxEntries(),
      fileLayer('etc/motd', 'from the registry\n'),
    ]);
    const enter = (...argv: string[]): string[] => daemon.netns.enter(...argv);
    registry = await TestRegistry.start({ port: 5000, store, enter });
  });
  afterAll(async () => {
    await registry[Symbol.asyncDispose]();
    await daemon[Symbol.asyncDispose]();
  });

  const docker = async (...args: string[]): Promise<string> => {
    const options = ['--host', `unix://${daemon.paths.socket}`, '--config', config];
    return (await run('docker', [...options, ...args])).stdout;
  };

  it('run brings an image that is not there', async () => {
    const name = `${registry.address}/tools/busybox:1`;
    expect(await docker('run', '--rm', '--network', 'none', name, 'cat', '/etc/motd')).toBe(
      'from the registry\n',
    );
    expect(await docker('images', '--digests', '--format', '{{.Repository}} {{.Tag}} {{.Digest}}')).toBe(
      `${registry.address}/tools/busybox 1 ${image.digest}\n`,
    );
  });

  it('pull says which image it is, and removal by digest takes the last name', async () => {
    const name = `${registry.address}/tools/busybox`;
    const said = await docker('pull', `${name}@${image.digest}`);
    expect(said).toContain(
      `Digest: ${image.digest}\nStatus: Image is up to date for ${name}@${image.digest}\n`,
    );
    expect(await docker('rmi', `${name}:1`)).toContain(
      `Untagged: ${name}@${image.digest}\nDeleted: ${image.id}`,
    );
  });

  it('a tag that the registry does not have is told in dockerd’s words', async () => {
    await expect(docker('pull', `${registry.address}/tools/busybox:none`)).rejects.toThrow(
      `manifest for ${registry.address}/tools/busybox:none not found: manifest unknown`,
    );
  });
});
