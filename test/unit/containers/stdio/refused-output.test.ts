import { expect, test } from 'vitest';
import { RefusedOutput } from '../../../../daemon/containers/stdio/refused-output.ts';
import { FRAME_HEADER_BYTES, frameHeader, STREAM_NUMBER } from '../../../../daemon/base/stdio/frames.ts';
import { limits } from '../../../../daemon/base/limits.ts';
import { SeededRandom } from '../../../support/seeded-random.ts';

type StreamName = 'stdout' | 'stderr';

/** A monitor that writes each chunk to the log, which may refuse it, and then to the channel; and a client of both. */
class Rig {
  isFull = false;
  nowMs = 10_000;
  readonly #channel: { stream: StreamName; data: Buffer }[] = [];
  readonly #log: Buffer[] = [];
  readonly #tty: boolean;
  readonly #refused: RefusedOutput;
  readonly read: Record<StreamName, string> = { stdout: '', stderr: '' };

  constructor(tty = false) {
    this.#tty = tty;
    this.#refused = new RefusedOutput({
      stdout: true,
      stderr: true,
      tty,
      isDiskFull: () => this.isFull,
      monotonicMs: () => this.nowMs,
    });
  }

  write(stream: StreamName, text: string, { byChannel = true } = {}): void {
    const data = Buffer.from(text);
    if (!this.isFull) {
      this.#log.push(this.#tty ? data : Buffer.concat([frameHeader(stream, data.length), data]));
    }
    if (byChannel) {
      this.#channel.push({ stream, data });
    }
  }

  deliver(): void {
    const chunk = this.#channel.shift();
    if (chunk !== undefined) {
      this.#refused.take(chunk);
    }
  }

  /** `between` happens while the look goes on. */
  look(between: () => void = () => undefined): void {
    this.#refused.begin();
    between();
    const output = Buffer.concat(this.#log.splice(0));
    if (output.length > 0) {
      this.#receive(this.#refused.merge(output));
    }
    this.#receive(this.#refused.refused() ?? Buffer.alloc(0));
  }

  settle(): void {
    while (this.#channel.length > 0) {
      this.deliver();
    }
    this.look();
  }

  #receive(bytes: Buffer): void {
    if (this.#tty) {
      this.read.stdout += bytes.toString();
      return;
    }
    for (let at = 0; at < bytes.length;) {
      const end = at + FRAME_HEADER_BYTES + bytes.readUInt32BE(at + 4);
      const stream = bytes[at] === STREAM_NUMBER.stderr ? 'stderr' : 'stdout';
      this.read[stream] += bytes.toString('utf8', at + FRAME_HEADER_BYTES, end);
      at = end;
    }
  }
}

test.each([false, true])(
  'whatever the log refuses and whenever it is looked at, a client reads all once and in order (tty: %s)',
  (tty) => {
    for (let seed = 1; seed <= 300; seed += 1) {
      const random = new SeededRandom(seed);
      const rig = new Rig(tty);
      const wrote: Record<StreamName, string> = { stdout: '', stderr: '' };
      const write = (step: number): void => {
        const stream = random.below(2) === 0 ? 'stdout' : 'stderr';
        const text = `${step}${'.'.repeat(random.below(20))};`;
        // Without frames a client reads both as one.
        wrote[tty ? 'stdout' : stream] += text;
        rig.write(stream, text);
      };
      const steps = [
        write,
        write,
        () => rig.deliver(),
        () => rig.deliver(),
        () => rig.look(() => rig.deliver()),
        () => {
          // What was refused on a full disk is told while it is full.
          rig.settle();
          rig.isFull = !rig.isFull;
        },
      ];
      for (let step = 0; step < 120; step += 1) {
        steps[random.below(steps.length)]?.(step);
      }
      rig.settle();
      expect(rig.read, `seed ${seed}`).toEqual(wrote);
    }
  },
);

test.each([false, true])(
  'a short record that is taken after a long one was refused comes after it (tty: %s)',
  (tty) => {
    const rig = new Rig(tty);
    rig.isFull = true;
    rig.write('stdout', 'a long one, ');
    rig.isFull = false;
    rig.write('stdout', 'short, ');
    rig.isFull = true;
    rig.write('stdout', 'the last');
    rig.settle();
    expect(rig.read.stdout).toBe('a long one, short, the last');
  },
);

test('what a bound of the log refused is left to the log to tell of, and shifts nothing that comes later', () => {
  const rig = new Rig();
  rig.isFull = true;
  rig.write('stdout', 'lost');
  rig.isFull = false;
  rig.settle();
  rig.write('stdout', 'kept');
  rig.settle();
  rig.isFull = true;
  rig.write('stdout', 'refused');
  rig.settle();
  expect(rig.read.stdout).toBe('keptrefused');
});

test('what the log has of the time before the channel is not taken for what the channel gives later', () => {
  const rig = new Rig();
  rig.write('stdout', 'before', { byChannel: false });
  rig.look();
  rig.nowMs += 2_000;
  rig.isFull = true;
  rig.write('stdout', 'refused');
  rig.settle();
  expect(rig.read.stdout).toBe('beforerefused');
});

test('for a client that does not read, the newest megabyte is kept', () => {
  const rig = new Rig();
  rig.isFull = true;
  const line = `${'x'.repeat(64 * 1024 - 1)}\n`;
  for (let count = 0; count < 20; count += 1) {
    rig.write('stdout', line);
  }
  rig.write('stdout', 'last');
  rig.settle();
  expect(rig.read.stdout).toHaveLength(limits.attachBufferBytesMax);
  expect(rig.read.stdout.endsWith('\nlast')).toBe(true);
});
