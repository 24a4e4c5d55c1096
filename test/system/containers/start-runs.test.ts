import { expect, test } from 'vitest';
import { describeEngine, onReference } from '../../support/engine/engine.ts';
import { sleep, until } from '../../support/engine/http.ts';
import { processFile } from '../../support/process.ts';

const ROUNDS = 40;
/** dockerd 20.10 answers before it is so, in one to three of a hundred. */
const EARLY_MAX = onReference ? 10 : 0;

/** How often each answer came. */
async function rounds(one: () => Promise<string>): Promise<Record<string, number>> {
  const seen: Record<string, number> = {};
  for (let count = 0; count < ROUNDS; count += 1) {
    const what = await one();
    seen[what] = (seen[what] ?? 0) + 1;
  }
  return seen;
}

describeEngine('a start that was answered', (engine) => {
  const started = async (command: string[], config: object = {}, host: object = {}): Promise<string> => {
    const id = await engine.create(command, host, config);
    await engine.http.ok('POST', `/containers/${id}/start`);
    return id;
  };

  test('start: its answer finds the program of the container, each time', async () => {
    const seen = await rounds(async () => {
      const id = await started(['sleep', '1000']);
      const { Pid } = (await engine.inspect(id)).State;
      const name = processFile(Pid, 'comm').trim();
      await engine.remove(id);
      return name;
    });
    expect(seen['sleep']).toBeGreaterThanOrEqual(ROUNDS - EARLY_MAX);
  });

  test('start: top right behind it shows the command, each time', async () => {
    const seen = await rounds(async () => {
      const id = await started(['sleep', '1000']);
      const { Processes } = await engine.http.ok<{ Processes: string[][] }>('GET', `/containers/${id}/top`);
      await engine.remove(id);
      return Processes.map((columns) => columns.at(-1)).join();
    });
    expect(seen['sleep 1000']).toBeGreaterThanOrEqual(ROUNDS - EARLY_MAX);
  });

  test('start: a signal right behind it meets the command, which ignores it, each time', async () => {
    const seen = await rounds(async () => {
      const id = await started(['sleep', '1000']);
      await engine.http.ok('POST', `/containers/${id}/kill?signal=TERM`);
      const { exitCode } = await engine.exec(id, ['true']).catch(() => ({ exitCode: -1 }));
      await engine.remove(id);
      return `exec ${exitCode}`;
    });
    expect(seen['exec 0']).toBeGreaterThanOrEqual(ROUNDS - EARLY_MAX);
  });

  test('start: with init a signal right behind it ends the command, each time', async () => {
    const seen = await rounds(async () => {
      const id = await started(['sleep', '1000'], {}, { Init: true });
      await engine.http.ok('POST', `/containers/${id}/kill?signal=TERM`);
      let status = '';
      for (let tries = 0; tries < 100 && !status.startsWith('exited'); tries += 1) {
        await sleep(10);
        const { State } = await engine.inspect(id);
        status = `${State.Status} ${State.ExitCode}`;
      }
      await engine.remove(id);
      return status;
    });
    expect(seen).toEqual({ 'exited 143': ROUNDS });
  });

  test('start: a signal sent before its answer meets the command too', async () => {
    const seen = await rounds(async () => {
      const id = await engine.create(['sleep', '1000']);
      const answer = engine.http.ok('POST', `/containers/${id}/start`);
      let status = 409;
      await until('the container to take a signal', async () => {
        status = (await engine.http.request('POST', `/containers/${id}/kill?signal=TERM`)).status;
        return status !== 409;
      });
      await answer;
      const { exitCode } = await engine.exec(id, ['true']).catch(() => ({ exitCode: -1 }));
      await engine.remove(id);
      return `${status} exec ${exitCode}`;
    });
    expect(seen['204 exec 0']).toBeGreaterThanOrEqual(ROUNDS - EARLY_MAX);
  });
});
