import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { describeEngine, onReference } from '../../support/engine/engine.ts';
import { demultiplex, readAll, until } from '../../support/engine/http.ts';

const count = (from: number, to: number): string =>
  Array.from({ length: to - from + 1 }, (_, index) => `${from + index}\n`).join('');

/** Writes its numbers, `pause` seconds after each hundred; from number `gate` on once there is a file /go. */
const writer = (lines: number, pause: string, gate = -1): string[] => [
  'sh',
  '-c',
  `i=0; while [ $i -lt ${lines} ]; do
    [ $i = ${gate} ] && until [ -e /go ]; do sleep 0.05; done
    i=$((i+1)); echo $i; [ $((i % 100)) = 0 ] && sleep ${pause}
  done`,
];

const json = (config: Record<string, string>) => ({ LogConfig: { Type: 'json-file', Config: config } });

describeEngine('log rotation', (engine) => {
  const directory = (id: string): string => path.join(engine.daemon.paths.dataRoot, 'containers', id);
  const bytes = (id: string): number =>
    files(id).reduce(
      (sum, name) => sum + (statSync(path.join(directory(id), name), { throwIfNoEntry: false })?.size ?? 0),
      0,
    );
  const letGo = (id: string): Promise<unknown> => engine.exec(id, ['touch', '/go']);
  const files = (id: string): string[] =>
    readdirSync(directory(id)).filter((name) => name.startsWith('container.log'));

  test('rotation: inspect shows the options that were given, not what a driver does without', async () => {
    for (const Config of [{}, { 'max-size': '5m' }, { 'max-file': '3' }, { labels: 'a' }]) {
      const id = await engine.create(['true'], json(Config));
      expect((await engine.inspect(id)).HostConfig.LogConfig).toEqual({ Type: 'json-file', Config });
    }
  });

  test('R45: a follower loses and doubles no line over rotations, with max-file=1 too', async () => {
    for (const maxFile of ['1', '3']) {
      const id = await engine.start(
        writer(12_000, '0.02', 0),
        json({ 'max-size': '40k', 'max-file': maxFile }),
      );
      // From the first line on: what was rotated away before is gone for it too.
      const response = await engine.http.open('GET', `/containers/${id}/logs?stdout=1&follow=1`);
      await letGo(id);
      const { stdout } = demultiplex(await readAll(response));
      expect(stdout).toBe(count(1, 12_000));
      await until('no more files than asked for', () => files(id).length <= Math.max(2, Number(maxFile)));
      // What is kept is the end, without a hole.
      const kept = (await engine.logs(id)).stdout;
      expect(count(1, 12_000).endsWith(kept)).toBe(true);
      expect(kept.length).toBeLessThan(count(1, 12_000).length);
    }
  });

  test.each(['json-file', 'local'])(
    'rotation: %s, tail and since read rotated and compressed files',
    async (Type) => {
      const Config = { 'max-size': '60k', 'max-file': '50', compress: 'true' };
      const id = await engine.start(writer(6_000, '0.01', 3_000), { LogConfig: { Type, Config } });
      await until('a rotation', () => files(id).length > 1);
      await letGo(id);
      await engine.wait(id);
      await until('a file to be compressed', () => files(id).some((name) => name.endsWith('.gz')));
      await until('nothing to be left uncompressed', () =>
        files(id).every((name) => /log$|\.gz$/.test(name)),
      );
      expect((await engine.logs(id)).stdout).toBe(count(1, 6_000));
      expect((await engine.logs(id, '&tail=4000')).stdout).toBe(count(2_001, 6_000));
      const stamped = (await engine.logs(id, '&timestamps=1')).stdout.trim().split('\n');
      const since = stamped[1_999]?.split(' ')[0] ?? '';
      const seconds = `${Math.trunc(Date.parse(since) / 1000)}.${since.slice(20, 29)}`;
      // Lines that the monitor read together have one time.
      const first = stamped.findIndex((line) => line.startsWith(since)) + 1;
      expect((await engine.logs(id, `&since=${seconds}`)).stdout).toBe(count(first, 6_000));
      expect(files(id).filter((name) => name.includes('reading'))).toEqual([]);
    },
  );

  test('rotation: what grew while the daemon was down is rotated at its start', async () => {
    const id = await engine.start(writer(8_000, '0.02'), json({ 'max-size': '100k', 'max-file': '9' }));
    await engine.daemon.kill9();
    await until(
      'the log to outgrow its size',
      () => statSync(path.join(directory(id), 'container.log')).size > 250_000,
    );
    await engine.daemon.up();
    await until('the rotation', () => files(id).includes('container.log.1'));
    await engine.wait(id);
    expect((await engine.logs(id)).stdout).toBe(count(1, 8_000));
  });

  // dockerd is in the way of the output itself.
  test.runIf(!onReference)(
    'R69: a log is bounded by a few times its limit, with and without a daemon, and says what is missing',
    async () => {
      let most = 0;
      const watched = async (id: string, what: string, done: () => boolean): Promise<void> => {
        await until(what, () => {
          most = Math.max(most, bytes(id));
          return done();
        }).catch((error: unknown) => {
          const sizes = files(id).map((name) => `${name} ${statSync(path.join(directory(id), name)).size}`);
          throw new Error(`${String(error)}; there are ${sizes.join(', ')}`, { cause: error });
        });
      };
      const id = await engine.start(['yes'], json({ 'max-size': '1m', 'max-file': '2' }));
      const rotations = (): number =>
        Math.max(0, ...files(id).map((name) => Number(/^container\.log\.(\d+)$/.exec(name)?.[1] ?? 0)));
      await watched(id, 'ten rotations', () => rotations() >= 10);
      await engine.daemon.kill9();
      // It may have died between putting a file aside and the monitor's next one: then the monitor has written into the
      // former, which may have been full already, and marked so by the daemon.
      await watched(id, 'the log to be cut off', () => {
        const name = files(id).includes('container.log') ? 'container.log' : `container.log.${rotations()}`;
        return statSync(path.join(directory(id), name)).size >= 3_000_000;
      });
      const until2s = Date.now() + 2000;
      await watched(id, 'nothing more to come', () => Date.now() > until2s);
      await engine.daemon.up();
      const before = rotations();
      await watched(id, 'the log to go on', () => rotations() > before + 2);
      expect(most).toBeLessThan(10_000_000);
      await engine.http.ok('POST', `/containers/${id}/kill`);
      await engine.wait(id);
      const { stdout } = await engine.logs(id);
      // A record that was cut off may be a line without its content.
      expect(stdout.replaceAll(/y?\n/g, '')).toBe('');
    },
  );

  test.runIf(!onReference)('R69: where a log was cut off, every reader is told', async () => {
    const id = await engine.start(
      [
        'sh',
        '-c',
        'echo first; until [ -e /go ]; do sleep 0.05; done; yes | head -c 400000; touch /done; exec sleep 600',
      ],
      json({ 'max-size': '1m', 'max-file': '3' }),
    );
    await letGo(id);
    await engine.daemon.kill9();
    const log = path.join(directory(id), 'container.log');
    await until('all of its output', () => existsSync(path.join(directory(id), 'upper/done')));
    await until('the log to be cut off', () => statSync(log).size === 3_000_000);
    for (const point of ['logs.rotate.mark', 'logs.open.mend', 'logs.rotate.draft', 'logs.rotate.rename']) {
      engine.daemon.launch({ BERTH_FAILPOINTS: `${point}=sigkill` });
      await engine.daemon.ended();
    }
    await engine.daemon.up();
    await until('the rotation', () => files(id).includes('container.log.1'));
    await engine.exec(id, ['sh', '-c', 'echo after >/proc/1/fd/1']);
    await until('what came after', async () => (await engine.logs(id)).stdout.endsWith('after\n'));
    const { stdout, stderr } = await engine.logs(id);
    expect(stderr).toBe(
      'berth: output is missing here: the log grew to 3000000 bytes before it was rotated\n',
    );
    expect(stdout).toMatch(/^first\n(y\n)+\n?after\n$/);
    // Once, whatever starts again.
    await engine.daemon.restart();
    expect((await engine.logs(id)).stderr).toBe(stderr);
  });

  test("rotation: the bound of a log is the monitor's own: containers and execs ignore no signal", async () => {
    const none = 'SigIgn:\t0000000000000000';
    const id = await engine.start(['sh', '-c', 'grep SigIgn /proc/self/status; ulimit -f; sleep 600']);
    await until('its output', async () => (await engine.logs(id)).stdout.includes('unlimited'));
    expect((await engine.logs(id)).stdout).toBe(`${none}\nunlimited\n`);
    const command = ['sh', '-c', 'grep SigIgn /proc/self/status; ulimit -f'];
    expect((await engine.exec(id, command)).stdout).toBe(`${none}\nunlimited\n`);
    expect((await engine.exec(id, command, { Tty: true })).stdout).toContain(none);
  });

  test('rotation: a monitor that is stopped meanwhile goes on, and loses nothing', async () => {
    const id = await engine.start(
      writer(6_000, '0.02', 3_000),
      json({ 'max-size': '40k', 'max-file': '99' }),
    );
    const pid = Number(
      execFileSync('cat', [
        path.join(engine.daemon.paths.execRoot, 'containers', id, 'monitor.pid'),
      ]).toString(),
    );
    await until('a rotation', () => files(id).length > 2);
    process.kill(pid, 'SIGSTOP');
    await letGo(id);
    await new Promise((resolve) => {
      setTimeout(resolve, 1_500);
    });
    process.kill(pid, 'SIGCONT');
    await engine.wait(id);
    expect((await engine.logs(id)).stdout).toBe(count(1, 6_000));
  });

  test('details: labels, variables and the tag that were asked for', async () => {
    const config = { labels: 'a,none', 'labels-regex': '^re', env: 'E', tag: '{{.Name}}/{{.ImageName}}' };
    const id = await engine.start(
      ['echo', 'hi'],
      json(config),
      { Labels: { a: '1', rex: 'x y', other: 'no' }, Env: ['E=v', 'F=no'] },
      'tagged',
    );
    await engine.wait(id);
    expect((await engine.logs(id, '&details=1')).stdout).toBe(
      'E=v,a=1,rex=x+y,tag=tagged%2Fbusybox%3Alatest hi\n',
    );
    expect((await engine.logs(id)).stdout).toBe('hi\n');
  });

  test.each([
    ['json-file', { nope: 'x' }, "unknown log opt 'nope' for json-file log driver"],
    ['json-file', { 'max-size': '-5' }, "invalid size: '-5'"],
    ['json-file', { 'max-size': '1m', 'max-file': '0' }, 'max-file cannot be less than 1'],
    ['json-file', { mode: 'maybe' }, 'logger: logging mode not supported: maybe'],
    [
      'json-file',
      { 'max-size': '1m', compress: 'true' },
      'compress cannot be true when max-file is less than 2',
    ],
    ['local', { tag: 'x' }, "unknown log opt 'tag' for local log driver"],
    ['etwlogs', {}, "logger: no log driver named 'etwlogs' is registered"],
  ])('options: %s %j is refused', async (Type, Config, message) => {
    const answer = await engine.http.request('POST', '/containers/create', {
      body: { Image: 'busybox:latest', HostConfig: { LogConfig: { Type, Config } } },
    });
    expect([answer.status, answer.text]).toEqual([400, expect.stringContaining(message)]);
  });
});
