import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { beforeAll, describe, expect, test } from 'vitest';
import { must, runClient, type Said } from '../../support/buildkit/run-client.ts';
import { describeEngine } from '../../support/engine/engine.ts';
import { hasTrixie, inTrixie } from '../../support/trixie.ts';

describeEngine(
  'OCI layouts of buildx as named contexts',
  (engine) => {
    const root = (): string => engine.daemon.paths.root;
    const layout = (): string => `${root()}/layout`;
    const run = (...argv: string[]): Promise<Said> => runClient(engine.daemon, argv);
    const said = async (...argv: string[]): Promise<string> => (await must(run(...argv))).out;
    const build = (context: string): string[] => [
      ...inTrixie('docker', 'buildx', 'build', '-t', 'on:layout'),
      `--build-context=base=oci-layout://${context}`,
      `${root()}/app`,
    ];

    describe.runIf(hasTrixie())('docker buildx', () => {
      beforeAll(async () => {
        mkdirSync(`${root()}/base`);
        writeFileSync(
          `${root()}/base/Dockerfile`,
          'FROM busybox\nENV KEPT=yes\nRUN echo of the layout > /told\n',
        );
        await said(...inTrixie('docker', 'buildx', 'build', '-t', 'base:1', `${root()}/base`));
        await said('docker', 'save', '-o', `${root()}/base.tar`, 'base:1');
        await said('skopeo', 'copy', `docker-archive:${root()}/base.tar`, `oci:${layout()}:1`);
        // Its layer is in the layout alone.
        await said('docker', 'rmi', 'base:1');
        await said(...inTrixie('docker', 'buildx', 'prune', '-af'));
        mkdirSync(`${root()}/app`);
        const text =
          'FROM base\nRUN cat /told > /seen\nCOPY --from=base /told /copied\nCMD cat /seen /copied; echo $KEPT\n';
        writeFileSync(`${root()}/app/Dockerfile`, text);
      });

      test('a stage stands on an image of a layout, and copies from it', async () => {
        await said(...build(`${layout()}:1`));
        const printed = await said('docker', 'run', '--rm', '--network', 'none', 'on:layout');
        expect(printed).toBe('of the layout\nof the layout\nyes\n');
        // By the digest, too, and all of it is there now.
        const { manifests } = JSON.parse(readFileSync(`${layout()}/index.json`, 'utf8'));
        const { err } = await run(...build(`${layout()}@${manifests[0].digest}`), '--progress=plain');
        expect(err).toMatch(/RUN cat \/told > \/seen\n#\d+ CACHED/);
      });

      test('a layer that is another one is refused, and nothing is made of it', async () => {
        await said('docker', 'rmi', 'on:layout');
        await said(...inTrixie('docker', 'buildx', 'prune', '-af'));
        const { manifests } = JSON.parse(readFileSync(`${layout()}/index.json`, 'utf8'));
        const blob = (digest: string): string => `${layout()}/blobs/${digest.replace(':', '/')}`;
        const { layers } = JSON.parse(readFileSync(blob(manifests[0].digest), 'utf8'));
        const [last] = layers.slice(-1);
        const bytes = readFileSync(blob(last.digest));
        bytes[bytes.length - 5] = (bytes.at(-5) ?? 0) ^ 1;
        writeFileSync(blob(last.digest), bytes);
        const changed = await run(...build(`${layout()}:1`));
        expect(changed.code).toBe(1);
        expect(changed.err).toContain(last.digest);
        rmSync(blob(last.digest));
        const missing = await run(...build(`${layout()}:1`));
        expect(missing.code).toBe(1);
        expect((await said('docker', 'images', '-q', 'on:layout')).trim()).toBe('');
      });
    });
  },
  { alsoNeeds: ['docker-cli', 'skopeo'] },
);
