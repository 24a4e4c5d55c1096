import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { TestDaemon } from '../../support/engine/daemon.ts';
import { BuildBed } from '../../support/buildkit/build-bed.ts';
import { differences } from '../../support/engine/oracle.ts';
import { needs } from '../../support/needs.ts';

/** Debian's, which builds by BuildKit's protocol. */
const CLI = '/usr/bin/docker';

needs(
  'root',
  'built',
  'netns',
  'docker-cli',
)('outputs of builds', () => {
  let daemon: TestDaemon;

  beforeAll(async () => {
    daemon = await TestDaemon.start({ armable: true });
    await daemon.loadBusybox();
  });
  afterAll(async () => {
    await daemon[Symbol.asyncDispose]();
  });

  const build = (output: string): Promise<{ code: number; err: string }> => {
    const { root, socket } = daemon.paths;
    const folder = `${root}/context`;
    mkdirSync(folder, { recursive: true });
    writeFileSync(`${folder}/file`, 'content');
    writeFileSync(`${folder}/Dockerfile`, 'FROM scratch\nCOPY file /\n');
    const env = {
      PATH: process.env['PATH'] ?? '',
      HOME: root,
      DOCKER_HOST: `unix://${socket}`,
      DOCKER_BUILDKIT: '1',
    };
    const attested = ['--build-arg', 'BUILDKIT_ATTEST_PROVENANCE=mode=max'];
    const args = ['build', '--progress=plain', ...attested, '-o', output, folder];
    return new Promise((resolve) => {
      const child = execFile(CLI, args, { env, timeout: 120_000 }, (error, _out, err) => {
        resolve({ code: error === null ? 0 : (child.exitCode ?? 1), err });
      });
      child.stdin?.end();
    });
  };
  const isClean = async (): Promise<void> => {
    await expect.poll(() => differences(daemon), { timeout: 30_000 }).toEqual([]);
  };

  const POINTS: [point: string, type: 'local' | 'tar'][] = [
    ['build.export.statement.file', 'local'],
    ['build.export.tree', 'local'],
    ['build.export.files', 'local'],
    ['build.export.tree', 'tar'],
    ['build.export.tarball', 'tar'],
  ];

  it.each(POINTS)(
    'R1: kill -9 at %s of %s: nothing is left, and the output is made again',
    async (point, type) => {
      const to = `${daemon.paths.root}/killed-${point}-${type}`;
      daemon.arm(`${point}=sigkill`);
      expect((await build(`type=${type},dest=${to}`)).code).not.toBe(0);
      await daemon.ended();
      daemon.arm('');
      await daemon.up();
      await isClean();
      rmSync(to, { recursive: true, force: true });
      expect((await build(`type=${type},dest=${to}`)).code).toBe(0);
      expect(existsSync(to)).toBe(true);
      await isClean();
    },
  );

  it.each(POINTS)('%s of %s fails once: the build says so, the next one does not', async (point, type) => {
    const to = `${daemon.paths.root}/failed-${point}-${type}`;
    daemon.arm(`${point}=error(told by a test)`);
    const { code, err } = await build(`type=${type},dest=${to}`);
    daemon.arm('');
    expect(code).not.toBe(0);
    expect(err).toContain('told by a test');
    rmSync(to, { recursive: true, force: true });
    expect((await build(`type=${type},dest=${to}`)).code).toBe(0);
    expect(readFileSync(type === 'tar' ? to : `${to}/file`, 'latin1')).toContain('content');
    await isClean();
  });

  it('build.export.push fails: the build says so, and the image is there', async () => {
    await using bed = await BuildBed.open(daemon);
    bed.write(['FROM busybox', 'LABEL pushed=1']);
    daemon.arm('build.export.push=error(told by a test)');
    const output = { type: 'image', attrs: { name: '127.0.0.1:1/app:1', push: 'true' } };
    await expect(bed.build([output])).rejects.toThrow('told by a test');
    daemon.arm('');
    await daemon.http.ok('DELETE', '/images/127.0.0.1:1/app:1');
    await isClean();
  });

  it('R1: kill -9 at images.digest.commit: the image has no digest, and the next build gives it', async () => {
    await using bed = await BuildBed.open(daemon);
    bed.write(['FROM busybox', 'LABEL canonical=1']);
    const outputs = [{ type: 'moby', attrs: { name: 'canonical:1', 'name-canonical': 'true' } }];
    const canonical = async (): Promise<ReadonlyMap<string, string>> => await bed.build(outputs);
    const digests = async (): Promise<string[]> =>
      (await daemon.http.ok<{ RepoDigests: string[] }>('GET', '/images/canonical:1/json')).RepoDigests;
    daemon.arm('images.digest.commit=sigkill');
    await expect(canonical()).rejects.toThrow();
    await daemon.ended();
    daemon.arm('');
    await daemon.up();
    expect(await digests()).toEqual([]);
    await isClean();
    daemon.arm('images.digest.commit=error(told by a test)');
    await expect(canonical()).rejects.toThrow('told by a test');
    daemon.arm('');
    expect(await digests()).toEqual([]);
    const told = await canonical();
    expect(await digests()).toEqual([`canonical@${told.get('containerimage.digest')}`]);
    await daemon.http.ok('DELETE', '/images/canonical:1');
    await isClean();
  });

  it('R1: kill -9 at build.export.rewrite: nothing of the layers is left, and they are made again', async () => {
    await using bed = await BuildBed.open(daemon);
    const modTime = 1_700_000_000_000_000_000n;
    bed.write(['FROM scratch', 'COPY Dockerfile /a', 'COPY Dockerfile /b'], { modTime });
    const outputs = [{ type: 'moby', attrs: { name: 'rewritten:1', 'rewrite-timestamp': 'true' } }];
    const moment = { 'build-arg:SOURCE_DATE_EPOCH': '1000000000' };
    const rewrite = async (): Promise<ReadonlyMap<string, string>> => await bed.build(outputs, moment);
    daemon.arm('build.export.rewrite=sigkill');
    await expect(rewrite()).rejects.toThrow();
    await daemon.ended();
    daemon.arm('');
    await daemon.up();
    await isClean();
    daemon.arm('build.export.rewrite=error(told by a test)');
    await expect(rewrite()).rejects.toThrow('told by a test');
    daemon.arm('');
    await isClean();
    await rewrite();
    await daemon.http.ok('DELETE', '/images/rewritten:1');
    await isClean();
  });

  it.each(['build.export.config', 'build.export.statements', 'build.export.index'])(
    '%s fails: an index is not pushed, and nothing of it is left here',
    async (point) => {
      await using bed = await BuildBed.open(daemon, { registry: {} });
      bed.write(['FROM scratch', 'COPY Dockerfile /']);
      const output = { type: 'image', attrs: { name: '127.0.0.1:5000/app:1', push: 'true' } };
      const options = { platform: 'linux/amd64,linux/arm64', 'attest:provenance': 'mode=min' };
      daemon.arm(`${point}=error(told by a test)`);
      await expect(bed.build([output], options)).rejects.toThrow('told by a test');
      daemon.arm('');
      await expect(daemon.http.ok('POST', '/images/create?fromImage=127.0.0.1:5000/app:1')).rejects.toThrow();
      await isClean();
      const told = await bed.build([output], options);
      expect(told.get('containerimage.digest')).toMatch(/^sha256:/);
      await isClean();
    },
  );

  it('images.build.blob fails: the tarball of an image is not sent, and nothing of it is left', async () => {
    await using bed = await BuildBed.open(daemon);
    bed.write(['FROM busybox']);
    daemon.arm('images.build.blob=error(told by a test)');
    await expect(bed.build([{ type: 'oci' }])).rejects.toThrow('told by a test');
    daemon.arm('');
    bed.server.sends.length = 0;
    await bed.build([{ type: 'oci' }]);
    expect(bed.server.sends[0]?.bytes.length).toBeGreaterThan(1000);
    await isClean();
  });
});
