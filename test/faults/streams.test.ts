import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { expect, test } from 'vitest';
import { describeEngine, onReference } from '../support/engine/engine.ts';
import type { Engine } from '../support/engine/engine.ts';
import type { Hijacked } from '../support/engine/http.ts';
import { demultiplex, until } from '../support/engine/http.ts';
import { descriptorGrowth, differences, restingDescriptors } from '../support/engine/oracle.ts';
import { residentBytes } from '../support/process.ts';

/** BERTH_TEST_LOOPS=10 makes 10,000 of what is 1,000 here. */
const LOOPS = Number(process.env['BERTH_TEST_LOOPS'] ?? 1);
const MIB = 1024 * 1024;
const BIG = 100 * MIB;

async function execStream(engine: Engine, id: string, Cmd: string[], stdin = true): Promise<Hijacked> {
  const { Id } = await engine.http.ok<{ Id: string }>('POST', `/containers/${id}/exec`, {
    AttachStdin: stdin,
    AttachStdout: true,
    AttachStderr: true,
    Cmd,
  });
  return engine.http.hijack(`/exec/${Id}/start`, { body: {} });
}

/** Writes that many bytes of a pattern without filling the memory; answers their digest. */
async function writeBytes(stream: Hijacked, length: number): Promise<string> {
  const chunk = Buffer.alloc(MIB, 'the quick brown fox jumps over the lazy dog\n');
  const hash = createHash('sha256');
  for (let sent = 0; sent < length; sent += chunk.length) {
    hash.update(chunk);
    if (!stream.socket.write(chunk)) {
      await once(stream.socket, 'drain');
    }
  }
  return hash.digest('hex');
}

describeEngine('streams', (engine) => {
  test.runIf(!onReference)(
    'R24: a thousand clients that attach and vanish leave descriptors and memory as they were',
    { timeout: 600_000 },
    async () => {
      const id = await engine.start(
        ['sh', '-c', 'while :; do echo tick; sleep 0.1; done'],
        {},
        { OpenStdin: true },
      );
      const tty = await engine.start(['sleep', '600'], {}, { Tty: true, OpenStdin: true });
      const visit = async (count: number): Promise<void> => {
        const lane = async (number: number): Promise<void> => {
          for (let at = number; at < count; at += 8) {
            const query = at % 3 === 0 ? 'logs=1&stream=1&stdout=1' : 'stream=1&stdin=1&stdout=1&stderr=1';
            const stream = await engine.http.hijack(`/containers/${at % 4 === 0 ? tty : id}/attach?${query}`);
            stream.socket.destroy();
          }
        };
        await Promise.all(Array.from({ length: 8 }, (_, number) => lane(number)));
      };
      await visit(100);
      await expect.poll(() => differences(engine.daemon)).toEqual([]);
      const before = await restingDescriptors(engine.daemon);
      const memory = residentBytes(engine.daemon.pid);
      await visit(1000 * LOOPS);
      await expect.poll(() => descriptorGrowth(before, engine.daemon)).toEqual({});
      expect(residentBytes(engine.daemon.pid) - memory).toBeLessThan(48 * MIB);
      expect((await engine.exec(id, ['echo', 'alive'])).stdout).toBe('alive\n');
    },
  );

  test('R51: 100 MB go through an exec in both directions, unchanged', { timeout: 120_000 }, async () => {
    const id = await engine.start(['sleep', '600']);
    const stream = await execStream(engine, id, ['sh', '-c', 'tee /dev/stderr | sha256sum >/sum; cat /sum']);
    const hash = createHash('sha256');
    let received = 0;
    // Only the frames of standard error are counted: taking all of it apart would hold 100 MB twice.
    const digest = await echoed(stream, (bytes) => {
      hash.update(bytes);
      received += bytes.length;
    });
    expect(received).toBe(BIG);
    expect(hash.digest('hex')).toBe(digest);
    expect((await engine.exec(id, ['cut', '-c1-64', '/sum'])).stdout.trim()).toBe(digest);
  });

  test('R51: the end of input ends the program, and what it says then still arrives', async () => {
    const id = await engine.start(['sleep', '600']);
    const stream = await execStream(engine, id, ['sh', '-c', 'wc -c; echo last >&2; sleep 0.2; echo words']);
    stream.socket.end('12345');
    expect(await stream.output()).toEqual({ stdout: '5\nwords\n', stderr: 'last\n' });
    const attached = await engine.create(
      ['sh', '-c', 'wc -c; echo words'],
      {},
      { OpenStdin: true, StdinOnce: true },
    );
    const attach = await engine.http.hijack(
      `/containers/${attached}/attach?stream=1&stdin=1&stdout=1&stderr=1`,
    );
    await engine.http.ok('POST', `/containers/${attached}/start`);
    attach.socket.end('1234567');
    expect(await attach.output()).toEqual({ stdout: '7\nwords\n', stderr: '' });
  });

  test.runIf(!onReference)(
    'R51: clients that vanish in the middle of execs leave nothing',
    { timeout: 300_000 },
    async () => {
      const id = await engine.start(['sleep', '600']);
      const vanish = async (count: number): Promise<void> => {
        for (let at = 0; at < count; at += 1) {
          // The command goes on until it has no more to say and its input ends.
          const command = at % 2 === 0 ? 'exec cat' : 'yes | head -c 3000000; cat';
          const stream = await execStream(engine, id, ['sh', '-c', command]);
          stream.socket.write('x'.repeat(100_000));
          if (at % 2 === 1) {
            await stream.waitFor('y');
          }
          stream.socket.destroy();
        }
      };
      await vanish(6);
      const processesOf = async (): Promise<number> =>
        (await engine.http.ok<{ Processes: unknown[] }>('GET', `/containers/${id}/top`)).Processes.length;
      await until('the first ones to end', async () => (await processesOf()) === 1);
      const before = await restingDescriptors(engine.daemon);
      await vanish(30 * LOOPS);
      await until('the execs to end', async () => (await processesOf()) === 1);
      await expect.poll(() => descriptorGrowth(before, engine.daemon)).toEqual({});
      await expect.poll(() => differences(engine.daemon)).toEqual([]);
    },
  );
});

/** Sends BIG bytes and hands over those of standard error that come back; answers the digest of what was sent. */
async function echoed(stream: Hijacked, onBytes: (bytes: Buffer) => void): Promise<string> {
  stream.socket.removeAllListeners('data');
  let pending: Buffer = Buffer.alloc(0);
  stream.socket.on('data', (chunk: Buffer) => {
    pending = Buffer.concat([pending, chunk]);
    let at = 0;
    while (pending.length - at >= 8 && pending.length - at - 8 >= pending.readUInt32BE(at + 4)) {
      const end = at + 8 + pending.readUInt32BE(at + 4);
      if (pending[at] === 2) {
        onBytes(pending.subarray(at + 8, end));
      } else {
        expect(demultiplex(pending.subarray(at, end)).stdout).toMatch(/^[0-9a-f]{64} /);
      }
      at = end;
    }
    pending = pending.subarray(at);
  });
  const ended = once(stream.socket, 'end');
  const digest = await writeBytes(stream, BIG);
  stream.socket.end();
  await ended;
  return digest;
}
