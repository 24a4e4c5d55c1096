import { expect, test } from 'vitest';
import { describeEngine, onReference } from '../support/engine/engine.ts';
import type { Engine } from '../support/engine/engine.ts';
import { differences } from '../support/engine/oracle.ts';
import { WAIT_MS } from '../support/patience.ts';

const SEED = Number(process.env['BERTH_SEED'] ?? Date.now() % 1_000_000);
const ROUNDS = 40;
const VERBS_AT_A_TIME = 10;
/** Who has no answer by then hangs: a stop with its time-out and a kill that waits take a few seconds. */
const ANSWER_TIMEOUT_MS = WAIT_MS;
/** None of these verbs is broken by another one at the same time: refused, yes. */
const ANSWERS = new Set([200, 201, 204, 304, 400, 404, 409]);

type Act = [method: string, path: string, body?: object];

/** mulberry32: small, and the same everywhere. */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

function verbs(id: string, number: () => number): Act[] {
  const verb = (name: string, body: object = {}): Act => ['POST', `/containers/${id}/${name}`, body];
  const all: (() => Act)[] = [
    () => verb('start'),
    () => verb('start'),
    () => verb('stop?t=0'),
    () => verb('stop?t=1'),
    () => verb('kill'),
    () => verb('kill?signal=TERM'),
    () => verb('restart?t=0'),
    () => verb('pause'),
    () => verb('pause'),
    () => verb('unpause'),
    () => verb('update', { CpuShares: 100 + Math.floor(number() * 900) }),
    () => verb('update', { RestartPolicy: { Name: number() < 0.5 ? 'no' : 'always' } }),
    () => verb(`rename?name=n${Math.floor(number() * 1e9)}`),
    () => verb('exec', { Cmd: ['true'] }),
    () => ['GET', `/containers/${id}/top`],
    () => ['GET', `/containers/${id}/stats?stream=0&one-shot=1`],
    () => ['GET', `/containers/${id}/json`],
  ];
  return Array.from({ length: VERBS_AT_A_TIME }, () => {
    const make = all[Math.floor(number() * all.length)];
    return make === undefined ? verb('start') : make();
  });
}

/** What of a container's events no order of verbs can bring about. */
function impossible(actions: readonly string[]): string[] {
  const problems: string[] = [];
  let state: 'ended' | 'running' | 'paused' = 'ended';
  for (const [index, action] of actions.entries()) {
    const from = state;
    const allowed = {
      start: from === 'ended',
      die: from !== 'ended',
      pause: from === 'running',
      unpause: from === 'paused',
      destroy: from === 'ended',
    };
    if (action in allowed && !allowed[action as keyof typeof allowed]) {
      problems.push(
        `${action} while ${from}, after ${actions.slice(Math.max(0, index - 8), index).join(' ')}`,
      );
    }
    state =
      action === 'start' || action === 'unpause'
        ? 'running'
        : action === 'pause'
          ? 'paused'
          : action === 'die'
            ? 'ended'
            : state;
  }
  return problems;
}

async function ask(engine: Engine, [method, path, body]: Act): Promise<string[]> {
  const signal = AbortSignal.timeout(ANSWER_TIMEOUT_MS);
  try {
    const answer = await engine.http.request(method, path, { signal, ...(body && { body }) });
    return ANSWERS.has(answer.status) ? [] : [`${method} ${path}: ${answer.status} ${answer.text.trim()}`];
  } catch (error) {
    return [`${method} ${path}: ${String(error)}`];
  }
}

async function actionsOf(engine: Engine, id: string, since: number): Promise<string[]> {
  const filters = encodeURIComponent(JSON.stringify({ container: [id], type: ['container'] }));
  const query = `since=${since}&until=${(Date.now() + 1) / 1000}&filters=${filters}`;
  const { text } = await engine.http.request('GET', `/events?${query}`);
  return text
    .split('\n')
    .filter(Boolean)
    .map((line) => (JSON.parse(line) as { Action: string }).Action);
}

describeEngine('verbs at the same time', (engine) => {
  test.runIf(!onReference)(
    'R16: no order of the verbs of one container hangs, breaks or leaves anything behind',
    async () => {
      console.log(`BERTH_SEED=${SEED}`);
      const number = random(SEED);
      const problems: string[] = [];
      for (let round = 0; round < ROUNDS; round += 1) {
        const since = (Date.now() - 1) / 1000;
        const id = await engine.start(['sh', '-c', 'trap "exit 0" TERM; while :; do sleep 0.05; done']);
        const acts = verbs(id, number);
        if (round % 4 === 3) {
          acts.push(['DELETE', `/containers/${id}?force=1&v=1`]);
        }
        const found = await Promise.all(acts.map((act) => ask(engine, act)));
        // Whatever it is now: it can be taken away, once.
        const gone = await engine.http.request('DELETE', `/containers/${id}?force=1&v=1`, {
          signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS),
        });
        const history = impossible(await actionsOf(engine, id, since));
        const removal = [204, 404].includes(gone.status) ? [] : [`removal: ${gone.status} ${gone.text}`];
        for (const problem of [...found.flat(), ...removal, ...history]) {
          const text = `round ${round}: ${problem}`;
          console.log(
            `${text}\n  of ${acts.map(([method, path]) => `${method} ${path.slice(78)}`).join(', ')}`,
          );
          problems.push(text);
        }
      }
      expect(problems).toEqual([]);
      await expect.poll(() => differences(engine.daemon)).toEqual([]);
    },
    300_000,
  );
});
