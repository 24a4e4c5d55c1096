import { expect, test } from 'vitest';
import { describeEngine, onReference } from '../../support/engine/engine.ts';
import { demultiplex, readAll, sleep, until } from '../../support/engine/http.ts';
import { WAIT_MS } from '../../support/patience.ts';

const COUNT = ['sh', '-c', 'for i in 1 2 3 4 5; do echo out$i; echo err$i >&2; done'];

describeEngine('logs', (engine) => {
  test('logs: streams can be had apart, and one must be asked for', async () => {
    const { id } = await engine.run(COUNT);
    const only = await engine.http.request('GET', `/containers/${id}/logs?stderr=1`);
    expect(demultiplex(only.bytes)).toEqual({ stdout: '', stderr: 'err1\nerr2\nerr3\nerr4\nerr5\n' });
    expect((await engine.http.request('GET', `/containers/${id}/logs`)).status).toBe(400);
  });

  test.each([
    ['0', ''],
    ['2', 'out4\nout5\n'],
    ['all', 'out1\nout2\nout3\nout4\nout5\n'],
    ['100', 'out1\nout2\nout3\nout4\nout5\n'],
  ])('logs: tail=%s', async (tail, expected) => {
    const { id } = await engine.run(['sh', '-c', 'for i in 1 2 3 4 5; do echo out$i; done']);
    expect((await engine.logs(id, `&tail=${tail}`)).stdout).toBe(expected);
  });

  test('logs: timestamps are RFC 3339 with nanoseconds, in order', async () => {
    const { id } = await engine.run(COUNT);
    const lines = (await engine.logs(id, '&timestamps=1')).stdout.trim().split('\n');
    const times = lines.map((line) => line.split(' ')[0] ?? '');
    expect(lines.map((line) => line.split(' ')[1])).toEqual(['out1', 'out2', 'out3', 'out4', 'out5']);
    expect(times).toEqual(times.toSorted());
    expect(times[0]).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z$/);
  });

  test('logs: since and until cut to the nanosecond', async () => {
    const script = 'echo early; until [ -e /go ]; do sleep 0.05; done; echo late';
    const id = await engine.start(['sh', '-c', script]);
    // The monitor gives what it reads at once one time.
    await until('the first line', async () => (await engine.logs(id)).stdout === 'early\n');
    await sleep(20);
    await engine.exec(id, ['touch', '/go']);
    await engine.wait(id);
    const lines = (await engine.logs(id, '&timestamps=1')).stdout.trim().split('\n');
    const [early = '', late = ''] = lines.map((line) => line.split(' ')[0] ?? '');
    const middle = ((Date.parse(early) + Date.parse(late)) / 2000).toFixed(3);
    expect((await engine.logs(id, `&since=${middle}`)).stdout).toBe('late\n');
    expect((await engine.logs(id, `&until=${middle}`)).stdout).toBe('early\n');
  });

  test('logs: follow ends with the container and loses nothing', async () => {
    const id = await engine.start(['sh', '-c', 'for i in $(seq 50); do echo $i; sleep 0.01; done']);
    const response = await engine.http.open('GET', `/containers/${id}/logs?stdout=1&follow=1`);
    const { stdout } = demultiplex(await readAll(response));
    expect(stdout).toBe(Array.from({ length: 50 }, (_, index) => `${index + 1}\n`).join(''));
  });

  test('logs: follow delivers a line while the container is silent', async () => {
    const id = await engine.start(['sh', '-c', 'echo now; sleep 1000']);
    const response = await engine.http.open('GET', `/containers/${id}/logs?stdout=1&follow=1`);
    const first: unknown = await Promise.race([response.iterator().next(), sleep(WAIT_MS)]);
    expect(first).toMatchObject({ done: false });
    response.destroy();
  });

  // dockerd keeps JSON, which has no bytes: it answers U+FFFD instead.
  test.runIf(!onReference)('logs: an unfinished line and bytes that are no text come through', async () => {
    const { id } = await engine.run(['printf', 'no newline \\377\\000 end']);
    const answer = await engine.http.request('GET', `/containers/${id}/logs?stdout=1`);
    expect(answer.bytes.subarray(8).toString('latin1')).toBe('no newline \u00ff\u0000 end');
  });

  test('logs: a line of a megabyte is one line', async () => {
    const { id } = await engine.run(['sh', '-c', 'head -c 1000000 /dev/zero | tr "\\0" x; echo; echo after']);
    const { stdout } = await engine.logs(id);
    expect([stdout.length, stdout.slice(-8)]).toEqual([1_000_007, 'x\nafter\n']);
    expect((await engine.logs(id, '&tail=1')).stdout).toBe('after\n');
  });

  test('logs: of a terminal are raw', async () => {
    const id = await engine.start(['echo', 'hi'], {}, { Tty: true });
    await engine.wait(id);
    const answer = await engine.http.request('GET', `/containers/${id}/logs?stdout=1`);
    expect(answer.text).toBe('hi\r\n');
  });

  test('logs: log driver none refuses to read', async () => {
    const id = await engine.start(['echo', 'hi'], { LogConfig: { Type: 'none', Config: {} } });
    await engine.wait(id);
    const answer = await engine.http.request('GET', `/containers/${id}/logs?stdout=1`);
    expect(answer.text).toContain('configured logging driver does not support reading');
  });
});
