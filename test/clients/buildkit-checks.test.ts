import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { beforeAll, expect, test } from 'vitest';
import { describeEngine } from '../support/engine/engine.ts';
import { inTrixie } from '../support/trixie.ts';

const DOCKERFILE = [
  '# VERSION is what is made',
  'ARG VERSION=1',
  '# made makes it',
  'FROM busybox AS made',
  'ARG VERSION',
  'RUN --mount=type=secret,id=token,required echo $VERSION',
  'FROM busybox',
  'COPY --from=made /etc/passwd /p',
  'CMD cat /p',
];

describeEngine(
  "BuildKit's clients: what they ask of a Dockerfile",
  (engine) => {
    const root = (): string => engine.daemon.paths.root;
    const buildx = (...args: string[]): Promise<{ code: number; out: string; err: string }> =>
      new Promise((resolve) => {
        const [file, ...rest] = inTrixie('docker', 'buildx', 'build', ...args, `${root()}/checked`);
        const env = {
          PATH: process.env['PATH'] ?? '',
          HOME: root(),
          DOCKER_HOST: `unix://${engine.daemon.paths.socket}`,
          // Older ones of them have `--print` only so; `--call` is its name today.
          ...(args[0]?.startsWith('--print') === true && { BUILDX_EXPERIMENTAL: '1' }),
        };
        const child = execFile(file, rest, { env, timeout: 120_000 }, (error, out, err) => {
          resolve({ code: error === null ? 0 : (child.exitCode ?? 1), out, err });
        });
        child.stdin?.end();
      });

    beforeAll(() => {
      mkdirSync(`${root()}/checked`, { recursive: true });
      writeFileSync(`${root()}/checked/Dockerfile`, DOCKERFILE.join('\n'));
    });

    test('outline: arguments and secrets of a target', async () => {
      const { code, out, err } = await buildx('--print=outline', '--target=made');
      expect({ code, err: code === 0 ? '' : err }).toEqual({ code: 0, err: '' });
      expect(out).toBe(
        [
          'TARGET:      made',
          'DESCRIPTION: makes it',
          '',
          'BUILD ARG   VALUE   DESCRIPTION',
          'VERSION     1       is what is made',
          '',
          'SECRET   REQUIRED',
          'token    true',
          '',
          '',
        ].join('\n'),
      );
    });

    test('targets: the stages, as text and as JSON', async () => {
      const { code, out } = await buildx('--print=targets');
      expect({ code, out }).toEqual({
        code: 0,
        out: 'TARGET    DESCRIPTION\nmade      makes it\n(default) \n',
      });
      const json = await buildx('--print=targets,format=json');
      expect(JSON.parse(json.out)).toMatchObject({
        targets: [{ name: 'made', base: 'busybox' }, { default: true }],
      });
    });

    test('lint: what rules do not like, with its place', async () => {
      const { out } = await buildx('--print=lint');
      expect(out).toContain('WARNING: JSONArgsRecommended');
      expect(out).toContain('   9 | >>> CMD cat /p');
    });

    test('another request is refused by its name', async () => {
      const { code, err } = await buildx('--print=other');
      expect(code).toBe(1);
      expect(err).toContain('unsupported request frontend.other');
    });

    test('a build tells what rules do not like, and goes on', async () => {
      writeFileSync(`${root()}/checked/plain`, 'FROM busybox\nCMD cat /p\n');
      const { code, err } = await buildx('--progress=plain', '-f', `${root()}/checked/plain`);
      expect(err).toContain('1 warning found');
      expect(err).toContain('JSONArgsRecommended: JSON arguments recommended for CMD');
      expect(code).toBe(0);
    });

    test('a build whose Dockerfile wants no warnings ends with them', async () => {
      const text = '# check=error=true\nFROM busybox\nCMD cat /p\n';
      writeFileSync(`${root()}/checked/strict`, text);
      const { code, err } = await buildx('--progress=plain', '-f', `${root()}/checked/strict`);
      expect(err).toContain('lint violation found for rules: JSONArgsRecommended');
      expect(code).toBe(1);
    });
  },
  { alsoNeeds: ['docker-cli', 'trixie'] },
);
