/**
 * `npm run storm -- fill` or `npm run storm -- kill`: a daemon from dist/ whose disk is filled and freed, or which is
 * killed, again and again while containers start, write, end and are removed (test/faults/storm). Needs root.
 *
 *   --rounds N   30 fills or 60 kills when left out     --seed N   random numbers of an earlier storm
 */
import { parseArgs } from 'node:util';
import { fillStorm } from '../test/faults/storm/fill.ts';
import { killStorm } from '../test/faults/storm/kill.ts';

const storms = { fill: { run: fillStorm, rounds: 30 }, kill: { run: killStorm, rounds: 60 } } as const;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { rounds: { type: 'string' }, seed: { type: 'string' } },
});

async function main(): Promise<number> {
  const [mode = ''] = positionals;
  if (mode !== 'fill' && mode !== 'kill') {
    throw new Error(`no storm "${mode}": say fill or kill`);
  }
  const { run, rounds } = storms[mode];
  const { summary, problems } = await run({
    rounds: Number(values.rounds ?? rounds),
    seed: Number(values.seed ?? Date.now() % 100_000),
    say: (line) => process.stderr.write(`${line}\n`),
  });
  problems.forEach((problem) => console.log(problem));
  console.log(`${summary}: ${problems.length === 0 ? 'no' : problems.length} problems`);
  return problems.length === 0 ? 0 : 1;
}

process.exitCode = await main();
