import { expect, test } from 'vitest';
import { describeEngine, onReference } from '../../support/engine/engine.ts';
import { sleep, until } from '../../support/engine/http.ts';
import type { Hijacked } from '../../support/engine/http.ts';
import { WAIT_MS } from '../../support/patience.ts';

const OPEN = { OpenStdin: true };
const ONCE = { OpenStdin: true, StdinOnce: true, AttachStdin: true };
const TTY = { ...ONCE, Tty: true };

/** Whether the engine ends the connection. What must not come is looked for a second and a half. */
async function ends(stream: Hijacked, isExpected = false): Promise<boolean> {
  const { socket } = stream;
  const endMs = performance.now() + (isExpected ? WAIT_MS : 1_500);
  while (performance.now() < endMs) {
    if (socket.readableEnded || socket.destroyed) {
      return true;
    }
    await sleep(100);
  }
  return false;
}

describeEngine('the end of an attach', (engine) => {
  const attach = (id: string, query: string): Promise<Hijacked> =>
    engine.http.hijack(`/containers/${id}/attach?${query}`);

  // The names of what was asked for, what the container has, and whether the client's end of input ends the attach.
  test.each([
    ['no input asked for', OPEN, 'stream=1&stdout=1', false],
    ['no input in the container', {}, 'stream=1&stdin=1&stdout=1', false],
    ['input', OPEN, 'stream=1&stdin=1&stdout=1', true],
    ['input, after the past', OPEN, 'logs=1&stream=1&stdin=1&stdout=1', true],
    ['input alone', OPEN, 'stream=1&stdin=1', true],
    ['input that is read to its end', ONCE, 'stream=1&stdin=1&stdout=1', false],
    ['input alone that is read to its end', ONCE, 'stream=1&stdin=1', false],
    ['a terminal', TTY, 'stream=1&stdin=1&stdout=1', true],
    ['a terminal that nobody attached is written to', TTY, 'stream=1&stdout=1', false],
  ])(
    'attach: %s: the end of the client’s input is the end, or not, and never of the container',
    async (_what, config, query, isEnd) => {
      const id = await engine.start(['sleep', '1000'], {}, config);
      const stream = await attach(id, query);
      stream.socket.end();
      expect(await ends(stream, isEnd)).toBe(isEnd);
      expect((await engine.inspect(id)).State.Running).toBe(true);
    },
  );

  test.each([
    ['input', OPEN, 'stream=1&stdin=1&stdout=1', true],
    ['input that is read to its end', ONCE, 'stream=1&stdin=1&stdout=1', false],
    ['input alone that is read to its end', ONCE, 'stream=1&stdin=1', true],
    ['no input asked for', OPEN, 'stream=1&stdout=1', false],
    ['nothing asked for', OPEN, 'stream=1', true],
  ])('attach: %s: the same before the start', async (_what, config, query, isEnd) => {
    const id = await engine.create(['sh', '-c', 'cat; echo end'], {}, config);
    const stream = await attach(id, query);
    stream.socket.end();
    expect(await ends(stream, isEnd)).toBe(isEnd);
    await engine.http.ok('POST', `/containers/${id}/start`);
    if ('StdinOnce' in config) {
      expect((await stream.output()).stdout).toBe(isEnd ? '' : 'end\n');
      expect(await engine.wait(id)).toBe(0);
    }
    stream.socket.destroy();
  });

  test.each(['stream=1&stdin=1&stdout=1', 'stream=1&stdin=1'])(
    'attach: %s: what was written before the start and before the end of input arrives',
    async (query) => {
      const id = await engine.create(['sh', '-c', 'cat; echo end'], {}, ONCE);
      const stream = await attach(id, query);
      stream.socket.end('early\n');
      expect(await ends(stream)).toBe(false);
      await engine.http.ok('POST', `/containers/${id}/start`);
      await stream.output();
      expect(await engine.wait(id)).toBe(0);
      expect((await engine.logs(id)).stdout).toBe('early\nend\n');
    },
  );

  test('attach: the past of an ended container comes at once, then its next run, and with that the end', async () => {
    const { id } = await engine.run(['sh', '-c', 'echo run']);
    const stream = await attach(id, 'logs=1&stream=1&stdout=1&stderr=1');
    await stream.waitFor('run\n');
    expect(await ends(stream)).toBe(false);
    await engine.http.ok('POST', `/containers/${id}/start`);
    expect((await stream.output()).stdout).toBe('run\nrun\n');
  });

  test('attach: right behind the start of a short command gives all it wrote, in each of a hundred', async () => {
    for (let count = 0; count < 100; count += 1) {
      const id = await engine.create(['echo', 'short']);
      await engine.http.ok('POST', `/containers/${id}/start`);
      const stream = await attach(id, 'logs=1&stream=1&stdout=1');
      await stream.waitFor('short\n');
      stream.socket.destroy();
      await engine.remove(id);
    }
  });

  test('attach: with logs=1 alone the past comes, and the end', async () => {
    const { id } = await engine.run(['echo', 'past']);
    expect((await (await attach(id, 'logs=1&stdout=1')).output()).stdout).toBe('past\n');
  });

  // dockerd 20.10 sends nothing and never ends.
  test.runIf(!onReference)('attach: where no log is kept, logs=1 shows what comes from now on', async () => {
    const id = await engine.create(['sh', '-c', 'echo live'], { LogConfig: { Type: 'none', Config: {} } });
    const stream = await attach(id, 'logs=1&stream=1&stdout=1');
    await engine.http.ok('POST', `/containers/${id}/start`);
    expect((await stream.output()).stdout).toBe('live\n');
  });

  // dockerd keeps a copy of what it sends elsewhere.
  test.runIf(!onReference)(
    'attach: where logs are sent elsewhere, logs=1 shows what comes from now on',
    async () => {
      const id = await engine.create(['sh', '-c', 'echo live'], {
        LogConfig: { Type: 'syslog', Config: { 'syslog-address': 'udp://127.0.0.1:9' } },
      });
      const stream = await attach(id, 'logs=1&stream=1&stdout=1');
      await engine.http.ok('POST', `/containers/${id}/start`);
      expect((await stream.output()).stdout).toBe('live\n');
      const alone = await engine.http.request('POST', `/containers/${id}/attach?logs=1&stdout=1`);
      expect(alone.status).toBe(501);
    },
  );

  test('attach: ends when the start it waits for fails', async () => {
    const id = await engine.create(['/nowhere']);
    const stream = await attach(id, 'stream=1&stdout=1&stderr=1');
    const answer = await engine.http.request('POST', `/containers/${id}/start`);
    expect(answer.status).toBe(400);
    expect(await stream.output()).toEqual({ stdout: '', stderr: '' });
  });

  test('attach: at any moment of a start gets its output, in each of a hundred', async () => {
    for (let count = 0; count < 100; count += 1) {
      const id = await engine.create(['echo', 'output']);
      const started = engine.http.ok('POST', `/containers/${id}/start`);
      // Up to about the time that a start takes.
      await sleep(count % 40);
      const stream = await attach(id, 'logs=1&stream=1&stdout=1');
      await started;
      await stream.waitFor('output\n');
      stream.socket.destroy();
      await engine.remove(id);
    }
  });

  test('wait: answers when attached clients have all output, in each of a hundred', async () => {
    const script = 'echo begin; head -c 300000 /dev/zero | tr "\\0" x; echo end';
    let early = 0;
    for (let count = 0; count < 100; count += 1) {
      const id = await engine.create(['sh', '-c', script]);
      const stream = await attach(id, 'stream=1&stdout=1');
      const over = engine.wait(id, '?condition=next-exit');
      await engine.http.ok('POST', `/containers/${id}/start`);
      await over;
      early += stream.received().includes('end\n') ? 0 : 1;
      stream.socket.destroy();
      await engine.remove(id);
    }
    expect(early).toBe(0);
  });

  // dockerd stalls the container instead.
  test.runIf(!onReference)('wait: a client that does not read holds it up for a moment only', async () => {
    const id = await engine.create(['sh', '-c', 'head -c 8000000 /dev/zero | tr "\\0" x']);
    const stream = await attach(id, 'stream=1&stdout=1');
    stream.socket.pause();
    await engine.http.ok('POST', `/containers/${id}/start`);
    await engine.untilState(id, 'exited');
    const begun = performance.now();
    expect(await engine.wait(id)).toBe(0);
    expect(performance.now() - begun).toBeLessThan(10_000);
    stream.socket.destroy();
  });

  test('restart policy: between two runs Running and Restarting are both true', async () => {
    const id = await engine.start(['sh', '-c', 'sleep 0.05; exit 1'], {
      RestartPolicy: { Name: 'always', MaximumRetryCount: 0 },
    });
    const seen = new Set<string>();
    await until('five runs', async () => {
      for (let count = 0; count < 50; count += 1) {
        const { Status, Running, Restarting } = (await engine.inspect(id)).State;
        seen.add(`${Status} ${Running} ${Restarting}`);
      }
      return (await engine.inspect(id)).RestartCount >= 5;
    });
    expect([...seen].toSorted()).toEqual(['restarting true true', 'running true false']);
  });
});
