import { mkdirSync, writeFileSync } from 'node:fs';
import { beforeAll, expect, test } from 'vitest';
import { must, runClient, type Said } from '../../support/buildkit/run-client.ts';
import { describeEngine } from '../../support/engine/engine.ts';
import { tar } from '../../support/images/tar.ts';

/** Where Debian has its CLI, whatever else is on the PATH. */
const DOCKER = '/usr/bin/docker';
const UUID = 'cat /proc/sys/kernel/random/uuid';

/** The second RUN and what follows stand on what no two runs make alike. */
const dockerfile = (mark: string): string =>
  [
    'FROM busybox',
    `ARG MARK=${mark}`,
    'ENV HOW=$MARK PATH=/bin:/usr/bin',
    'WORKDIR /w',
    `RUN ${UUID} >/w/made && echo "$HOW" >>/w/made`,
    'COPY one /w/',
    'ADD files.tar /w/unpacked/',
    `RUN ${UUID} >>/w/made`,
    'CMD ["cat", "/w/made"]',
  ].join('\n');
/** Those that change files. */
const STEPS = 5;

/** What lies in `/made` after `ADD --chown`, by whose it is. */
const owners = (made: string, inside: string): string =>
  [
    `. ${made}`,
    `./to ${made}`,
    './to/implied 0:0',
    `./to/implied/file ${inside}`,
    `./to/in ${inside}`,
    `./to/in/file ${inside}`,
    '',
  ].join('\n');

describeEngine(
  "the classic builder's clients and BuildKit's",
  (engine) => {
    const context = (): string => `${engine.daemon.paths.root}/app`;
    const docker = (...args: string[]): Promise<Said> => runClient(engine.daemon, [DOCKER, ...args]);
    /** `cached`: of the steps that change files. */
    const classic = async (...args: string[]): Promise<{ made: string; cached: number }> => {
      const command = [DOCKER, 'build', '--tag', 'both:1', ...args, context()];
      const { out } = await must(runClient(engine.daemon, command, { env: { DOCKER_BUILDKIT: '0' } }));
      const told = out.split(/^Step \d+\/\d+ : /m).filter((text) => /^(?:RUN|COPY|ADD|WORKDIR)/.test(text));
      return { made: await ranIt(), cached: told.filter((text) => text.includes('Using cache')).length };
    };
    const buildkit = async (...args: string[]): Promise<{ made: string; cached: number }> => {
      const command = ['build', '--progress=plain', '--tag', 'both:1', ...args, context()];
      const { err } = await must(docker(...command));
      const steps = [...err.matchAll(/^#(\d+) \[\d+\/\d+\] (?:RUN|COPY|ADD|WORKDIR) /gm)].map(
        ([, number]) => number,
      );
      return {
        made: await ranIt(),
        cached: new Set(steps.filter((number) => err.includes(`\n#${number} CACHED`))).size,
      };
    };
    const ranIt = async (): Promise<string> =>
      (await must(docker('run', '--rm', '--network', 'none', 'both:1'))).out;
    const write = (text: string): void => writeFileSync(`${context()}/Dockerfile`, text);

    beforeAll(() => {
      mkdirSync(context(), { recursive: true });
      writeFileSync(`${context()}/one`, 'for both');
      writeFileSync(`${context()}/files.tar`, tar([{ name: 'in', content: 'unpacked' }]));
    });

    test('what BuildKit made serves the classic builder: each step says so, and its history is its own', async () => {
      write(dockerfile('first'));
      const { made } = await buildkit();
      expect(await classic()).toEqual({ made, cached: STEPS });
      const { out } = await must(docker('history', '--no-trunc', '--format', '{{.CreatedBy}}', 'both:1'));
      expect(out).toContain('#(nop) WORKDIR /w\n');
      expect(out).not.toContain('buildkit');
      expect(await classic('--no-cache')).toMatchObject({ cached: 0 });
    });

    test('what the classic builder made serves BuildKit, from what its steps came to', async () => {
      write(dockerfile('second'));
      const { made } = await classic();
      expect(await buildkit()).toEqual({ made, cached: STEPS });
      expect(await buildkit()).toEqual({ made, cached: STEPS });
      writeFileSync(`${context()}/one`, 'for nobody');
      const { made: other, cached } = await classic();
      expect({ isOther: other !== made, cached }).toEqual({ isOther: true, cached: 2 });
    });

    test('results of the classic builder go with its images, those that BuildKit took stay', async () => {
      write(`FROM busybox\nRUN ${UUID} >/made\nCMD ["cat", "/made"]\n`);
      const { made } = await classic();
      await must(docker('image', 'rm', 'both:1'));
      const again = await buildkit();
      expect(again.made).not.toBe(made);
      await must(docker('image', 'rm', 'both:1'));
      expect(await classic()).toEqual({ made: again.made, cached: 1 });
    });

    test('an archive that is added with an owner is what each of them makes of it, also from the cache', async () => {
      const members = [
        { name: 'in/', uid: 7, gid: 8 },
        { name: 'in/file', content: 'x', uid: 7, gid: 8 },
        { name: 'implied/file', content: 'x', uid: 7, gid: 8 },
      ];
      writeFileSync(`${context()}/owned.tar`, tar(members));
      write(
        [
          'FROM busybox',
          'ADD --chown=100:200 owned.tar /made/to/',
          'CMD ["sh", "-c", "cd /made && find . | sort | xargs stat -c \'%n %u:%g\'"]',
        ].join('\n'),
      );
      const ofBuildKit = owners('100:200', '100:200');
      const ofClassic = owners('0:0', '7:8');
      expect(await buildkit()).toEqual({ made: ofBuildKit, cached: 0 });
      expect(await classic()).toEqual({ made: ofClassic, cached: 0 });
      expect(await buildkit()).toEqual({ made: ofBuildKit, cached: 1 });
      expect(await classic()).toEqual({ made: ofClassic, cached: 1 });
    });

    test.each([
      ['a volume of the image', 'VOLUME /data', []],
      ['a variable', 'ENV OTHER=1', ['--build-arg', 'MARK=1']],
    ])('a command with %s of its own is nobody else’s', async (what, line, args) => {
      const apart = ['FROM busybox', 'ARG MARK', line, `RUN ${UUID} >/apart`, 'CMD ["cat", "/apart"]'];
      write(apart.join('\n'));
      const { made } = await classic(...args);
      const other = await buildkit();
      expect({ what, same: other.made === made, cached: other.cached }).toEqual({
        what,
        same: false,
        cached: 0,
      });
    });
  },
  { alsoNeeds: ['docker-cli'] },
);
