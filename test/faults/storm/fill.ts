import { rmSync } from 'node:fs';
import { expect } from 'vitest';
import type { ExecInspect } from '../../../api/types/exec.ts';
import { Engine } from '../../support/engine/engine.ts';
import { until } from '../../support/engine/http.ts';
import { SmallDisk } from '../../support/storage/small-disk.ts';
import { Attempt } from '../points.ts';
import { Dice } from './dice.ts';
import type { StormOptions, StormReport } from './dice.ts';

const DISK_MIB = 160;
const ROOM_LEFT = 256 * 1024;
/** Of every other round the filler is a container, which takes each byte that becomes free. */
const FILLER = ['sh', '-c', 'while :; do cat /dev/zero >>/fill 2>/dev/null; usleep 20000; done'];
const OBEDIENT = ['sh', '-c', 'trap "exit 7" TERM; while :; do sleep 0.05; done'];
const PROBED = { Healthcheck: { Test: ['CMD', 'true'], Interval: 100e6 } };

/**
 * Fills the disk of a daemon and frees it again, round after round. While it is full, in an order that the dice make:
 * detached and attached execs, clients that leave by their keys, stop, kill, unpause, rm. Each must be answered as on
 * any other day, and what inspect says then must be true; so must it after the daemon's restart at the end.
 */
export async function fillStorm({ rounds, seed, say }: StormOptions): Promise<StormReport> {
  const dice = new Dice(seed);
  const problems: string[] = [];
  let commands = 0;
  const engine = new Engine();
  await engine.up({});
  await engine.daemon.stop();
  const { dataRoot } = engine.daemon.paths;
  rmSync(dataRoot, { recursive: true });
  const disk = new SmallDisk(dataRoot, { mib: DISK_MIB });
  try {
    await engine.daemon.up();
    await engine.daemon.loadBusybox();
    const { pid } = engine.daemon;
    for (let round = 0; round < rounds; round += 1) {
      const crew = new Crew(engine, round);
      await crew.start();
      const byContainer = round % 2 === 1;
      if (byContainer) {
        await engine.start(FILLER, {}, {}, 'filler');
        await until('the disk to be full', () => disk.room < ROOM_LEFT);
      } else {
        disk.fillUp();
      }
      for (const [what, act] of dice.shuffled(crew.commands())) {
        commands += 1;
        await act().catch((error: unknown) => problems.push(`round ${round}, ${what}: ${String(error)}`));
      }
      if (byContainer) {
        await engine.remove('filler').catch((error: unknown) => problems.push(`rm filler: ${String(error)}`));
      } else {
        disk.free();
      }
      await until('room', () => disk.room > 4 * ROOM_LEFT);
      problems.push(...(await crew.untruths()).map((words) => `round ${round}: ${words}`));
      if (!engine.daemon.isRunning() || engine.daemon.pid !== pid) {
        problems.push(`round ${round}: the daemon ended\n${engine.daemon.log().slice(-2000)}`);
        break;
      }
      if (round === rounds - 1) {
        await engine.daemon.restart();
        problems.push(...(await crew.untruths()).map((words) => `after the restart: ${words}`));
      }
      await engine.removeAll();
      say(`fill ${round + 1} of ${rounds}, ${commands} commands, ${problems.length} problems`);
    }
    const attempt = new Attempt(engine.daemon);
    await attempt.converged('at the end');
    problems.push(...attempt.problems);
  } finally {
    disk.unmount();
    await engine.down();
  }
  return { summary: `${rounds} fills, ${commands} commands on a full disk, seed ${seed}`, problems };
}

/** The containers of one round, and what must be true of them at its end. */
class Crew {
  readonly #engine: Engine;
  readonly #round: number;

  constructor(engine: Engine, round: number) {
    this.#engine = engine;
    this.#round = round;
  }

  async start(): Promise<void> {
    for (const name of ['stopped', 'killed', 'gone', 'paused']) {
      await this.#engine.start(OBEDIENT, {}, {}, this.#name(name));
    }
    await this.#engine.http.ok('POST', `/containers/${this.#name('paused')}/pause`);
    await this.#engine.start(['sh'], {}, { Tty: true, OpenStdin: true, ...PROBED }, this.#name('shell'));
    await this.#engine.create(OBEDIENT, {}, {}, this.#name('created'));
  }

  commands(): readonly [string, () => Promise<void>][] {
    const { http } = this.#engine;
    const post = (what: string, name: string) => async (): Promise<void> => {
      await http.ok('POST', `/containers/${this.#name(name)}/${what}`);
    };
    const remove = (name: string) => async (): Promise<void> => {
      await http.ok('DELETE', `/containers/${this.#name(name)}?force=1`);
    };
    return [
      ['stop', post('stop', 'stopped')],
      ['kill', post('kill', 'killed')],
      ['unpause', post('unpause', 'paused')],
      ['top', async () => void (await http.ok('GET', `/containers/${this.#name('shell')}/top`))],
      ['rm -f', remove('gone')],
      ['rm', remove('created')],
      ['exec -d', () => this.#execDetached()],
      ['exec -d', () => this.#execDetached()],
      ['exec', () => this.#execAttached()],
      ['detach', () => this.#detach()],
    ];
  }

  /** What inspect says and is not so; empty when all is well. */
  async untruths(): Promise<string[]> {
    const all = await Promise.all((await this.#engine.list()).map(({ Id }) => this.#engine.inspect(Id)));
    const seen = all
      .map(({ Name, State }) => `${Name.slice(1)} ${State.Status} ${State.ExitCode}`)
      .toSorted();
    const expected = [
      `${this.#name('killed')} exited 137`,
      `${this.#name('paused')} running 0`,
      `${this.#name('shell')} running 0`,
      `${this.#name('stopped')} exited 7`,
    ];
    return seen.join() === expected.join() ? [] : [`seen ${seen.join()}, expected ${expected.join()}`];
  }

  async #execDetached(): Promise<void> {
    const { http } = this.#engine;
    const { Id } = await http.ok<{ Id: string }>('POST', `/containers/${this.#name('shell')}/exec`, {
      Cmd: ['sh', '-c', 'exit 3'],
    });
    await http.ok('POST', `/exec/${Id}/start`, { Detach: true });
    await until('its exit code', async () => {
      const { Running, ExitCode } = await http.ok<ExecInspect>('GET', `/exec/${Id}/json`);
      return !Running && ExitCode === 3;
    });
  }

  async #execAttached(): Promise<void> {
    const words = `words of round ${this.#round}`;
    const { stdout, exitCode } = await this.#engine.exec(this.#name('shell'), [
      'sh',
      '-c',
      `echo ${words}; exit 4`,
    ]);
    expect([stdout, exitCode]).toEqual([`${words}\n`, 4]);
  }

  async #detach(): Promise<void> {
    const query = 'stream=1&stdin=1&stdout=1&detachKeys=ctrl-a,x';
    const stream = await this.#engine.http.hijack(`/containers/${this.#name('shell')}/attach?${query}`);
    // A shell with a terminal echoes it at the least.
    stream.socket.write(`: ${this.#round}\n`);
    await stream.waitFor(`: ${this.#round}`);
    stream.socket.write('\u0001x');
    await stream.raw();
  }

  #name(role: string): string {
    return `${role}-${this.#round}`;
  }
}
