import { expect, test } from 'vitest';
import { describeEngine, onReference } from '../../support/engine/engine.ts';
import { busyboxImageTar } from '../../support/images/images.ts';
import { differences } from '../../support/engine/oracle.ts';
import { tar } from '../../support/images/tar.ts';

// dockerd's own prune does break its builds.
const suite = onReference ? test.skip : test;
/** One of three images that share the layer below. */
const loaded = (round: number): Buffer =>
  busyboxImageTar({ tags: ['loaded:1'], extraLayers: [[{ name: 'shared', content: `${round % 3}` }]] });

describeEngine('prune beside everything else', (engine) => {
  const prune = async (): Promise<void> => {
    await engine.http.ok('POST', '/containers/prune');
    await engine.http.ok('POST', '/images/prune');
    await engine.http.ok('POST', '/build/prune');
  };

  async function build(name: string, lines: string[]): Promise<void> {
    const context = tar([
      { name: 'Dockerfile', content: ['FROM busybox', ...lines, ''].join('\n') },
      { name: 'note', content: name },
    ]);
    const answer = await engine.http.request('POST', `/build?t=${name}&rm=1&forcerm=1`, { body: context });
    expect(answer.text).toContain('Successfully tagged');
  }

  suite('a build is not broken by prunes between its steps', async () => {
    await engine.create(['true']);
    const steps = Array.from({ length: 5 }, (_, index) => [
      `LABEL step=${index}`,
      `COPY note /note${index}`,
      `RUN sleep 0.1; echo ${index} >/out${index}`,
    ]).flat();
    const over = new AbortController();
    const pruning = (async () => {
      while (!over.signal.aborted) {
        await prune();
      }
    })();
    await build('pruned:1', [...steps, 'FROM busybox', 'COPY --from=0 /out4 /out']).finally(() =>
      over.abort(),
    );
    await pruning;
    expect(await engine.run(['cat', '/out'], {}, { Image: 'pruned:1' })).toMatchObject({ stdout: '4\n' });
    await engine.removeAll();
    await engine.http.ok('DELETE', '/images/pruned:1');
    await prune();
  });

  suite(
    'builds, loads, commits, saves, removals and prunes at once: whole images, nothing left over',
    async () => {
      const end = Date.now() + 8000;
      const keeper = await engine.start(['sh', '-c', 'echo x >/x; sleep 1000']);
      const lane = async (work: (round: number) => Promise<unknown>): Promise<number> => {
        let round = 0;
        for (; Date.now() < end || round < 2; round += 1) {
          await work(round);
        }
        return round;
      };
      const forget = (name: string): Promise<unknown> =>
        engine.http.request('DELETE', `/images/${name}?force=1`);
      const rounds = await Promise.all([
        lane(async (round) => {
          await build(`built:${round % 2}`, [`COPY note /a${round}`, `RUN echo ${round} >/b`, 'LABEL c=d']);
          await forget(`built:${round % 2}`);
        }),
        lane(async (round) => {
          await engine.http.ok('POST', '/images/load?quiet=1', loaded(round));
          const saved = await engine.http.request('GET', '/images/loaded:1/get');
          expect([200, 404]).toContain(saved.status);
          await forget('loaded:1');
        }),
        lane((round) => engine.http.ok('POST', '/images/load?quiet=1', loaded(round + 1))),
        lane(async (round) => {
          await engine.http.ok('POST', `/commit?container=${keeper}&repo=committed&tag=${round % 2}`);
        }),
        lane(() => prune()),
      ]);
      expect(Math.min(...rounds)).toBeGreaterThan(1);
      for (const { Id } of await engine.http.ok<{ Id: string }[]>('GET', '/images/json?all=1')) {
        expect((await engine.http.request('GET', `/images/${Id}/get`)).status).toBe(200);
      }
      await engine.removeAll();
      for (const name of ['loaded:1', 'committed:0', 'committed:1', 'built:0', 'built:1']) {
        await forget(name);
      }
      await prune();
      await expect.poll(() => differences(engine.daemon)).toEqual([]);
      const left = await engine.http.ok<{ RepoTags: string[] }[]>('GET', '/images/json?all=1');
      expect(left.map(({ RepoTags }) => RepoTags)).toEqual([['busybox:latest']]);
    },
  );
});
