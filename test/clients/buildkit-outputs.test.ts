import { execFile } from 'node:child_process';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  writeFileSync,
} from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeEngine } from '../support/engine/engine.ts';
import { TestRegistry } from '../support/registry/registry.ts';
import { hasTrixie, inTrixie } from '../support/trixie.ts';

interface Said {
  code: number;
  out: Buffer;
  err: string;
}

async function must(said: Promise<Said>): Promise<Said> {
  const all = await said;
  expect({ code: all.code, err: all.code === 0 ? '' : all.err }).toEqual({ code: 0, err: '' });
  return all;
}

/** Where Debian has its CLI, whatever else is on the PATH. */
const OLD = '/usr/bin/docker';

const DOCKERFILE = [
  'FROM busybox AS below',
  'RUN mkdir -p /o/gone /o/d && echo hidden >/o/gone/x && echo hidden >/o/rm',
  'RUN rm -r /o/gone /o/rm && echo one >/o/a && chmod 4755 /o/a && ln /o/a /o/d/same && ln -s ../a /o/d/link',
  'RUN head -c 3000000 /dev/zero >/o/large && touch /o/empty /o/a.x && mkfifo /o/fifo && chown 7:8 /o/empty',
  'FROM scratch',
  'COPY --from=below /o /',
];

describeEngine(
  "BuildKit's clients: where a result goes",
  (engine) => {
    const root = (): string => engine.daemon.paths.root;
    const run = (file: string, args: readonly string[]): Promise<Said> =>
      new Promise((resolve) => {
        const env = {
          PATH: process.env['PATH'] ?? '',
          HOME: root(),
          DOCKER_HOST: `unix://${engine.daemon.paths.socket}`,
          DOCKER_BUILDKIT: '1',
        };
        const options = { env, timeout: 120_000, encoding: 'buffer', maxBuffer: 64 * 1024 * 1024 } as const;
        const child = execFile(file, args, options, (error, out, err) => {
          resolve({ code: error === null ? 0 : (child.exitCode ?? 1), out, err: err.toString() });
        });
        child.stdin?.end();
      });
    const old = (...args: string[]): Promise<Said> => run(OLD, args);
    const today = (...args: string[]): Promise<Said> => {
      const [file, ...rest] = inTrixie('docker', ...args);
      return run(file, rest);
    };
    const enter = (...argv: string[]): string[] => engine.daemon.netns.enter(...argv);
    let registry: TestRegistry;
    beforeAll(async () => {
      registry = await TestRegistry.start({ port: 5000, enter });
      mkdirSync(`${root()}/app`, { recursive: true });
      writeFileSync(`${root()}/app/Dockerfile`, DOCKERFILE.join('\n'));
      writeFileSync(`${root()}/taken`, 'a file');
    });

    afterAll(() => registry[Symbol.asyncDispose]());

    const CLIENTS: [name: string, docker: typeof old, build: string[]][] = [
      ['docker CLI 20.10', old, ['build', '--progress=plain']],
      ...(hasTrixie()
        ? ([['docker buildx', today, ['buildx', 'build', '--progress=plain']]] satisfies [
            string,
            typeof old,
            string[],
          ][])
        : []),
    ];

    test.each(CLIENTS)(
      '%s: files of the result, as they are, in a directory',
      async (name, docker, build) => {
        const to = `${root()}/out ${name}`;
        const { err } = await must(docker(...build, '-o', to, `${root()}/app`));
        expect(err).toContain('exporting to client directory');
        expect(err).toContain('copying files');
        expect(readdirSync(to).toSorted()).toEqual(['a', 'a.x', 'd', 'empty', 'fifo', 'large']);
        expect(readFileSync(`${to}/a`, 'utf8')).toBe('one\n');
        expect(lstatSync(`${to}/a`).mode & 0o7777).toBe(0o4755);
        expect(lstatSync(`${to}/d/same`).ino).toBe(lstatSync(`${to}/a`).ino);
        expect(readlinkSync(`${to}/d/link`)).toBe('../a');
        expect(lstatSync(`${to}/large`).size).toBe(3_000_000);
        expect(lstatSync(`${to}/empty`).size).toBe(0);
        expect(lstatSync(`${to}/fifo`).isFIFO()).toBe(true);
      },
    );

    test.each(CLIENTS)('%s: files of a system that nothing here runs', async (name, docker, build) => {
      const [app, to, tar] = [`${root()}/foreign`, `${root()}/foreign ${name}`, `${root()}/${name}.tar`];
      mkdirSync(app, { recursive: true });
      writeFileSync(`${app}/Dockerfile`, 'FROM scratch\nCOPY Dockerfile /for/\n');
      await must(docker(...build, '--platform=darwin/arm64', '-o', to, app));
      expect(readdirSync(`${to}/for`)).toEqual(['Dockerfile']);
      await must(docker(...build, '--platform=windows/amd64', '-o', `type=tar,dest=${tar}`, app));
      await must(run('tar', ['-tf', tar, 'for/Dockerfile']));
      const { code, err } = await docker(...build, '--platform=darwin/arm64', '-t', 'foreign', app);
      expect(code).toBe(1);
      expect(err).toContain('operating system is not supported');
    });

    test.runIf(hasTrixie())('docker buildx: several outputs of one build', async () => {
      const [to, tar] = [`${root()}/several`, `${root()}/several.tar`];
      const outputs = ['-o', to, '-o', `type=tar,dest=${tar}`, '-o', 'type=docker,name=several:1'];
      await must(today('buildx', 'build', '--progress=plain', ...outputs, `${root()}/app`));
      expect(readFileSync(`${to}/a`, 'utf8')).toBe('one\n');
      await must(run('tar', ['-tf', tar, 'a']));
      await must(old('image', 'inspect', 'several:1'));
    });

    test.each(CLIENTS)('%s: a tar of the files, on standard output', async (name, docker, build) => {
      const { out } = await must(docker(...build, '-o', 'type=tar,dest=-', `${root()}/app`));
      const folder = `${root()}/tar ${name}`;
      mkdirSync(folder);
      writeFileSync(`${root()}/result.tar`, out);
      await must(run('tar', ['-xpf', `${root()}/result.tar`, '-C', folder]));
      expect(readdirSync(folder).toSorted()).toEqual(['a', 'a.x', 'd', 'empty', 'fifo', 'large']);
      expect(lstatSync(`${folder}/d/same`).ino).toBe(lstatSync(`${folder}/a`).ino);
      expect(lstatSync(`${folder}/empty`)).toMatchObject({ uid: 7, gid: 8 });
    });

    test.each(CLIENTS)(
      '%s: a place that cannot be written to fails, and says so',
      async (_name, docker, build) => {
        const { code } = await docker(...build, '-o', `${root()}/taken/below`, `${root()}/app`);
        expect(code).toBe(1);
        expect(existsSync(`${root()}/taken/below`)).toBe(false);
      },
    );

    test.skipIf(!hasTrixie())('docker buildx: what its driver pushes, loads and tells', async () => {
      const name = '127.0.0.1:5000/pushed:1';
      const facts = `${root()}/facts.json`;
      const args = ['buildx', 'build', '--tag', name, '--metadata-file', facts, `${root()}/app`];
      await must(today(...args, '--push'));
      const told = JSON.parse(readFileSync(facts, 'utf8')) as Record<string, string>;
      expect(told['image.name']).toBe(name);
      await must(today(...args, '--load'));
      await must(today(...args, '--output', 'type=image'));
      const { code, err } = await today(...args, '--output', 'type=image,compression=zstd');
      expect(code).toBe(1);
      expect(err).toContain('compression and force-compression are of an image that is pushed');
    });

    test.each(CLIENTS)('%s: a moment for all files', async (name, docker, build) => {
      const to = `${root()}/dated ${name}`;
      await must(docker(...build, '--build-arg', 'SOURCE_DATE_EPOCH=1700000000', '-o', to, `${root()}/app`));
      expect(lstatSync(`${to}/a`).mtimeMs).toBe(1_700_000_000_000);
    });

    test.each(CLIENTS)('%s: a moment for an image, the same each time', async (name, docker, build) => {
      const tag = `dated:${name.length}`;
      const args = ['--build-arg', 'SOURCE_DATE_EPOCH=1700000000', '--tag', tag, `${root()}/app`];
      await must(docker(...build, ...args));
      const { out } = await must(old('inspect', '--format', '{{.Created}} {{.Id}}', tag));
      expect(out.toString()).toMatch(/^2023-11-14T22:13:20Z /);
      await must(docker(...build, '--no-cache', ...args));
      const again = await must(
        old('history', '--no-trunc', '--format', '{{.CreatedAt}}', '--human=false', tag),
      );
      expect(again.out.toString().trim().split('\n')[0]).toMatch(/^2023-11-14T22:13:20Z$/);
    });
  },
  { alsoNeeds: ['docker-cli'] },
);
