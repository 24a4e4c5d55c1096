import { expect } from 'vitest';
import type { ContainerInspect } from '../../../api/types/container.ts';
import { Engine } from '../../support/engine/engine.ts';
import { sleep, until } from '../../support/engine/http.ts';
import { WAIT_MS } from '../../support/patience.ts';
import { Attempt } from '../points.ts';
import { Dice } from './dice.ts';
import type { StormOptions, StormReport } from './dice.ts';
import { untilNow } from '../../support/engine/until-now.ts';

/** Containers under way at a time. */
const LANES = 4;
/** Time that a daemon lives. */
const LIFE_MS = [30, 1500] as const;

/**
 * Kills the daemon again and again, at moments that the dice choose, while containers are created, started, write, end
 * and are removed. Of each: all its lines, its exit code, one `die` event, and nothing left of it. A client whose
 * request was cut off looks what became of it and goes on, as people do.
 */
export async function killStorm({ rounds, seed, say }: StormOptions): Promise<StormReport> {
  const dice = new Dice(seed);
  const problems: string[] = [];
  const engine = new Engine();
  const over = new AbortController();
  let lives = 0;
  await engine.up({});
  try {
    const lane = async (number: number): Promise<void> => {
      for (let count = 0; !over.signal.aborted; count += 1) {
        const subject = new Subject(
          engine,
          `lane${number}-${count}`,
          dice.between(0, 255),
          dice.between(1, 300),
        );
        problems.push(...(await subject.live()));
        lives += 1;
      }
    };
    const writer = new Subject(engine, 'writer', 7, Number.POSITIVE_INFINITY);
    await writer.begin();
    const lanes = Promise.all(Array.from({ length: LANES }, (_, number) => lane(number)));
    for (let round = 0; round < rounds; round += 1) {
      await sleep(dice.between(...LIFE_MS));
      await engine.daemon.restart();
      say(`kill ${round + 1} of ${rounds}, ${lives} containers, ${problems.length} problems`);
    }
    over.abort();
    await lanes;
    await engine.http.ok('POST', '/containers/writer/stop');
    problems.push(...(await writer.end()));
    const attempt = new Attempt(engine.daemon);
    await attempt.converged('at the end');
    problems.push(...attempt.problems);
  } finally {
    over.abort();
    await engine.down();
  }
  return { summary: `${rounds} kills, ${lives} containers, seed ${seed}`, problems };
}

/** A container that writes numbers, one a line, and ends with an exit code; at SIGTERM at once. */
class Subject {
  readonly #engine: Engine;
  readonly #name: string;
  readonly #exitCode: number;
  readonly #lines: number;

  constructor(engine: Engine, name: string, exitCode: number, lines: number) {
    this.#engine = engine;
    this.#name = name;
    this.#exitCode = exitCode;
    this.#lines = lines;
  }

  /** From its creation to its removal; what was not as it should be. */
  async live(): Promise<string[]> {
    try {
      await this.begin();
      return await this.end();
    } catch (error) {
      return [`${this.#name}: ${String(error)}`];
    }
  }

  async begin(): Promise<void> {
    const { http } = this.#engine;
    const script = Number.isFinite(this.#lines)
      ? `i=0; while [ $i -lt ${this.#lines} ]; do i=$((i+1)); echo $i; done; exit ${this.#exitCode}`
      : `trap "exit ${this.#exitCode}" TERM; i=0; while :; do i=$((i+1)); echo $i; usleep 5000; done`;
    await this.#persist('create', async () => {
      const body = { Image: 'busybox', Cmd: ['sh', '-c', script], HostConfig: { NetworkMode: 'none' } };
      const { status, text } = await http.request('POST', `/containers/create?name=${this.#name}`, { body });
      // 409: the attempt before was cut off behind its commit.
      expect([201, 409], text).toContain(status);
    });
    await this.#persist('start', async () => {
      // Asked first: an attempt that was cut off may have run it already, to its end even.
      if ((await this.#state()).Status === 'created') {
        const { status, text } = await http.request('POST', `/containers/${this.#name}/start`);
        expect([204, 304], text).toContain(status);
      }
    });
  }

  async end(): Promise<string[]> {
    const { http } = this.#engine;
    const problems: string[] = [];
    await this.#persist('its end', async () => {
      await until('its end', async () => (await this.#state()).Status === 'exited');
    });
    await this.#persist('what it left', async () => {
      const { Id, State } = await http.ok<ContainerInspect>('GET', `/containers/${this.#name}/json`);
      const { stdout } = await this.#engine.logs(Id);
      const lines = stdout.split('\n').slice(0, -1);
      const isWhole = lines.every((line, index) => line === String(index + 1));
      const filters = encodeURIComponent(JSON.stringify({ container: [Id], event: ['die'] }));
      const { text } = await http.request('GET', `/events?since=1&until=${untilNow()}&filters=${filters}`);
      const seen = {
        exitCode: State.ExitCode,
        lines: Number.isFinite(this.#lines) ? lines.length : this.#lines,
        isWhole,
        deaths: text.split('\n').filter(Boolean).length,
      };
      const expected = { exitCode: this.#exitCode, lines: this.#lines, isWhole: true, deaths: 1 };
      if (JSON.stringify(seen) !== JSON.stringify(expected)) {
        problems.push(`${this.#name}: ${JSON.stringify(seen)} instead of ${JSON.stringify(expected)}`);
      }
    });
    await this.#persist('remove', async () => {
      const { status, text } = await http.request('DELETE', `/containers/${this.#name}?v=1`);
      // 404: the attempt before was cut off. 409: the start of the daemon is finishing it.
      expect([204, 404, 409], text).toContain(status);
      expect((await http.request('GET', `/containers/${this.#name}/json`)).status).toBe(404);
    });
    return problems;
  }

  async #state(): Promise<ContainerInspect['State']> {
    const { State } = await this.#engine.http.ok<ContainerInspect>('GET', `/containers/${this.#name}/json`);
    return State;
  }

  /** Again and again while the daemon is dead or dies: only time with a live one counts. */
  async #persist(what: string, step: () => Promise<void>): Promise<void> {
    let deadline = performance.now() + WAIT_MS;
    for (;;) {
      try {
        await step();
        return;
      } catch (error) {
        if (/ECONN|ENOENT|EPIPE|hang up/.test(String(error))) {
          deadline = performance.now() + WAIT_MS;
        } else if (performance.now() > deadline) {
          throw new Error(`${what}: ${String(error)}`, { cause: error });
        }
        await sleep(20);
      }
    }
  }
}
