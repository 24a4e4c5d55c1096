import { execFileSync } from 'node:child_process';
import { appendFileSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { describeEngine } from '../../support/engine/engine.ts';
import { sleep, until } from '../../support/engine/http.ts';
import { residentBytes } from '../../support/process.ts';

describeEngine('log faults', (engine) => {
  const directory = (id: string): string => path.join(engine.daemon.paths.dataRoot, 'containers', id);
  const descriptors = (): number => readdirSync(`/proc/${engine.daemon.pid}/fd`).length;
  const memoryBytes = (): number => residentBytes(engine.daemon.pid);
  /** Clock ticks (10 ms) that the daemon has computed for. */
  const ticks = (): number => {
    const fields = readFileSync(`/proc/${engine.daemon.pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
    return Number(fields[11]) + Number(fields[12]);
  };

  test('R27: a full log volume kills no container, does not spin, and mends when there is room', async () => {
    const line = `${'x'.repeat(400)} tick`;
    const script = `while :; do echo ${line}; sleep 0.005; done`;
    const Config = { 'max-size': '100k', 'max-file': '9' };
    const id = await engine.create(['sh', '-c', script], { LogConfig: { Type: 'json-file', Config } });
    const folder = directory(id);
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'log-fault', folder]);
    try {
      ['upper', 'work', 'merged'].forEach((name) => mkdirSync(path.join(folder, name)));
      await engine.http.ok('POST', `/containers/${id}/start`);
      await until('the volume to be full', () => Number(diskFree(folder)) === 0);
      const [before, begun] = [ticks(), performance.now()];
      await sleep(1000);
      // Half of a processor would be spinning.
      expect(ticks() - before).toBeLessThan((performance.now() - begun) / 20);
      expect((await engine.inspect(id)).State.Status).toBe('running');
      expect((await engine.logs(id, '&tail=2')).stdout).toContain(' tick\n');
      execFileSync('mount', ['-o', 'remount,size=16m', folder]);
      const kept = (await engine.logs(id)).stdout.length;
      await until('new lines', async () => (await engine.logs(id)).stdout.length > kept + 100);
      await until('a rotation', () => readdirSync(folder).includes('container.log.1'));
      expect((await engine.inspect(id)).State.Status).toBe('running');
      await engine.http.ok('POST', `/containers/${id}/kill`);
      await engine.wait(id);
      await until('its mounts to go', async () => {
        const { State } = await engine.inspect(id);
        return (
          State.Status === 'exited' && !readFileSync('/proc/mounts', 'utf8').includes(`${folder}/merged`)
        );
      });
    } finally {
      execFileSync('umount', ['-l', folder]);
    }
  });

  test('R44: 100,000 lines at once, a megabyte without newline, zeros and bytes that are no text', async () => {
    const script =
      'seq 100000; head -c 1000000 /dev/zero | tr "\\0" x; printf "\\000\\377\\n"; head -c 1000 /dev/zero';
    const id = await engine.start(['sh', '-c', script]);
    await engine.wait(id);
    const answer = await engine.http.request('GET', `/containers/${id}/logs?stdout=1`);
    const parts: Buffer[] = [];
    for (let at = 0; at < answer.bytes.length;) {
      const end = at + 8 + answer.bytes.readUInt32BE(at + 4);
      parts.push(answer.bytes.subarray(at + 8, end));
      at = end;
    }
    const lines = Array.from({ length: 100_000 }, (_, index) => `${index + 1}\n`).join('');
    const expected = `${lines}${'x'.repeat(1_000_000)}\0\u00ff\n${'\0'.repeat(1000)}`;
    expect(Buffer.concat(parts).toString('latin1') === expected).toBe(true);
  });

  test('R46: a torn last record and a block of zeros are stepped over, and the next run begins a line', async () => {
    const id = await engine.start(['echo', 'good']);
    await engine.wait(id);
    const log = path.join(directory(id), 'container.log');
    appendFileSync(log, `${'\0'.repeat(4096)}2026-01-01T00:00:00.0000`);
    await engine.http.ok('POST', `/containers/${id}/start`);
    await engine.wait(id);
    expect((await engine.logs(id)).stdout).toBe('good\ngood\n');
    expect((await engine.logs(id, '&tail=1')).stdout).toBe('good\n');
  });

  test('R47: a follower that does not read costs no memory and holds up nobody', async () => {
    const script = 'yes 0123456789012345678901234567890123456789 | head -n 1000000; echo end';
    const before = memoryBytes();
    const id = await engine.start(['sh', '-c', script]);
    const response = await engine.http.open('GET', `/containers/${id}/logs?stdout=1&follow=1`);
    response.pause();
    await engine.wait(id);
    expect(memoryBytes() - before).toBeLessThan(80 * 2 ** 20);
    expect((await engine.logs(id, '&tail=1')).stdout).toBe('end\n');
    response.destroy();
  });

  test('R48: a thousand abandoned followers leave nothing open', async () => {
    const id = await engine.start(['sleep', '1000']);
    const before = descriptors();
    for (let round = 0; round < 20; round += 1) {
      const responses = await Promise.all(
        Array.from({ length: 50 }, () => engine.http.open('GET', `/containers/${id}/logs?stdout=1&follow=1`)),
      );
      responses.forEach((response) => response.destroy());
    }
    await until('the descriptors to be closed', () => descriptors() <= before + 5);
  });
});

function diskFree(folder: string): string {
  return execFileSync('stat', ['-f', '-c', '%a', folder]).toString().trim();
}
