import { FailOvers, LOSSES, type FailOver } from '../../test/support/swarm/hosts/fail-overs.ts';
import type { Workload } from './workload.ts';

const ROUNDS = 15;

/** Three managers of their own; the daemon that the bench has started takes no part. dockerd's would take a minute. */
export const failOverWorkloads: readonly Workload[] = [
  workload('failover', 'a leader lost (killed, its daemon killed, cut off): until a task is planned', {
    max: 6_000,
    pick: ({ plannedMs }) => plannedMs,
  }),
  workload('failover-write', 'the same: until a write is accepted', {
    max: 3_000,
    pick: ({ writeMs }) => writeMs,
  }),
];

function workload(
  name: string,
  what: string,
  { max, pick }: { max: number; pick: (times: FailOver) => number },
): Workload {
  let failOvers: FailOvers | undefined;
  let round = 0;
  return {
    name,
    what,
    unit: 'ms',
    target: null,
    max,
    engine: 'berthd',
    rounds: ROUNDS,
    prepare: async () => {
      failOvers = await FailOvers.start();
      return {
        ids: [],
        end: async () => {
          await failOvers?.[Symbol.asyncDispose]();
        },
      };
    },
    run: async () => {
      const loss = LOSSES[round % LOSSES.length];
      round += 1;
      if (failOvers === undefined || loss === undefined) {
        throw new Error(`${name}: nothing was prepared`);
      }
      const times = await failOvers.measure(loss);
      const said = Object.entries(times).map(([key, ms]) => `${key} ${Number(ms).toFixed(0)}`);
      process.stderr.write(`  ${loss}: ${said.join(', ')}\n`);
      return pick(times);
    },
  };
}
