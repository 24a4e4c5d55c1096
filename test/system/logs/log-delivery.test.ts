import { spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, afterEach, beforeEach, expect, test } from 'vitest';
import { limits } from '../../../daemon/base/limits.ts';
import { describeEngine } from '../../support/engine/engine.ts';
import { until } from '../../support/engine/http.ts';
import { LineReceiver } from '../../support/log-receivers.ts';

const numbers = (count: number): string[] => Array.from({ length: count }, (_, index) => String(index + 1));
const writer = (count: number, pause: string): string[] => [
  'sh',
  '-c',
  `i=0; while [ $i -lt ${count} ]; do i=$((i+1)); echo $i; [ $((i % 100)) = 0 ] && sleep ${pause}; done`,
];
const JOURNAL = `/tmp/berth-test-journal-${process.pid}`;

/** A journal: writes down the datagrams that it receives, parted by a line. */
const JOURNAL_PROGRAM = `
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
while True:
    data = s.recv(1 << 20)
    with open(sys.argv[1] + '.out', 'ab') as f:
        f.write(data + b'--\\n')
`;

describeEngine(
  'log delivery',
  (engine) => {
    let receiver: LineReceiver;
    let counter = 0;
    const syslog = (options: Record<string, string> = {}) => ({
      LogConfig: { Type: 'syslog', Config: { 'syslog-address': `unix://${receiver.path}`, ...options } },
    });
    beforeEach(async () => {
      counter += 1;
      receiver = new LineReceiver(path.join(engine.daemon.paths.root, `receiver-${counter}.sock`));
      await receiver.up();
    });
    afterEach(() => receiver.down());

    test('journald: fields arrive, long lines in parts, and logs reads them', async () => {
      const journal = spawn('python3', ['-c', JOURNAL_PROGRAM, JOURNAL], { stdio: 'inherit' });
      try {
        await until('the journal to listen', () => existsSync(JOURNAL));
        const script = 'echo one; echo two >&2; head -c 20000 /dev/zero | tr "\\0" x; echo';
        const id = await engine.start(
          ['sh', '-c', script],
          { LogConfig: { Type: 'journald', Config: { tag: 'T', labels: 'my.label' } } },
          { Labels: { 'my.label': 'v' } },
          'journaled',
        );
        await engine.wait(id);
        const entries = (): string[] =>
          existsSync(`${JOURNAL}.out`) ? readFileSync(`${JOURNAL}.out`, 'latin1').split('--\n') : [];
        await until('the entries', () => entries().length === 5);
        const shared = [
          'CONTAINER_TAG=T',
          `CONTAINER_ID_FULL=${id}`,
          'CONTAINER_NAME=journaled',
          'MY_LABEL=v',
        ];
        for (const text of shared) {
          expect(entries().filter((entry) => entry.includes(text))).toHaveLength(4);
        }
        const [first, second, part, last] = [
          'MESSAGE=one',
          'MESSAGE=two',
          'PARTIAL_LAST=false',
          'PARTIAL_LAST=true',
        ].map((text) => entries().find((entry) => entry.includes(text)) ?? '');
        expect(first).toContain('PRIORITY=6\n');
        expect(second).toContain('PRIORITY=3\n');
        expect([part, last].map((entry) => /MESSAGE=(x+)/.exec(entry ?? '')?.[1]?.length)).toEqual([
          16_384, 3616,
        ]);
        expect(await engine.logs(id)).toEqual({ stdout: `one\n${'x'.repeat(20_000)}\n`, stderr: 'two\n' });
      } finally {
        journal.kill('SIGKILL');
      }
    });

    test('delivery: every line arrives once, and logs says that it is elsewhere', async () => {
      const id = await engine.start(writer(5000, '0.01'), syslog());
      await engine.wait(id);
      await until('the last line', () => receiver.lines().at(-1) === '5000');
      expect(receiver.lines()).toEqual(numbers(5000));
      const answer = await engine.http.request('GET', `/containers/${id}/logs?stdout=1`);
      expect([answer.status, answer.text]).toEqual([
        501,
        expect.stringContaining('configured logging driver does not support reading'),
      ]);
    });

    test("delivery: lines of the daemon's down time and of the receiver's are complete and in order", async () => {
      const id = await engine.start(writer(6000, '0.03'), syslog());
      await until('the first lines', () => receiver.lines().length > 500);
      await engine.daemon.kill9();
      // What is on its way until then still arrives.
      await receiver.down();
      const before = receiver.lines().length;
      await engine.daemon.up();
      await engine.wait(id);
      await receiver.up();
      await until('the last line', () => receiver.lines().at(-1) === '6000');
      // At least once: what was delivered right before the kill may come again, and nothing else.
      const lines = receiver.lines();
      const again = Number(lines[before]);
      expect(again).toBeLessThanOrEqual(before + 1);
      expect(lines.slice(0, before)).toEqual(numbers(before));
      expect(lines.slice(before)).toEqual(numbers(6000).slice(again - 1));
    });

    test('delivery: blocking loses nothing while the receiver is away', async () => {
      const id = await engine.start(writer(3000, '0.02'), syslog());
      await until('the first lines', () => receiver.lines().length > 100);
      await receiver.down();
      await engine.wait(id);
      await receiver.up();
      await until('the last line', () => receiver.lines().at(-1) === '3000');
      expect([...new Set(receiver.lines())]).toEqual(numbers(3000));
    });

    test('delivery: non-blocking lets the oldest go beyond its buffer, and counts', async () => {
      const options = { mode: 'non-blocking', 'max-buffer-size': '10k' };
      const id = await engine.start(writer(60_000, '0.001'), syslog(options));
      await until('the first lines', () => receiver.lines().length > 0);
      await receiver.down();
      await engine.wait(id);
      await until('lines to be dropped', () => engine.daemon.log().includes('lines were dropped'));
      await receiver.up();
      await until('the last line', () => receiver.lines().at(-1) === '60000');
      const counts = [...engine.daemon.log().matchAll(/"dropped":(\d+),.*lines were dropped/g)];
      const dropped = Number(counts.at(-1)?.[1]);
      const missing = 60_000 - new Set(receiver.lines()).size;
      expect(missing).toBeGreaterThan(0);
      expect(dropped).toBeGreaterThanOrEqual(missing);
    });

    test('delivery: a removal waits for the rest, for a while', async () => {
      const id = await engine.start(writer(2000, '0'), syslog(), {}, 'gone');
      await engine.http.ok('DELETE', `/containers/${id}?force=1`);
      const lines = receiver.lines();
      expect(lines).toEqual(numbers(lines.length));
      const dead = await engine.start(['echo', 'never'], syslog());
      await receiver.down();
      await engine.wait(dead);
      const begun = performance.now();
      await engine.remove(dead);
      expect(performance.now() - begun).toBeLessThan(25_000);
      await receiver.up();
    });

    test('R76: a container whose log receiver is away is removed at once', async () => {
      const id = await engine.start(['sh', '-c', 'while :; do echo line; sleep 0.05; done'], syslog());
      await until('a line', () => receiver.lines().length > 0);
      await receiver.down();
      await until('the receiver to be missed', () =>
        engine.daemon.log().includes('the receiver takes nothing'),
      );
      await engine.http.ok('POST', `/containers/${id}/kill`);
      const begun = performance.now();
      await engine.remove(id);
      expect(performance.now() - begun).toBeLessThan(limits.logRemoveDrainMs);
      await receiver.up();
    });

    test.each([
      ['fluentd', { 'fluentd-address': '127.0.0.1:1', 'fluentd-async': 'true' }],
      [
        'splunk',
        {
          'splunk-url': 'http://127.0.0.1:1',
          'splunk-token': 'T',
          'splunk-verify-connection': 'false',
        },
      ],
    ] as const)(
      'R76: a container whose %s receiver was never there is removed at once',
      async (Type, Config) => {
        const id = await engine.start(['sh', '-c', 'echo line; sleep 1000'], {
          LogConfig: { Type, Config },
        });
        const begun = performance.now();
        await engine.remove(id);
        expect(performance.now() - begun).toBeLessThan(limits.logRemoveDrainMs);
      },
    );

    test('delivery: a container whose receiver cannot be reached is not started', async () => {
      const id = await engine.create(['true'], syslog({ 'syslog-address': 'unix:///nowhere.sock' }));
      const answer = await engine.http.request('POST', `/containers/${id}/start`);
      expect([answer.status, answer.text]).toEqual([
        500,
        expect.stringContaining('failed to initialize logging driver: connect ENOENT /nowhere.sock'),
      ]);
    });

    test('delivery: what is delivered does not stay on disk', async () => {
      const line = 'x'.repeat(1000);
      const id = await engine.start(
        ['sh', '-c', `i=0; while [ $i -lt 40 ]; do i=$((i+1)); yes ${line} | head -n 1000; done`],
        syslog(),
      );
      await engine.wait(id);
      await until('the last line', () => receiver.count === 40_000, 60_000);
      const folder = path.join(engine.daemon.paths.dataRoot, 'containers', id);
      await until('the delivered files to go', () => {
        const files = readdirSync(folder).filter((name) => name.startsWith('container.log'));
        return files.filter((name) => /^container\.log(\.\d+)?$/.test(name)).length <= 2;
      });
      expect(new Set(receiver.lines())).toEqual(new Set([line]));
    });

    afterAll(() => {
      expect(engine.daemon.log()).not.toContain('"level":"fatal"');
    });
  },
  { env: { BERTH_JOURNAL_SOCKET: JOURNAL } },
);
