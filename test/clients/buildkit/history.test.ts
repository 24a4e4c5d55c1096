import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { beforeAll, expect, test } from 'vitest';
import { ControlClient } from '../../support/buildkit/control-client.ts';
import { HistoryClient } from '../../support/buildkit/history-client.ts';
import { must, runClient, type Said } from '../../support/buildkit/run-client.ts';
import { describeEngine } from '../../support/engine/engine.ts';
import { hasTrixie, inTrixie } from '../../support/trixie.ts';

describeEngine(
  "the history of builds of BuildKit's clients",
  (engine) => {
    const app = (): string => `${engine.daemon.paths.root}/app`;
    const today = (...args: string[]): Promise<Said> => runClient(engine.daemon, inTrixie('docker', ...args));

    beforeAll(() => {
      const { root } = engine.daemon.paths;
      mkdirSync(app());
      writeFileSync(
        `${app()}/Dockerfile`,
        'FROM busybox\nARG fails\nRUN echo from the step; test -z "$fails"\n',
      );
      // buildx shows where builds are looked up where Docker Desktop has been.
      mkdirSync(`${root}/.docker/desktop-build`, { recursive: true });
      writeFileSync(`${root}/.docker/desktop-build/.lastaccess`, '');
    });

    test.runIf(hasTrixie())(
      'docker buildx 0.13 sees that there is one, and its builds are in it',
      async () => {
        const file = `${engine.daemon.paths.root}/metadata.json`;
        const { err } = await must(
          today('buildx', 'build', '--progress=plain', '--metadata-file', file, '-t', 'app', app()),
        );
        const failed = await today('buildx', 'build', '--build-arg', 'fails=1', app());
        expect(failed.code).toBe(1);
        const metadata: unknown = JSON.parse(readFileSync(file, 'utf8'));
        const { 'buildx.build.ref': full } = metadata as Record<string, string>; // Of buildx: see the line below.
        expect(err).toContain(`View build details: docker-desktop://dashboard/build/${full}`);
        using client = new ControlClient(engine.daemon.paths.socket);
        const history = new HistoryClient(client);
        const { records } = await history.list();
        expect(records).toHaveLength(2);
        const [built, broken] = records;
        expect(full?.endsWith(`/${built?.ref}`)).toBe(true);
        expect(built?.frontendAttrs.get('filename') ?? 'Dockerfile').toBe('Dockerfile');
        expect(built?.exporters.map(({ type, attrs }) => [type, attrs.get('name')])).toEqual([
          ['moby', 'app'],
        ]);
        expect((await history.log(built?.ref ?? '')).printed).toBe('from the step\n');
        const [attestation] = built?.result?.attestations ?? [];
        const provenance = (await history.content(attestation?.digest ?? '')).toString();
        expect(JSON.parse(provenance)).toMatchObject({
          invocation: { parameters: { frontend: 'dockerfile.v0', locals: [{ name: 'dockerfile' }] } },
        });
        expect(broken?.error?.message).toContain('exit code: 1');
        expect(broken?.frontendAttrs.get('build-arg:fails')).toBe('1');
      },
    );
  },
  { alsoNeeds: ['docker-cli'] },
);
