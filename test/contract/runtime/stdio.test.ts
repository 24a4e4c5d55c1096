import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { limits } from '../../../daemon/base/limits.ts';
import { isAlive } from '../../../daemon/base/kernel/processes/process.ts';
import type { ConmonStdio, OutputChunk } from '../../../runtime/monitor/conmon-stdio.ts';
import { needs } from '../../support/needs.ts';
import { WAIT_MS } from '../../support/patience.ts';
import { threadTime } from '../../support/processor-time.ts';
import { makeRuntime, readAll } from './fixture.ts';
import type { RuntimeFixture } from './fixture.ts';

const SLOWLY = { interval: 200, timeout: WAIT_MS };

needs(
  'root',
  'runc',
  'conmon',
  'busybox',
)('The stdio of a container', () => {
  let it: RuntimeFixture;
  beforeAll(() => {
    it = makeRuntime();
  });
  afterAll(() => it[Symbol.asyncDispose]());
  afterEach(async () => {
    for (const id of await it.runtime.leftovers()) {
      await it.runtime.cleanUp(id);
      it.runtime.forgetExit(id);
    }
  });

  test('reaches a client attached before begin from the first byte, with its streams apart', async () => {
    const { id } = await it.launch(['sh', '-c', 'echo out; echo err >&2; echo more']);
    const channel = await it.runtime.attach(id);
    await it.runtime.begin(id);
    const { stdout, stderr } = await readAll(channel);
    expect([stdout.toString(), stderr.toString()]).toEqual(['out\nmore\n', 'err\n']);
    await it.exit(id);
  });

  test('is complete for 20 MB, also when the client is slow', async () => {
    const { id } = await it.launch(['sh', '-c', 'dd if=/dev/zero bs=64k count=320; echo done >&2']);
    const channel = await it.runtime.attach(id);
    await it.runtime.begin(id);
    let bytes = 0;
    let chunks = 0;
    for await (const { stream, data } of channel.output) {
      bytes += stream === 'stdout' ? data.length : 0;
      chunks += 1;
      if (chunks % 50 === 0) {
        await sleep(5);
      }
    }
    expect(bytes).toBe(20 * 1024 * 1024);
  });

  test('waits for a client that does not read, memory does not grow, and an exit is told all the same', async () => {
    const { id, init } = await it.launch(['yes', 'x'.repeat(1000)]);
    const empty = process.memoryUsage().arrayBuffers;
    const channel = await it.runtime.attach(id);
    await it.runtime.begin(id);
    // What is on the way fills up first.
    let before = -1;
    await expect
      .poll(() => {
        const last = before;
        before = process.memoryUsage().arrayBuffers;
        return Math.abs(before - last) < 64 * 1024;
      }, SLOWLY)
      .toBe(true);
    await sleep(500);
    // On a busy machine the container may only have paused above.
    expect(process.memoryUsage().arrayBuffers - empty).toBeLessThan(4 * limits.attachBufferBytesMax);
    expect(isAlive(init)).toBe(true);
    it.runtime.signal(init, 9);
    // Nobody reads the channel; the exit must come all the same.
    expect((await it.exit(id)).exitCode).toBe(137);
    expect((await readAll(channel)).stdout.length).toBeGreaterThan(1024 * 1024);
  });

  test('takes input of any size and its end', async () => {
    const { id } = await it.launch(['cat'], { stdin: 'once' });
    const channel = await it.runtime.attach(id);
    await it.runtime.begin(id);
    const input = Buffer.alloc(3 * 1024 * 1024, 'berth ');
    const output = readAll(channel);
    await channel.write(input);
    channel.endInput();
    expect((await output).stdout.equals(input)).toBe(true);
    expect((await it.exit(id)).exitCode).toBe(0);
    await channel.write(Buffer.from('too late'));
  });

  test('with stdin once ends when the client that writes leaves, not when one that only reads does', async () => {
    const { id, init } = await it.run(['sh', '-c', 'while read line; do echo "got $line"; done; echo over'], {
      stdin: 'once',
    });
    const reader = await it.runtime.attach(id, { stdin: false });
    const writer = await it.runtime.attach(id);
    await writer.write(Buffer.from('one\n'));
    expect((await first(writer)).data.toString()).toBe('got one\n');
    reader.close();
    await sleep(100);
    expect(isAlive(init)).toBe(true);
    writer.close();
    expect((await it.exit(id)).exitCode).toBe(0);
  });

  test('with stdin open survives clients that leave or half-close', async () => {
    const { id, init } = await it.run(['sh', '-c', 'while read line; do echo "got $line"; done'], {
      stdin: 'open',
    });
    for (const word of ['one', 'two']) {
      const channel = await it.runtime.attach(id);
      await channel.write(Buffer.from(`${word}\n`));
      expect((await first(channel)).data.toString()).toBe(`got ${word}\n`);
      channel.endInput();
      channel.close();
    }
    await sleep(50);
    expect(isAlive(init)).toBe(true);
  });

  test('without stdin drops what is written', async () => {
    const { id } = await it.launch(['cat']);
    const channel = await it.runtime.attach(id);
    await it.runtime.begin(id);
    await channel.write(Buffer.alloc(1024 * 1024));
    channel.endInput();
    expect((await readAll(channel)).stdout.length).toBe(0);
  });

  test('reaches several clients at once and goes on when one vanishes', async () => {
    const { id } = await it.launch(['sh', '-c', 'read x; echo 1; read x; echo 2'], { stdin: 'open' });
    const channels = [await it.runtime.attach(id), await it.runtime.attach(id), await it.runtime.attach(id)];
    await it.runtime.begin(id);
    const [writer, other, vanishing] = channels as [ConmonStdio, ConmonStdio, ConmonStdio];
    await writer.write(Buffer.from('\n'));
    expect((await first(vanishing)).data.toString()).toBe('1\n');
    vanishing.close();
    await sleep(50);
    await writer.write(Buffer.from('\n'));
    const outputs = await Promise.all([readAll(writer), readAll(other)]);
    expect(outputs.map(({ stdout }) => stdout.toString())).toEqual(['1\n2\n', '1\n2\n']);
  });

  test('with a terminal is one stream that can be resized, and outlives a client that detaches', async () => {
    const { id, init } = await it.launch(['sh', '-c', 'while read x; do stty size; done'], {
      terminal: true,
      stdin: 'once',
      process: { consoleSize: { height: 33, width: 99 } },
    });
    const channel = await it.runtime.attach(id);
    await it.runtime.begin(id);
    await channel.write(Buffer.from('\n'));
    expect(await until(channel, /\d+ \d+/)).toBe('33 99');
    for (const width of [60, 70, 80]) {
      await it.runtime.resize(id, 24, width);
    }
    channel.close();
    const again = await it.runtime.attach(id);
    // The monitor resizes when it comes to it.
    await expect
      .poll(async () => {
        await again.write(Buffer.from('\n'));
        return await until(again, /\d+ \d+/);
      })
      .toBe('24 80');
    expect(isAlive(init)).toBe(true);
    await again.write(Buffer.from([4]));
    expect((await it.exit(id)).exitCode).toBe(0);
    await expect
      .poll(() => it.runtime.resize(id, 1, 1).catch((error: unknown) => error))
      .toMatchObject({ code: 'conflict' });
  });

  test('is reached by more clients than a monitor that is held up has room for', async () => {
    const { id } = await it.run(['sleep', '100']);
    const monitor = Number(readFileSync(join(it.execRoot, 'containers', id, 'monitor.pid'), 'utf8'));
    process.kill(monitor, 'SIGSTOP');
    const attached = Promise.all(Array.from({ length: 20 }, () => it.runtime.attach(id)));
    await sleep(500);
    process.kill(monitor, 'SIGCONT');
    (await attached).forEach((channel) => channel.close());
  });

  test('cannot be attached to once the container has ended', async () => {
    const { id } = await it.run(['true']);
    await it.exit(id);
    await expect
      .poll(() => it.runtime.attach(id).catch((error: unknown) => error))
      .toMatchObject({
        code: 'conflict',
      });
    await it.runtime.cleanUp(id);
    await expect(it.runtime.attach(id)).rejects.toMatchObject({ code: 'conflict' });
  });

  test('leaves no descriptor behind after 50 attached clients', async () => {
    const { id } = await it.run(['sleep', '100']);
    const before = readdirSync('/proc/self/fd').length;
    for (let round = 0; round < 50; round += 1) {
      (await it.runtime.attach(id)).close();
    }
    await expect.poll(() => readdirSync('/proc/self/fd').length).toBeLessThanOrEqual(before);
  });

  test('keeps the event loop free while a container floods a client', async () => {
    const { id } = await it.launch(['yes', 'x'.repeat(8000)]);
    const channel = await it.runtime.attach(id);
    await it.runtime.begin(id);
    const turns: number[] = [];
    let tookMs = threadTime();
    const timer = setInterval(() => {
      turns.push(tookMs());
      tookMs = threadTime();
    }, 1);
    let bytes = 0;
    for await (const { data } of channel.output) {
      bytes += data.length;
      if (bytes > 50_000_000) {
        break;
      }
    }
    clearInterval(timer);
    channel.close();
    // Of the processor: for how long others had it says nothing. All but the longest few, in which memory is tidied.
    expect(turns.toSorted((a, b) => b - a)[5]).toBeLessThan(100);
  });
});

async function first(channel: ConmonStdio): Promise<OutputChunk> {
  const { value } = await channel.output.next();
  if (value === undefined) {
    throw new Error('the output is over');
  }
  return value;
}

async function until(channel: ConmonStdio, pattern: RegExp): Promise<string | undefined> {
  let text = '';
  while (!pattern.test(text)) {
    text += (await first(channel)).data.toString();
  }
  return pattern.exec(text)?.[0];
}
