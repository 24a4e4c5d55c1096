import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { TestDaemon } from '../support/engine/daemon.ts';
import { needs } from '../support/needs.ts';
import { busyboxEntries } from '../support/images/images.ts';
import { fileLayer, publish, type PublishedImage } from '../support/registry/registry-content.ts';
import { TestRegistry } from '../support/registry/registry.ts';

const run = promisify(execFile);
/** That of Debian 12 asks for API 1.22. */
const skopeo = async (...args: string[]): Promise<string> =>
  (await run('skopeo', ['--insecure-policy', ...args])).stdout;

needs(
  'root',
  'built',
  'docker-cli',
  'docker-registry',
  'skopeo',
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
    rmSync(config, { recursive: true, force: true });
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

  it('push draws each layer, and finds them the second time', async () => {
    const name = `${registry.address}/other/pushed:1`;
    await docker('tag', `${registry.address}/tools/busybox:1`, name);
    // Known from the pull: the registry has them in another repository.
    expect(await docker('push', name)).toMatch(
      /: Mounted from tools\/busybox\n.*1: digest: sha256:[0-9a-f]{64} size: \d+\n/s,
    );
    expect(await docker('push', name)).toMatch(/: Layer already exists\n/);
  });

  it('skopeo reads what was pushed, and what it copies can be run', async () => {
    const layout = `oci:${config}/layout:1`;
    const copy = (...args: string[]): Promise<string> =>
      daemon.netns.run('skopeo', '--insecure-policy', 'copy', ...args);
    await copy('--src-tls-verify=false', `docker://${registry.address}/other/pushed:1`, layout);
    await copy('--dest-tls-verify=false', layout, `docker://${registry.address}/tools/copied:1`);
    const name = `${registry.address}/tools/copied:1`;
    expect(await docker('run', '--rm', '--network', 'none', name, 'cat', '/etc/motd')).toBe(
      'from the registry\n',
    );
    const digest = await daemon.netns.run(
      'skopeo',
      'inspect',
      '--tls-verify=false',
      '--format',
      '{{.Digest}}',
      `docker://${name}`,
    );
    expect(await docker('inspect', '--format', '{{index .RepoDigests 0}}', name)).toContain('@sha256:');
    expect(await docker('images', '--digests', '--format', '{{.Repository}} {{.Digest}}')).toContain(
      `${registry.address}/tools/copied ${digest.trim()}`,
    );
    await docker('rmi', name, `${registry.address}/other/pushed:1`);
  });

  it('skopeo reads images from the engine itself, and writes them there', async () => {
    const host = `unix://${daemon.paths.socket}`;
    const layout = `oci:${config}/of-daemon:1`;
    const name = `${registry.address}/tools/busybox:1`;
    const inspected = await skopeo('inspect', '--config', '--daemon-host', host, `docker-daemon:${name}`);
    expect(JSON.parse(inspected)).toMatchObject({ os: 'linux' });
    await skopeo('copy', '--src-daemon-host', host, `docker-daemon:${name}`, layout);
    await skopeo('copy', '--dest-daemon-host', host, layout, 'docker-daemon:by/skopeo:1');
    expect(await docker('run', '--rm', '--network', 'none', 'by/skopeo:1', 'cat', '/etc/motd')).toBe(
      'from the registry\n',
    );
    await docker('rmi', 'by/skopeo:1');
  });

  it('search finds what the registry has', async () => {
    expect(await docker('search', '--format', '{{.Name}}', `${registry.address}/busybox`)).toBe(
      `${registry.address}/tools/busybox\n`,
    );
  });

  it('a mirror of Docker Hub is used from the reload of the configuration on', async () => {
    const name = `${registry.address}/library/mirrored:1`;
    await docker('tag', `${registry.address}/tools/busybox:1`, name);
    await docker('push', name);
    daemon.configure({ 'registry-mirrors': [`http://${registry.address}`] });
    process.kill(daemon.pid, 'SIGHUP');
    await expect
      .poll(() => docker('info', '--format', '{{.RegistryConfig.Mirrors}}'))
      .toContain(registry.address);
    expect(await docker('pull', 'mirrored:1')).toContain('Status: Downloaded newer image for mirrored:1\n');
    await docker('rmi', name, 'mirrored:1');
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

  it('class 14: credentials of a pull are in no log, event or image', async () => {
    const canary = 'canary-secret';
    const header = Buffer.from(JSON.stringify({ username: 'me', password: canary })).toString('base64');
    const url = `/images/create?fromImage=${registry.address}/tools/busybox&tag=1`;
    await daemon.http.request('POST', url, { headers: { 'X-Registry-Auth': header } });
    const events = await daemon.http.request(
      'GET',
      `/events?since=1&until=${Math.floor(Date.now() / 1000) + 1}`,
    );
    const images = await daemon.http.request('GET', '/images/json');
    const told = [daemon.log(), events.text, images.text].join('\n');
    expect(told).toContain('tools/busybox');
    for (const secret of [canary, header, Buffer.from(`me:${canary}`).toString('base64')]) {
      expect(told).not.toContain(secret);
    }
  });
});
