import { spawn } from 'node:child_process';
import { mkdirSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { beforeAll, expect, test } from 'vitest';
import { must, runClient, type Said } from '../support/buildkit/run-client.ts';
import { describeEngine } from '../support/engine/engine.ts';
import { until } from '../support/engine/http.ts';
import { hasTrixie, inTrixie } from '../support/trixie.ts';

/** Where Debian has its CLI, whatever else is on the PATH. */
const OLD = '/usr/bin/docker';

const DOCKERFILE = [
  '# syntax=docker/dockerfile:1',
  'ARG BASE=busybox',
  'FROM ${BASE} AS made',
  'ARG TARGETARCH',
  'WORKDIR /w',
  'COPY . .',
  'RUN echo "$TARGETARCH $(cat one)" >two; echo said >&2',
  'FROM busybox',
  'COPY --from=made /w /w',
  'LABEL a=b',
  'CMD ["cat", "/w/two"]',
];

describeEngine(
  "BuildKit's clients",
  (engine) => {
    const root = (): string => engine.daemon.paths.root;
    const context = (name: string): string => `${root()}/${name}`;
    const environment = (): Record<string, string> => ({
      PATH: process.env['PATH'] ?? '',
      HOME: root(),
      DOCKER_HOST: `unix://${engine.daemon.paths.socket}`,
      DOCKER_BUILDKIT: '1',
    });
    const run = (file: string, args: readonly string[]): Promise<Said> =>
      runClient(engine.daemon, [file, ...args]);
    /** The CLI of Debian 12, and what Debian 13 has. */
    const old = (...args: string[]): Promise<Said> => run(OLD, args);
    const today = (...args: string[]): Promise<Said> => {
      const [file, ...rest] = inTrixie('docker', ...args);
      return run(file, rest);
    };
    const ranIt = async (image: string): Promise<string> =>
      (await must(old('run', '--rm', '--network', 'none', image))).out;

    beforeAll(() => {
      mkdirSync(`${context('app')}/sub`, { recursive: true });
      writeFileSync(`${context('app')}/Dockerfile`, DOCKERFILE.join('\n'));
      writeFileSync(`${context('app')}/.dockerignore`, '# a comment\n*.log\n!kept.log\n');
      writeFileSync(`${context('app')}/one`, 'first');
      writeFileSync(`${context('app')}/gone.log`, 'x');
      writeFileSync(`${context('app')}/kept.log`, 'x');
      writeFileSync(`${context('app')}/sub/large`, Buffer.alloc(300_000, 'x'));
      symlinkSync('one', `${context('app')}/link`);
      mkdirSync(context('bad'), { recursive: true });
      writeFileSync(`${context('bad')}/Dockerfile`, 'FROM busybox\nRUN echo before \\\n  && exit 7\n');
      mkdirSync(context('slow'), { recursive: true });
      writeFileSync(`${context('slow')}/Dockerfile`, 'FROM busybox\nRUN echo begun && sleep 1000\n');
    });

    const CLIENTS: [name: string, docker: typeof old, build: string[]][] = [
      ['docker CLI 20.10', old, ['build', '--progress=plain']],
      ...(hasTrixie()
        ? ([
            ['docker CLI 26 with buildx', today, ['build', '--progress=plain']],
            ['docker buildx', today, ['buildx', 'build', '--progress=plain']],
          ] satisfies [string, typeof old, string[]][])
        : []),
    ];

    test.each(CLIENTS)(
      '%s: a build of two stages, and again from cache with what changed',
      async (name, docker, build) => {
        const tag = `${name.replaceAll(/[^a-z]/gi, '').toLowerCase()}:1`;
        const args = ['--tag', tag, '--build-arg', `MARK=${name}`, '--label', `by=${name}`, context('app')];
        writeFileSync(`${context('app')}/one`, 'first');
        const first = await must(docker(...build, '--no-cache', ...args));
        expect(first.err).toContain('[internal] load build definition from Dockerfile');
        expect(first.err).toContain('[made 4/4] RUN');
        expect(first.err).toContain('said');
        expect(first.err).toContain(`naming to docker.io/library/${tag}`);
        expect(await ranIt(tag)).toBe('amd64 first\n');
        expect((await must(old('run', '--rm', tag, 'ls', '/w'))).out).toBe(
          'Dockerfile\nkept.log\nlink\none\nsub\ntwo\n',
        );
        const again = await must(docker(...build, ...args));
        expect(again.err.match(/ CACHED$/gm)?.length).toBeGreaterThan(2);
        writeFileSync(`${context('app')}/one`, 'second');
        utimesSync(`${context('app')}/one`, 1, 1);
        await must(docker(...build, ...args));
        expect(await ranIt(tag)).toBe('amd64 second\n');
      },
    );

    test('what is kept of builds that have ended is in use by nobody', async () => {
      mkdirSync(context('two'), { recursive: true });
      writeFileSync(
        `${context('two')}/Dockerfile`,
        'FROM busybox\nRUN echo first-kept\nRUN echo second-kept\n',
      );
      await must(old('build', context('two')));
      const { BuildCache } = await engine.daemon.http.ok<{
        BuildCache: { Description: string; InUse: boolean }[];
      }>('GET', '/v1.45/system/df');
      expect(BuildCache.filter(({ Description }) => Description.endsWith('-kept')).length).toBe(2);
      expect(BuildCache.filter(({ InUse }) => InUse)).toEqual([]);
    });

    test.each(CLIENTS)(
      '%s: a command that fails shows its place, what it said, and its code',
      async (_name, docker, build) => {
        const { code, err } = await docker(...build, '--no-cache', context('bad'));
        expect(code).toBe(1);
        expect(err).toContain('before');
        expect(err).toMatch(/process "\/bin\/sh -c .*" did not complete successfully: exit code: 7/);
        // The step itself is told in the same words.
        expect(err).not.toContain('returned a non-zero code');
      },
    );

    test.each(CLIENTS)('%s: host-gateway is the host', async (_name, docker, build) => {
      mkdirSync(context('gateway'), { recursive: true });
      writeFileSync(`${context('gateway')}/Dockerfile`, 'FROM busybox\nRUN grep above /etc/hosts\n');
      const asked = ['--no-cache', '--progress=plain', '--add-host', 'above:host-gateway'];
      const { err } = await must(docker(...build, ...asked, context('gateway')));
      const { IPAM } = await engine.http.ok<{ IPAM: { Config: { Gateway: string }[] } }>(
        'GET',
        '/networks/bridge',
      );
      expect(err).toMatch(new RegExp(`${IPAM.Config[0]?.Gateway}\\s+above`));
    });

    test.each(CLIENTS)('%s: an image that cannot be had is named', async (_name, docker, build) => {
      mkdirSync(context('gone'), { recursive: true });
      writeFileSync(`${context('gone')}/Dockerfile`, 'FROM 127.0.0.1:1/gone:1\n');
      const { code, err } = await docker(...build, context('gone'));
      expect(code).toBe(1);
      expect(err).toContain('127.0.0.1:1/gone:1: failed to resolve source metadata for 127.0.0.1:1/gone:1: ');
    });

    test.each(CLIENTS)(
      '%s: what the engine cannot do yet is refused by name',
      async (_name, docker, build) => {
        mkdirSync(context('mount'), { recursive: true });
        writeFileSync(`${context('mount')}/Dockerfile`, 'FROM busybox\nRUN --security=insecure true\n');
        const { code, err } = await docker(...build, context('mount'));
        expect(code).toBe(1);
        expect(err).toContain('security.insecure');
      },
    );

    test.each(CLIENTS)(
      '%s: Ctrl-C ends the command, and nothing of the build is left',
      async (_name, docker, build) => {
        const [file, ...args]: [string, ...string[]] =
          docker === old ? [OLD, ...build] : inTrixie('docker', ...build);
        const child = spawn(file, [...args, '--no-cache', context('slow')], {
          env: environment(),
          stdio: ['ignore', 'pipe', 'pipe'],
        });
        const ended = new Promise((resolve) => {
          child.once('close', resolve);
        });
        let seen = '';
        child.stdout.on('data', (data: Buffer) => (seen += data.toString()));
        child.stderr.on('data', (data: Buffer) => (seen += data.toString()));
        await until('the command has begun', () => /\d begun$/m.test(seen));
        child.kill('SIGINT');
        await ended;
        await until(
          'no container is left',
          async () => (await must(old('ps', '--all', '--quiet'))).out === '',
        );
      },
    );
  },
  { alsoNeeds: ['docker-cli'] },
);
