import Sqlite from 'better-sqlite3';
import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { TestDaemon } from '../../support/engine/daemon.ts';
import { differences } from '../../support/engine/oracle.ts';
import { tar } from '../../support/images/tar.ts';
import { needs } from '../../support/needs.ts';

/** Debian's, which builds by BuildKit's protocol. */
const CLI = '/usr/bin/docker';

const DOCKERFILE = (mark: string): string =>
  [
    'FROM busybox AS made',
    'COPY file /made/',
    'FROM busybox',
    'COPY --from=made /made /copied',
    // Several sources of a stage take an overlay.
    'COPY --from=made /made/file /made /taken/',
    `RUN --mount=type=cache,target=/cache --mount=type=secret,id=key --mount=from=made,source=/made,target=/made \\`,
    `  cat /made/file /run/secrets/key >/${mark} && echo ${mark} >/cache/log`,
  ].join('\n');

needs(
  'root',
  'built',
  'netns',
  'docker-cli',
)('builds that are solved', () => {
  let daemon: TestDaemon;
  let built = 0;

  beforeAll(async () => {
    daemon = await TestDaemon.start({ armable: true });
    await daemon.loadBusybox();
  });
  afterAll(async () => {
    await daemon[Symbol.asyncDispose]();
  });

  const build = (
    dockerfile: string,
    { more = [], input }: { more?: string[]; input?: Buffer } = {},
  ): Promise<{ code: number; err: string }> => {
    const { root, socket } = daemon.paths;
    const folder = `${root}/context`;
    mkdirSync(folder, { recursive: true });
    writeFileSync(`${folder}/file`, 'content');
    writeFileSync(`${folder}/Dockerfile`, dockerfile);
    const env = {
      PATH: process.env['PATH'] ?? '',
      HOME: root,
      DOCKER_HOST: `unix://${socket}`,
      DOCKER_BUILDKIT: '1',
    };
    const secret = `id=key,src=${folder}/file`;
    const context = input === undefined ? folder : '-';
    const args = ['build', '--progress=plain', '--secret', secret, ...more, '-t', 'made', context];
    return new Promise((resolve) => {
      const child = execFile(CLI, args, { env, timeout: 120_000 }, (error, _out, err) => {
        resolve({ code: error === null ? 0 : (child.exitCode ?? 1), err });
      });
      child.stdin?.end(input);
    });
  };
  /** A Dockerfile of which no step is known yet. */
  const fresh = (): string => {
    built += 1;
    return DOCKERFILE(`mark${built}`);
  };
  const prune = (): Promise<unknown> => daemon.http.ok('POST', '/build/prune?all=1');
  const isClean = async (): Promise<void> => {
    await expect.poll(() => differences(daemon), { timeout: 30_000 }).toEqual([]);
  };

  const POINTS = [
    'build.ops.files',
    'images.build.overlay',
    'archives.place.begin',
    'archives.place.times',
    'build.ops.mounts',
    'build.ops.mount',
    'build.ops.secret',
    'build.ops.exec',
    'build.caches.make',
    'build.cache.store',
    'build.solver.store',
    'images.build.layer.commit',
    'database.build.insert',
    'images.layers.sync',
    'images.build.name',
  ];

  // Where files cannot become a layer at once, or cannot be taken as they are, it is unpacked: that is no failure.
  it.each([...POINTS, 'images.build.compose', 'images.load.adopt'])(
    'R1: kill -9 at %s: the next start leaves nothing of it, and the build is made again',
    async (point) => {
      await prune();
      daemon.arm(`${point}=sigkill`);
      expect((await build(fresh())).code).not.toBe(0);
      await daemon.ended();
      daemon.arm('');
      await daemon.up();
      await isClean();
      expect((await build(fresh())).err).toContain('naming to docker.io/library/made');
      await isClean();
    },
  );

  it('the machine goes down before layers are on the disk: they are made again', async () => {
    await prune();
    daemon.arm('images.layers.sync=sigkill');
    const dockerfile = fresh();
    expect((await build(dockerfile)).code).not.toBe(0);
    await daemon.ended();
    // What a reboot changes.
    const database = new Sqlite(`${daemon.paths.dataRoot}/berth.db`);
    const marked = database.prepare(
      "UPDATE meta SET value = 'another ' || substr(value, instr(value, ' ') + 1) WHERE key = 'layers:unsynced'",
    );
    expect(marked.run().changes).toBe(1);
    database.close();
    daemon.arm('images.layers.drop=sigkill');
    daemon.launch();
    await daemon.ended();
    daemon.arm('');
    await daemon.up();
    await isClean();
    const { err } = await build(dockerfile);
    expect(err).toContain('naming to docker.io/library/made');
    expect(err).not.toContain('RUN CACHED');
    await isClean();
  });

  it.each(POINTS)('%s fails once: the build says so, and nothing of it is left', async (point) => {
    await prune();
    daemon.arm(`${point}=errno(EIO)`);
    expect((await build(fresh())).code).not.toBe(0);
    daemon.arm('');
    await isClean();
    expect((await build(fresh())).code).toBe(0);
  });

  // Enough files that a second thread helps.
  const many = (dockerfile: string): string => {
    const folder = `${daemon.paths.root}/context`;
    mkdirSync(`${folder}/many`, { recursive: true });
    for (let index = 0; index < 1000; index += 1) {
      writeFileSync(`${folder}/many/${index}`, `${built}`);
    }
    return `${dockerfile}\nCOPY many /many`;
  };

  it('R1: kill -9 while two threads make files of a layer: the next start leaves nothing of it', async () => {
    await prune();
    const dockerfile = many(fresh());
    daemon.arm('images.build.help=sigkill');
    expect((await build(dockerfile)).code).not.toBe(0);
    await daemon.ended();
    daemon.arm('');
    await daemon.up();
    await isClean();
    expect((await build(dockerfile)).err).toContain('naming to docker.io/library/made');
    await isClean();
  });

  it('images.build.help fails: the layer is made all the same', async () => {
    await prune();
    daemon.arm('images.build.help=errno(EIO)');
    expect((await build(many(fresh()))).err).toContain('naming to docker.io/library/made');
    daemon.arm('');
    await isClean();
  });

  it.each(['images.build.compose', 'images.load.adopt'])(
    '%s fails: the layer is made all the same',
    async (point) => {
      await prune();
      daemon.arm(`${point}=errno(EIO)`);
      expect((await build(fresh())).err).toContain('naming to docker.io/library/made');
      daemon.arm('');
      await isClean();
    },
  );

  it.each(['build.cache.remove', 'build.caches.remove', 'database.build.remove'])(
    'R1: kill -9 of a prune at %s: the next start leaves nothing of it, and the next prune takes the rest',
    async (point) => {
      expect((await build(fresh())).code).toBe(0);
      daemon.arm(`${point}=sigkill`);
      await expect(prune()).rejects.toThrow();
      await daemon.ended();
      daemon.arm('');
      await daemon.up();
      await isClean();
      await prune();
      const { BuildCache } = await daemon.http.ok<{ BuildCache: { InUse: boolean }[] }>(
        'GET',
        '/v1.45/system/df',
      );
      expect(BuildCache).toEqual([]);
      await isClean();
    },
  );

  it('build.ops.agent fails: the step is the one that failed', async () => {
    const agent = createServer();
    const socket = `${daemon.paths.root}/agent`;
    await new Promise<void>((resolve) => {
      agent.listen(socket, resolve);
    });
    try {
      daemon.arm('build.ops.agent=error(told by a test)');
      const more = ['--ssh', `default=${socket}`];
      const { code, err } = await build('FROM busybox\nRUN --mount=type=ssh true\n', { more });
      expect(code).toBe(1);
      expect(err).toContain('told by a test');
      await isClean();
    } finally {
      daemon.arm('');
      agent.close();
    }
  });

  it('build.context.stream fails: nothing of the context is left', async () => {
    daemon.arm('build.context.stream=error(told by a test)');
    const input = tar([{ name: 'Dockerfile', content: 'FROM busybox\n' }]);
    const { code, err } = await build('', { input });
    daemon.arm('');
    expect(code).toBe(1);
    expect(err).toContain('told by a test');
    await isClean();
  });

  it.each([
    ['build.context.file', 'FROM busybox\nADD http://127.0.0.1:1/file /file\n'],
    ['build.context.ref', 'FROM busybox\nADD https://127.0.0.1:1/repository.git /tree\n'],
    ['build.context.git', `FROM busybox\nADD https://127.0.0.1:1/repository.git#${'a'.repeat(40)} /tree\n`],
  ])('%s fails: the step is the one that failed', async (point, dockerfile) => {
    daemon.arm(`${point}=error(told by a test)`);
    const { code, err } = await build(dockerfile);
    daemon.arm('');
    expect(code).toBe(1);
    expect(err).toContain('told by a test');
    await isClean();
  });
});
