import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { newId } from '../../../daemon/base/ids.ts';
import { identify } from '../../../daemon/base/kernel/processes/process.ts';
import type { ExecSession } from '../../../runtime/exec/exec-session.ts';
import { needs } from '../../support/needs.ts';
import { makeProcess, makeRuntime, openRuntime } from './fixture.ts';
import type { RuntimeFixture } from './fixture.ts';

needs(
  'root',
  'runc',
  'conmon',
  'busybox',
)('exec', () => {
  let it: RuntimeFixture;
  let container: string;
  beforeAll(async () => {
    it = makeRuntime();
    container = (await it.run(['sleep', '1000'])).id;
  });
  afterAll(() => it[Symbol.asyncDispose]());

  /** Directories of exec sessions that are there. */
  const directories = (): string[] => readdirSync(join(it.execRoot, 'containers', container, 'exec'));
  const exec = (
    args: string[],
    options: { stdin?: boolean; terminal?: boolean; consoleSize?: { height: number; width: number } } = {},
  ): Promise<ExecSession> => {
    const { stdin = false, terminal = false, ...rest } = options;
    const process = makeProcess(args, terminal);
    return it.runtime.exec({ containerId: container, execId: newId(), process, stdin, ...rest });
  };

  test('answers output, exit code and the pid on the host, and leaves nothing', async () => {
    const session = await exec(['sh', '-c', 'echo out; echo err >&2; exit 5']);
    const [stdout, stderr, exitCode] = await Promise.all([
      text(session.stdout),
      text(session.stderr),
      session.exited,
    ]);
    expect({ stdout, stderr, exitCode }).toEqual({ stdout: 'out\n', stderr: 'err\n', exitCode: 5 });
    expect(session.pid).toBeGreaterThan(1);
    await expect.poll(directories).toEqual([]);
  });

  test.each([
    [['nope'], 127, 'exec: "nope": executable file not found in $PATH'],
    [['/nope'], 127, 'exec: "/nope": stat /nope: no such file or directory'],
    [['/etc'], 126, 'exec: "/etc": permission denied'],
  ])('of %j fails with exit code %d and no session', async (args, exitCode, why) => {
    const message = `OCI runtime exec failed: exec failed: unable to start container process: ${why}: unknown`;
    for (const terminal of [false, true]) {
      await expect(exec(args, { terminal })).rejects.toMatchObject({
        code: 'invalid_argument',
        message,
        details: { exitCode },
      });
    }
    await expect.poll(directories).toEqual([]);
  });

  test('tells the exit code 127 of a command from a failing start', async () => {
    const session = await exec(['sh', '-c', 'nope; exit 127']);
    expect(await Promise.all([text(session.stderr), session.exited])).toEqual(['sh: nope: not found\n', 127]);
  });

  test('passes 5 MB through and ends at the end of input', async () => {
    const session = await exec(['cat'], { stdin: true });
    const input = Buffer.alloc(5 * 1024 * 1024, 'berth ');
    session.stdin?.end(input);
    expect((await buffer(session.stdout)).equals(input)).toBe(true);
    expect(await session.exited).toBe(0);
  });

  test('keeps 20 MB of each output complete, apart and in order while its reader is slow', async () => {
    const script =
      'dd if=/dev/zero bs=1024 count=20000 2>/dev/null; dd if=/dev/zero bs=1024 count=20000 >&2 2>/dev/null';
    const session = await exec([
      'sh',
      '-c',
      `echo ${kilobyteOf('a').trim()}; ${script}; echo ${kilobyteOf('b').trim()} >&2`,
    ]);
    await sleep(50);
    const [stdout, stderr, exitCode] = await Promise.all([
      buffer(session.stdout),
      session.stderr && buffer(session.stderr),
      session.exited,
    ]);
    const zeros = Buffer.alloc(20_000 * 1024);
    expect(stdout.equals(Buffer.concat([Buffer.from(kilobyteOf('a')), zeros]))).toBe(true);
    expect(stderr?.equals(Buffer.concat([zeros, Buffer.from(kilobyteOf('b'))]))).toBe(true);
    expect(exitCode).toBe(0);
  });

  test('tells its exit although nobody reads what is left', async () => {
    const session = await exec(['sh', '-c', 'dd if=/dev/zero bs=1024 count=60 2>/dev/null; exit 3']);
    expect(await session.exited).toBe(3);
    expect((await buffer(session.stdout)).length).toBe(60 * 1024);
  });

  test('lets the process open its standard streams by name', async () => {
    const session = await exec([
      'sh',
      '-c',
      'cat </dev/stdin; echo out >/proc/self/fd/1; echo err >/proc/self/fd/2',
    ]);
    expect([await text(session.stdout), await text(session.stderr), await session.exited]).toEqual([
      'out\n',
      'err\n',
      0,
    ]);
  });

  test('drops the output of a detached one, and tells why it cannot be started', async () => {
    const process = makeProcess(['sh', '-c', 'yes | dd bs=1024 count=1000; exit 6']);
    const request = { containerId: container, stdin: false, detached: true };
    const session = await it.runtime.exec({ ...request, execId: newId(), process });
    expect([await text(session.stdout), session.stderr, await session.exited]).toEqual(['', null, 6]);
    const wrong = it.runtime.exec({ ...request, execId: newId(), process: makeProcess(['/nope']) });
    await expect(wrong).rejects.toMatchObject({ code: 'invalid_argument', details: { exitCode: 127 } });
    await expect.poll(directories).toEqual([]);
  });

  test('leaves no file while it runs', async () => {
    const session = await exec(['cat'], { stdin: true });
    await expect.poll(directories).toEqual([]);
    session.stdin?.end();
    expect(await session.exited).toBe(0);
  });

  test('of a daemon that was killed leaves files only while its monitor lives', async () => {
    const session = await exec(['cat'], { stdin: true, terminal: true });
    const directory = join(it.execRoot, 'containers', container, 'exec');
    await expect.poll(directories).toHaveLength(1);
    const lives = directories();
    mkdirSync(join(directory, newId()));
    openRuntime(it.base, it.cgroupParent)[Symbol.dispose]();
    expect(directories()).toEqual(lives);
    session.kill(9);
    session.stdout.resume();
    expect(await session.exited).toBe(137);
    await expect.poll(directories).toEqual([]);
  });

  test('does not wait for children that keep the output open', async () => {
    const session = await exec(['sh', '-c', 'sleep 60 & echo started']);
    const begun = performance.now();
    expect(await Promise.all([text(session.stdout), session.exited])).toEqual(['started\n', 0]);
    expect(performance.now() - begun).toBeLessThan(20_000);
  });

  test('with a terminal merges the streams, takes a first size and later ones', async () => {
    const script =
      'stty size; read x; until [ "$(stty size)" = "30 90" ]; do sleep 0.02; done; stty size >&2';
    const session = await exec(['sh', '-c', script], {
      stdin: true,
      terminal: true,
      consoleSize: { height: 20, width: 70 },
    });
    expect(session.stderr).toBeNull();
    let seen = '';
    session.stdout.on('data', (data: Buffer) => {
      seen += data.toString();
    });
    const over = once(session.stdout, 'end');
    await expect.poll(() => seen).toContain('20 70');
    session.resize(30, 90);
    session.stdin?.write('\n');
    await over;
    expect(seen.split(/\r?\n/).filter((line) => line !== '')).toEqual(['20 70', '30 90']);
    expect(await session.exited).toBe(0);
  });

  test('can be signalled, and a client that vanishes ends its input', async () => {
    const killed = await exec(['sleep', '100']);
    killed.kill(9);
    killed.stdout.resume();
    killed.stderr?.resume();
    expect(await killed.exited).toBe(137);
    killed.kill(9);
    const left = await exec(['sh', '-c', 'cat; echo over; exit 4'], { stdin: true });
    left.stdin?.destroy();
    left.stdout.destroy();
    left.stderr?.destroy();
    expect(await left.exited).toBe(4);
  });

  test('holds a process back whose output nobody reads, until the client leaves', async () => {
    const session = await exec(['yes', 'x'.repeat(1000)]);
    await sleep(300);
    expect(identify(session.pid)).toBeDefined();
    const closed = once(session.stdout, 'close');
    session.stdout.destroy();
    session.stderr?.destroy();
    await closed;
    session.kill(15);
    expect(await session.exited).toBe(143);
  });

  test('runs twenty at a time', async () => {
    const sessions = await Promise.all(
      Array.from({ length: 20 }, (_unused, index) => exec(['echo', String(index)])),
    );
    const outputs = await Promise.all(
      sessions.map(async (session) => [await text(session.stdout), await session.exited]),
    );
    expect(outputs).toEqual(Array.from({ length: 20 }, (_unused, index) => [`${index}\n`, 0]));
  });

  test('in a container that does not run is a conflict', async () => {
    const { id } = await it.run(['true']);
    await it.exit(id);
    const request = { containerId: id, execId: newId(), process: makeProcess(['true']), stdin: false };
    await expect(it.runtime.exec(request)).rejects.toMatchObject({ code: 'conflict' });
    await it.runtime.cleanUp(id);
    await expect(it.runtime.exec(request)).rejects.toMatchObject({ code: 'conflict' });
    expect(existsSync(join(it.execRoot, 'containers', id))).toBe(false);
  });

  test('costs the container no file descriptors: its process has only its stdio', async () => {
    const session = await exec(['ls', '/proc/self/fd']);
    // 3 is the directory that ls reads.
    expect(await text(session.stdout)).toBe('0\n1\n2\n3\n');
    expect(await session.exited).toBe(0);
  });
});

async function buffer(stream: Readable): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of stream) {
    // The streams of a session carry bytes only.
    parts.push(part as Buffer);
  }
  return Buffer.concat(parts);
}

async function text(stream: Readable | null): Promise<string> {
  return stream ? (await buffer(stream)).toString() : '';
}

function kilobyteOf(letter: string): string {
  return `${letter.repeat(1023)}\n`;
}
