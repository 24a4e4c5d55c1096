import { execFile } from 'node:child_process';
import { copyFileSync, createReadStream, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { peakRssKb } from '../../scripts/bench/memory.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ImageInspect } from '../../api/types/image.ts';
import { removeTree } from '../support/engine/cleanup.ts';
import { TestDaemon, type EngineKind } from '../support/engine/daemon.ts';
import { debianRootfs } from '../support/images/debian-rootfs.ts';
import { fileTree, imageTree, treeDifferences, type FileTree } from '../support/images/file-tree.ts';
import { until, type HttpClient } from '../support/engine/http.ts';
import { needs } from '../support/needs.ts';
import { descriptorGrowth, differences, restingDescriptors } from '../support/engine/oracle.ts';
import { WAIT_MS } from '../support/patience.ts';
import { TestRegistry } from '../support/registry/registry.ts';

const run = promisify(execFile);
const OUTPUT_BYTES_MAX = 16 * 1024 * 1024;
const ADDRESS = '127.0.0.1:5000';
const NAME = `${ADDRESS}/debian/built:1`;
const BASE = 'debian:base';
/** What a daemon may take of memory, whatever it is doing. */
const PEAK_RSS_KB_MAX = 300_000;
/** Threads without work, and their descriptors, go some seconds after it. */
const WORKERS_GONE_MS = 30_000;

/**
 * What images do to a file system: packages without a network, links, attributes, whiteouts of files and folders, a
 * folder that hides the one below, owners that no account has.
 */
const DOCKERFILE = `FROM ${BASE}
ENV DEBIAN_FRONTEND=noninteractive
COPY packages /packages
RUN apt-get install -y --no-install-recommends /packages/*.deb && rm -rf /packages
RUN useradd --create-home --uid 4000 somebody && install -d -o 4000 -g 50000 -m 2770 /srv/shared \\
 && setfacl -m u:4000:r-- /etc/hostname && setfacl -d -m g:staff:rwx /srv/shared
RUN rm /etc/motd && rm -rf /usr/share/doc && mkdir /usr/share/doc && echo new >/usr/share/doc/only
RUN ln /bin/cat /opt/cat && ln -s /nowhere /opt/dangling && mkfifo /opt/fifo && chmod 4755 /opt/cat
COPY --chown=somebody:50000 motd /etc/motd
USER somebody
CMD ["jq", "--version"]
`;

needs(
  'root',
  'built',
  'docker-cli',
  'dockerd',
  'docker-registry',
  'podman',
  'skopeo',
  'debootstrap',
  'netns',
)('a Debian root file system', () => {
  const folder = mkdtempSync('/tmp/berth-debian-');
  const file = (name: string): string => path.join(folder, name);
  let berth: TestDaemon;
  let second: TestDaemon;
  let dockerd: TestDaemon;
  let registry: TestRegistry | undefined;
  let built: { id: string; tree: FileTree };

  let base: string | undefined;
  const daemons: TestDaemon[] = [];
  const start = async (engine: EngineKind): Promise<TestDaemon> => {
    const daemon = await TestDaemon.start({ engine });
    daemons.push(daemon);
    return daemon;
  };
  const docker = async (daemon: TestDaemon, ...args: string[]): Promise<string> => {
    const env = { ...process.env, DOCKER_BUILDKIT: '0', DOCKER_CONFIG: folder };
    const options = { env, maxBuffer: OUTPUT_BYTES_MAX };
    return (await run('docker', ['--host', `unix://${daemon.paths.socket}`, ...args], options)).stdout;
  };
  const podman = async (...args: string[]): Promise<string> => {
    const store = ['--root', file('podman'), '--runroot', file('podman-run'), '--storage-driver', 'overlay'];
    return (await run('podman', [...store, ...args], { maxBuffer: OUTPUT_BYTES_MAX })).stdout.trim();
  };
  const expectSame = async (daemon: TestDaemon, name = NAME): Promise<void> => {
    expect(treeDifferences(built.tree, await imageTree(daemon.http, name))).toEqual([]);
  };

  const inBase = (...command: string[]): Promise<string> =>
    docker(berth, 'run', '--rm', '--network', 'none', BASE, ...command);

  beforeAll(async () => {
    const rootfs = debianRootfs();
    [base] = rootfs.layers;
    mkdirSync(file('context'));
    mkdirSync(file('context/packages'));
    for (const source of rootfs.packages) {
      copyFileSync(source, file(`context/packages/${path.basename(source)}`));
    }
    writeFileSync(file('context/Dockerfile'), DOCKERFILE);
    writeFileSync(file('context/motd'), 'of somebody\n');
    berth = await start('berthd');
    second = await start('berthd');
    dockerd = await start('dockerd');
    registry = await TestRegistry.start({ port: 5000, enter: (...argv) => berth.netns.enter(...argv) });
  }, 600_000);
  afterAll(async () => {
    await registry?.[Symbol.asyncDispose]();
    for (const daemon of daemons) {
      await daemon[Symbol.asyncDispose]();
    }
    removeTree(folder);
  }, 600_000);

  test('import: the files are those that tar(1) makes of it', async () => {
    await docker(berth, 'import', base ?? '', BASE);
    mkdirSync(file('base'));
    await run('tar', ['-x', '-p', '--xattrs', '--xattrs-include=*', '-f', base ?? '', '-C', file('base')]);
    expect(treeDifferences(fileTree(file('base')), await imageTree(berth.http, BASE))).toEqual([]);
    rmSync(file('base'), { recursive: true });
  });

  test('run: its package manager and its interpreter work', async () => {
    expect(await inBase('apt-get', '--version')).toMatch(/^apt 2\./);
    expect(await inBase('dpkg', '--audit')).toBe('');
    expect(
      (await inBase('dpkg', '-l')).split('\n').filter((line) => line.startsWith('ii')).length,
    ).toBeGreaterThan(80);
    expect(await inBase('perl', '-e', 'print join " ", map { $_ * 2 } 1..3')).toBe('2 4 6');
  });

  test('build: packages are installed without a network, and what was built runs', async () => {
    const said = await docker(berth, 'build', '--network', 'none', '--tag', NAME, file('context'));
    expect(said).toContain('Setting up jq ');
    expect(await docker(berth, 'run', '--rm', '--network', 'none', NAME)).toMatch(/^jq-1\./);
    const tree = await imageTree(berth.http, NAME);
    expect([...tree.keys()].filter((name) => /^usr\/share\/doc(\/|$)/.test(name))).toEqual([
      'usr/share/doc',
      'usr/share/doc/only',
    ]);
    expect(tree.get('etc/motd')).toMatch(/^file 644 4000:50000 /);
    expect(tree.get('opt/cat')).toMatch(/^file 4755 0:0 /);
    expect(tree.get('srv/shared')).toMatch(/^directory 2770 4000:50000 .* system\.posix_acl_default=/);
    expect(tree.has('packages')).toBe(false);
    built = { id: await idOf(berth), tree };
  });

  test('push: a client that leaves ends it, and the registry has no image of that name', async () => {
    await berth.http.ok('POST', `/images/${NAME}/tag?repo=${ADDRESS}/debian/left&tag=1`);
    const before = await restingDescriptors(berth);
    for (const moment of [
      '"Preparing","progressDetail":{"current"',
      '"Pushing","progressDetail":{"current"',
    ]) {
      await leaveAfter(berth.http, `/images/${ADDRESS}/debian/left/push?tag=1`, moment);
    }
    await expect.poll(() => descriptorGrowth(before, berth), { timeout: WORKERS_GONE_MS }).toEqual({});
    const tags = `http://${ADDRESS}/v2/debian/left/tags/list`;
    expect(await berth.netns.run('curl', '--silent', tags)).toContain('NAME_UNKNOWN');
    await berth.http.ok('DELETE', `/images/${ADDRESS}/debian/left:1`);
  });

  test('push, and pull by another daemon: the same image and the same files', async () => {
    await docker(berth, 'push', NAME);
    await using _beside = await TestRegistry.start({
      port: 5000,
      ...(registry && { store: registry }),
      enter: (...argv) => second.netns.enter(...argv),
    });
    const pull = `/images/create?fromImage=${ADDRESS}/debian/built&tag=1`;
    const before = await restingDescriptors(second);
    for (const moment of ['"Downloading"', '"Extracting"', '"Pull complete"']) {
      await until(
        `it to leave at ${moment}`,
        async () => {
          await leaveAfter(second.http, pull, moment);
          await expect.poll(() => differences(second)).toEqual([]);
          const images = await second.http.ok<unknown[]>('GET', '/images/json?all=1');
          if (images.length > 0) {
            // A busy machine held it up until all was there.
            await docker(second, 'rmi', '--force', NAME);
          }
          return images.length === 0;
        },
        3 * WAIT_MS,
      );
    }
    await expect.poll(() => descriptorGrowth(before, second), { timeout: WORKERS_GONE_MS }).toEqual({});
    await docker(second, 'pull', NAME);
    expect(await idOf(second)).toBe(built.id);
    await expectSame(second);
    const digests = async (daemon: TestDaemon): Promise<string[]> =>
      (await daemon.http.ok<ImageInspect>('GET', `/images/${NAME}/json`)).RepoDigests;
    expect(await digests(second)).toEqual(await digests(berth));
  });

  test('save of two images that share a layer: dockerd, podman and skopeo load them', async () => {
    await docker(berth, 'save', '--output', file('berth.tar'), BASE, NAME);
    expect((await docker(dockerd, 'load', '--input', file('berth.tar'))).split('\n').toSorted()).toEqual(
      expect.arrayContaining([`Loaded image: ${NAME}`, `Loaded image: ${BASE}`]),
    );
    expect(await idOf(dockerd)).toBe(built.id);
    expect(await idOf(dockerd, BASE)).toBe(await idOf(berth, BASE));
    await expectSame(dockerd);
    expect(await docker(dockerd, 'run', '--rm', '--network', 'none', NAME)).toMatch(/^jq-1\./);
    await podman('load', '--quiet', '--input', file('berth.tar'));
    expect(`sha256:${await podman('image', 'inspect', '--format', '{{.Id}}', NAME)}`).toBe(built.id);
    expect(`sha256:${await podman('image', 'inspect', '--format', '{{.Id}}', BASE)}`).toBe(
      await idOf(berth, BASE),
    );
    const mounted = await podman('image', 'mount', NAME);
    expect(treeDifferences(built.tree, fileTree(mounted))).toEqual([]);
    await podman('image', 'unmount', NAME);
    await skopeo(
      'copy',
      `docker-archive:${file('berth.tar')}:${NAME}`,
      `oci-archive:${file('skopeo.tar')}:${NAME}`,
    );
  });

  test.for(['dockerd', 'podman', 'podman as OCI', 'skopeo as OCI'])('load: what %s saved', async (origin) => {
    const archive = file('back.tar');
    rmSync(archive, { force: true });
    const save: Record<string, () => Promise<unknown>> = {
      dockerd: () => docker(dockerd, 'save', '--output', archive, NAME),
      podman: () => podman('save', '--format', 'docker-archive', '--output', archive, NAME),
      'podman as OCI': () => podman('save', '--format', 'oci-archive', '--output', archive, NAME),
      'skopeo as OCI': async () => copyFileSync(file('skopeo.tar'), archive),
    };
    await save[origin]?.();
    await docker(second, 'image', 'prune', '--all', '--force');
    expect(await second.http.ok('GET', '/images/json')).toEqual([]);
    await second.http.ok('POST', '/images/load?quiet=1', createReadStream(archive));
    await expectSame(second);
    // The OCI programs write the configuration anew, in their own order of keys.
    const isSame = origin === 'dockerd' || origin === 'podman';
    expect((await idOf(second)) === built.id).toBe(isSame);
    expect(await docker(second, 'run', '--rm', '--network', 'none', NAME)).toMatch(/^jq-1\./);
  });

  test('memory: none of it took more than it may', () => {
    for (const daemon of [berth, second]) {
      expect(peakRssKb(daemon.pid)).toBeLessThan(PEAK_RSS_KB_MAX);
    }
  });
});

/** Posts, reads the progress until it tells of this, and goes. */
async function leaveAfter(http: HttpClient, target: string, moment: string): Promise<void> {
  const answer = await http.open('POST', target, { headers: { 'X-Registry-Auth': 'e30=' }, agent: false });
  let text = '';
  for await (const chunk of answer) {
    text += String(chunk);
    if (text.includes(moment)) {
      // Ends the loop, and with it the connection.
      return;
    }
  }
  throw new Error(`${target} never came to ${moment}: ${text.slice(-500)}`);
}

async function idOf({ http }: TestDaemon, name = NAME): Promise<string> {
  return (await http.ok<ImageInspect>('GET', `/images/${name}/json`)).Id;
}

async function skopeo(...args: string[]): Promise<void> {
  await run('skopeo', ['--insecure-policy', ...args]);
}
