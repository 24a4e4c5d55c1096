/**
 * `npm run bench:targets`: what target groups cost. In one run: the processor time of checking 1,000 targets every five
 * seconds, and what forwarding adds to a request,
 * beside Debian's nginx (fetched where it is not installed). `--seconds 20`: how
 * long it checks; `--requests 4000`: how many requests of each kind.
 */
import { parseArgs } from 'node:util';
import { measureChecks } from './bench/cluster/checks.ts';
import { measureForwarding } from './bench/cluster/forwarding.ts';

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '20' },
    requests: { type: 'string', default: '4000' },
    targets: { type: 'string', default: '1000' },
  },
});

for (const line of await measureChecks(Number(values.targets), Number(values.seconds))) {
  console.log(line);
}
for (const line of await measureForwarding(Number(values.requests))) {
  console.log(line);
}
