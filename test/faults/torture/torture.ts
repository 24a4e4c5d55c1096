import { cpSync, mkdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { errorText } from '../../../daemon/base/errors.ts';
import { differences } from '../../support/engine/oracle.ts';
import { until } from '../../support/engine/http.ts';
import { Dice, type StormReport } from '../storm/dice.ts';
import { look } from './look.ts';
import { drawRound, told, type Step } from './steps.ts';
import { VictimSwarm } from './victim-swarm.ts';

const REMAINS_MS = 30_000;

export interface TortureOptions {
  seed: number;
  /** Rounds are begun until then. */
  minutes: number;
  /** Instead of random rounds: these steps, as one round. */
  steps?: readonly Step[];
  /** Progress, a line at a time. */
  say: (line: string) => void;
}

export interface TortureReport extends StormReport {
  /** The steps of the round after which something was wrong. */
  failed: readonly Step[] | undefined;
}

/** Does random things to a swarm of five, round by round, until the time is over or something is wrong after one. */
export async function torture({ seed, minutes, steps, say }: TortureOptions): Promise<TortureReport> {
  await using victim = await VictimSwarm.start(seed);
  const dice = new Dice(seed);
  const end = Date.now() + minutes * 60_000;
  let rounds = 0;
  let done = 0;
  let failed: readonly Step[] | undefined;
  let problems = await look(victim);
  const isTimeLeft = (): boolean => rounds === 0 || (steps === undefined && Date.now() < end);
  while (problems.length === 0 && isTimeLeft()) {
    const round = steps ?? drawRound(dice);
    rounds += 1;
    say(`${new Date().toISOString().slice(11, 19)} round ${rounds}: ${round.map(told).join(' ')}`);
    // What a step or the healing cannot do in time is a problem too.
    const stuck: string[] = [];
    try {
      for (const step of round) {
        await victim.act(step);
        done += 1;
      }
      await victim.heal();
    } catch (error) {
      stuck.push(errorText(error));
    }
    problems = [...victim.seen, ...stuck, ...(await look(victim))];
    failed = problems.length > 0 ? round : undefined;
  }
  if (problems.length === 0) {
    problems = await remains(victim);
  }
  if (problems.length > 0) {
    say(`the daemons' logs are in ${keepLogs(victim, seed)}`);
  }
  return { summary: `seed ${seed}: ${rounds} rounds of ${done} steps`, problems, failed };
}

/** Answers the folder. */
function keepLogs({ swarm }: VictimSwarm, seed: number): string {
  const folder = path.join(tmpdir(), `berth-torture-${seed}-${Date.now()}`);
  mkdirSync(folder);
  for (const { daemon, hostname } of swarm.nodes) {
    cpSync(daemon.paths.log, path.join(folder, `${hostname}.log`));
  }
  return folder;
}

/** What the oracle finds on the nodes; containers of tasks that ended go in the background. */
async function remains({ swarm }: VictimSwarm): Promise<string[]> {
  let last: string[] = [];
  await until(
    'the nodes to be as they say',
    async () => {
      const lists = await Promise.all(
        swarm.nodes.map(async ({ daemon, hostname }) =>
          (await differences(daemon)).map((difference) => `${hostname}: ${difference}`),
        ),
      );
      last = lists.flat();
      return last.length === 0;
    },
    REMAINS_MS,
    // What did not come true is told by what was found last.
  ).catch(() => undefined);
  return last;
}

/** The shortest part of a failed round that still fails on a new swarm: one step less as long as that is so. */
export async function shrink(
  round: readonly Step[],
  options: Omit<TortureOptions, 'steps'>,
): Promise<readonly Step[]> {
  for (const left of round) {
    const steps = round.filter((step) => step !== left);
    if (steps.length > 0) {
      const { problems } = await torture({ ...options, steps });
      if (problems.length > 0) {
        return await shrink(steps, options);
      }
    }
  }
  return round;
}
