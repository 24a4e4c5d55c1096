import { appendFileSync, mkdtempSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openLog, readLog } from '../../../../storage/logs/reader.ts';
import type { LogReadOptions } from '../../../../storage/logs/reader.ts';

let directory: string;
let path: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'berth-logs-'));
  path = join(directory, 'container.log');
});

afterEach(() => rmSync(directory, { recursive: true, force: true }));

const SECOND = 1_767_225_600n;
const at = (second: number): bigint => (SECOND + BigInt(second)) * 1_000_000_000n;
/** A record as conmon writes it, one second after the other. */
const record = (second: number, stream: 'stdout' | 'stderr', tag: 'F' | 'P', content: string): string =>
  `2026-01-01T00:00:${String(second).padStart(2, '0')}.000000000+00:00 ${stream} ${tag} ${content}\n`;

const options = (change: Partial<LogReadOptions> = {}): LogReadOptions => ({
  stdout: true,
  stderr: true,
  timestamps: false,
  tty: false,
  signal: new AbortController().signal,
  ...change,
});

/** Frames as `1:text`; raw output as it is. */
async function read(change: Partial<LogReadOptions> = {}): Promise<string[]> {
  const chunks: Buffer[] = [];
  for await (const chunk of openLog(path, options(change))) {
    chunks.push(chunk as Buffer);
  }
  const bytes = Buffer.concat(chunks);
  return change.tty ? [bytes.toString()] : frames(bytes);
}

function frames(bytes: Buffer): string[] {
  const found: string[] = [];
  for (let offset = 0; offset < bytes.length;) {
    const length = bytes.readUInt32BE(offset + 4);
    expect(bytes.subarray(offset + 1, offset + 4)).toEqual(Buffer.alloc(3));
    found.push(`${bytes[offset]}:${bytes.toString('latin1', offset + 8, offset + 8 + length)}`);
    offset += 8 + length;
  }
  return found;
}

const SAMPLE = [
  record(1, 'stdout', 'F', 'one'),
  record(2, 'stderr', 'F', 'two'),
  record(3, 'stdout', 'P', 'thr'),
  record(4, 'stderr', 'F', ''),
  record(5, 'stdout', 'F', 'ee'),
  record(6, 'stdout', 'P', 'prompt$ '),
].join('');

describe('a finished log', () => {
  test.each<[string, Partial<LogReadOptions>, string[]]>([
    ['all', {}, ['1:one\n', '2:two\n', '1:thr', '2:\n', '1:ee\n', '1:prompt$ ']],
    ['stdout', { stderr: false }, ['1:one\n', '1:thr', '1:ee\n', '1:prompt$ ']],
    ['stderr', { stdout: false }, ['2:two\n', '2:\n']],
    ['a terminal', { tty: true }, ['one\ntwo\nthr\nee\nprompt$ ']],
    ['tail 0', { tail: 0 }, []],
    ['tail 1', { tail: 1 }, ['1:prompt$ ']],
    ['tail 2, whose line began before another', { tail: 2 }, ['1:thr', '1:ee\n', '1:prompt$ ']],
    ['tail 3', { tail: 3 }, ['1:thr', '2:\n', '1:ee\n', '1:prompt$ ']],
    ['tail 4', { tail: 4 }, ['2:two\n', '1:thr', '2:\n', '1:ee\n', '1:prompt$ ']],
    ['tail 99', { tail: 99 }, ['1:one\n', '2:two\n', '1:thr', '2:\n', '1:ee\n', '1:prompt$ ']],
    ['tail 1 of stderr', { tail: 1, stdout: false }, []],
    ['since', { sinceNano: at(5) }, ['1:ee\n', '1:prompt$ ']],
    ['until', { untilNano: at(2) }, ['1:one\n', '2:two\n']],
    ['since and until', { sinceNano: at(2), untilNano: at(2) }, ['2:two\n']],
    [
      'timestamps, once a line',
      { timestamps: true, sinceNano: at(2), untilNano: at(5) },
      [
        '2:2026-01-01T00:00:02.000000000Z two\n',
        '1:2026-01-01T00:00:03.000000000Z thr',
        '2:2026-01-01T00:00:04.000000000Z \n',
        '1:ee\n',
      ],
    ],
    ['details', { details: 'a=b', untilNano: at(1) }, ['1:a=b one\n']],
    ['no details', { details: '', untilNano: at(1) }, ['1: one\n']],
  ])('%s', async (_title, change, expected) => {
    writeFileSync(path, SAMPLE);
    expect(await read(change)).toEqual(expected);
  });

  test('keeps NUL bytes, invalid UTF-8 and long lines as they are', async () => {
    const content = Buffer.concat([Buffer.from([0, 0xff, 0xfe, 0x80, 0]), Buffer.alloc(300_000, 'x')]);
    writeFileSync(
      path,
      Buffer.concat([
        Buffer.from(record(1, 'stdout', 'F', '').slice(0, -1)),
        content,
        Buffer.from('\n'),
        Buffer.from(record(2, 'stdout', 'F', 'after')),
      ]),
    );
    const [long, after] = await read();
    expect(long === `1:${content.toString('latin1')}\n`).toBe(true);
    expect(after).toBe('1:after\n');
  });

  test.each<[string, string, string[]]>([
    ['a torn last record', `${record(1, 'stdout', 'F', 'one')}2026-01-01T00:0`, ['1:one\n']],
    ['zeros of a power cut', `\0\0\0\0${record(1, 'stdout', 'F', 'one')}`, ['1:one\n']],
    [
      'lines that are no records',
      `\n\0\0\nnonsense\n${record(1, 'stderr', 'F', 'one')}2026 x y\n`,
      ['2:one\n'],
    ],
    [
      'an unknown stream or tag',
      '2026-01-01T00:00:01.000000000+00:00 stdxxt F a\n2026-01-01T00:00:01.000000000+00:00 stdout X a\n',
      [],
    ],
    ['nothing', '', []],
  ])('tolerates %s', async (_title, text, expected) => {
    writeFileSync(path, text);
    expect(await read()).toEqual(expected);
    expect(await read({ tail: 10 })).toEqual(expected);
  });

  test('that does not exist is empty', async () => {
    expect(await read()).toEqual([]);
  });

  test('zones other than UTC and dates that are none', async () => {
    writeFileSync(
      path,
      '2026-01-01T01:00:00.5+01:00 stdout F a\n2026-99-01T00:00:00.000000000+00:00 stdout F b\n',
    );
    expect(await read({ timestamps: true })).toEqual(['1:2026-01-01T00:00:00.500000000Z a\n', '1: b\n']);
  });

  test('every record comes once, whatever the chunks: 20,000 records of odd lengths', async () => {
    const lines = [...Array(20_000)].map((_, index) => `${index} ${'x'.repeat((index * 37) % 200)}`);
    writeFileSync(path, lines.map((line) => record(1, 'stdout', 'F', line)).join(''));
    const expected = lines.map((line) => `1:${line}\n`);
    expect(await read()).toEqual(expected);
    expect(await read({ sinceNano: at(0) })).toEqual(expected);
    expect(await read({ tail: 5000 })).toEqual(expected.slice(-5000));
    // Much work, not a wait: a busy machine may take its time.
  });
});

/** Collects output in the background; `end` says that no more will be written. */
function follow(change: Partial<LogReadOptions> = {}): {
  seen: () => string;
  end: () => void;
  done: Promise<void>;
} {
  let text = '';
  let end!: () => void;
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  const collect = async (): Promise<void> => {
    for await (const chunk of readLog(path, options({ follow: { ended }, tty: true, ...change }))) {
      text += chunk.toString();
    }
  };
  return { seen: () => text, end, done: collect() };
}

describe('following', () => {
  test('sees what is written later, in pieces too, until the end', async () => {
    writeFileSync(path, record(1, 'stdout', 'F', 'one'));
    const log = follow();
    await expect.poll(log.seen).toBe('one\n');
    const next = record(2, 'stdout', 'F', 'two');
    appendFileSync(path, next.slice(0, 20));
    appendFileSync(path, next.slice(20));
    await expect.poll(log.seen).toBe('one\ntwo\n');
    appendFileSync(path, record(3, 'stdout', 'F', 'last'));
    log.end();
    await log.done;
    expect(log.seen()).toBe('one\ntwo\nlast\n');
  });

  test('from the end shows only what is new', async () => {
    writeFileSync(path, record(1, 'stdout', 'F', 'old'));
    const log = follow({ tail: 0 });
    // Again until it has found the end and waits there.
    await expect
      .poll(() => {
        appendFileSync(path, record(2, 'stderr', 'F', 'new'));
        return log.seen();
      })
      .toMatch(/^(new\n)+$/);
    log.end();
    await log.done;
  });

  test('goes on over a rotation and a truncation without loss or double', async () => {
    writeFileSync(path, record(1, 'stdout', 'F', 'one'));
    const log = follow({ tail: 1 });
    await expect.poll(log.seen).toBe('one\n');
    renameSync(path, `${path}.1`);
    writeFileSync(path, record(2, 'stdout', 'F', 'two'));
    rmSync(`${path}.1`);
    await expect.poll(log.seen).toBe('one\ntwo\n');
    log.end();
    await log.done;
  });

  test('goes on after a truncation', async () => {
    writeFileSync(path, record(1, 'stdout', 'F', 'a long first line'));
    const log = follow();
    await expect.poll(log.seen).toBe('a long first line\n');
    truncateSync(path);
    await new Promise((resolve) => {
      setTimeout(resolve, 50);
    });
    appendFileSync(path, record(2, 'stdout', 'F', 'two'));
    await expect.poll(log.seen).toBe('a long first line\ntwo\n');
    log.end();
    await log.done;
  });

  test('ends when aborted, and when its reader goes away', async () => {
    writeFileSync(path, record(1, 'stdout', 'F', 'one'));
    const abort = new AbortController();
    const log = follow({ signal: abort.signal });
    await expect.poll(log.seen).toBe('one\n');
    abort.abort();
    await log.done;
    const stream = openLog(path, options({ follow: { ended: new Promise(() => undefined) } }));
    stream.resume();
    await new Promise((resolve) => {
      setTimeout(resolve, 20);
    });
    stream.destroy();
    await new Promise((resolve) => {
      stream.once('close', resolve);
    });
  });

  test('a slow reader holds up the reading, not the memory', async () => {
    writeFileSync(path, record(1, 'stdout', 'F', 'x'.repeat(1000)).repeat(8000));
    const stream = openLog(path, options());
    await new Promise((resolve) => {
      stream.once('readable', resolve);
    });
    await new Promise((resolve) => {
      setTimeout(resolve, 50);
    });
    expect(stream.readableLength).toBeLessThan(2 * 256 * 1024 + 1);
    stream.destroy();
  });
});
