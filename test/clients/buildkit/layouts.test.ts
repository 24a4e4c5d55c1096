import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { beforeAll, expect, test } from 'vitest';
import { describeEngine } from '../../support/engine/engine.ts';
import { hasTrixie, inTrixie } from '../../support/trixie.ts';

interface Said {
  code: number;
  out: string;
  err: string;
}

describeEngine(
  'OCI layouts of buildx as named contexts',
  (engine) => {
    const trixie = test.skipIf(!hasTrixie);
    const root = (): string => engine.daemon.paths.root;
    const layout = (): string => `${root()}/layout`;
    const run = (...argv: string[]): Promise<Said> =>
      new Promise((resolve) => {
        const [file = '', ...args] = argv;
        const env = {
          PATH: process.env['PATH'] ?? '',
          HOME: root(),
          DOCKER_HOST: `unix://${engine.daemon.paths.socket}`,
        };
        const child = execFile(file, args, { env, timeout: 120_000 }, (error, out, err) => {
          resolve({ code: error === null ? 0 : (child.exitCode ?? 1), out, err });
        });
      });
    const must = async (...argv: string[]): Promise<string> => {
      const { code, out, err } = await run(...argv);
      expect({ code, err: code === 0 ? '' : err }).toEqual({ code: 0, err: '' });
      return out;
    };
    const build = (context: string): string[] => [
      ...inTrixie('docker', 'buildx', 'build', '-t', 'on:layout'),
      `--build-context=base=oci-layout://${context}`,
      `${root()}/app`,
    ];

    beforeAll(async () => {
      mkdirSync(`${root()}/base`);
      writeFileSync(
        `${root()}/base/Dockerfile`,
        'FROM busybox\nENV KEPT=yes\nRUN echo of the layout > /told\n',
      );
      await must(...inTrixie('docker', 'buildx', 'build', '-t', 'base:1', `${root()}/base`));
      await must('docker', 'save', '-o', `${root()}/base.tar`, 'base:1');
      await must('skopeo', 'copy', `docker-archive:${root()}/base.tar`, `oci:${layout()}:1`);
      // Its layer is in the layout alone.
      await must('docker', 'rmi', 'base:1');
      await must(...inTrixie('docker', 'buildx', 'prune', '-af'));
      mkdirSync(`${root()}/app`);
      const text =
        'FROM base\nRUN cat /told > /seen\nCOPY --from=base /told /copied\nCMD cat /seen /copied; echo $KEPT\n';
      writeFileSync(`${root()}/app/Dockerfile`, text);
    });

    trixie('a stage stands on an image of a layout, and copies from it', async () => {
      await must(...build(`${layout()}:1`));
      const said = await must('docker', 'run', '--rm', '--network', 'none', 'on:layout');
      expect(said).toBe('of the layout\nof the layout\nyes\n');
      // By the digest, too, and all of it is there now.
      const { manifests } = JSON.parse(readFileSync(`${layout()}/index.json`, 'utf8'));
      const { err } = await run(...build(`${layout()}@${manifests[0].digest}`), '--progress=plain');
      expect(err).toMatch(/RUN cat \/told > \/seen\n#\d+ CACHED/);
    });

    trixie('a layer that is another one is refused, and nothing is made of it', async () => {
      await must('docker', 'rmi', 'on:layout');
      await must(...inTrixie('docker', 'buildx', 'prune', '-af'));
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
      expect((await must('docker', 'images', '-q', 'on:layout')).trim()).toBe('');
    });
  },
  { alsoNeeds: ['docker-cli', 'skopeo'] },
);
