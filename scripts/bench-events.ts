/**
 * `npm run bench:events`: what events of the cluster cost, with the bounds of their contract: 2,000 a second to 50
 * watches for `--seconds 5`, a list of 10,000, and a flood of `--flood 20000` of which 5,000 are kept.
 */
import { parseArgs } from 'node:util';
import { measureFlood, measureWatches } from './bench/cluster/events.ts';

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '5' },
    flood: { type: 'string', default: '20000' },
  },
});

for (const line of await measureWatches(Number(values.seconds))) {
  console.log(line);
}
for (const line of await measureFlood(Number(values.flood))) {
  console.log(line);
}
process.exit(0);
