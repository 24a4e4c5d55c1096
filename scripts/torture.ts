/**
 * `npm run torture`: five daemons from dist/ on a switch that loses frames, in a swarm with services, to
 * which random things are done (test/faults/torture). Needs root.
 *
 *   --seed N      the random numbers of an earlier run
 *   --minutes N   60 when left out
 *   --steps JSON  these steps alone, as a run printed them
 *   --shrink      looks for the fewest steps of a failed round that fail on a new swarm
 */
import { parseArgs } from 'node:util';
import type { Step } from '../test/faults/torture/steps.ts';
import { shrink, torture, type TortureOptions } from '../test/faults/torture/torture.ts';

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    minutes: { type: 'string', default: '60' },
    steps: { type: 'string' },
    shrink: { type: 'boolean', default: false },
  },
});

async function main(): Promise<number> {
  const options: TortureOptions = {
    seed: Number(values.seed ?? Date.now() % 100_000),
    minutes: Number(values.minutes),
    say: (line) => process.stderr.write(`${line}\n`),
    // As an earlier run printed them.
    ...(values.steps !== undefined && { steps: JSON.parse(values.steps) as Step[] }),
  };
  const { summary, problems, failed } = await torture(options);
  problems.forEach((problem) => console.log(problem));
  console.log(`${summary}: ${problems.length === 0 ? 'no' : problems.length} problems`);
  if (failed !== undefined) {
    const fewest = values.shrink ? await shrink(failed, options) : failed;
    console.log(`--steps '${JSON.stringify(fewest)}'`);
  }
  return problems.length === 0 ? 0 : 1;
}

process.exitCode = await main();
