import type { RecordsPlace } from '../../../swarm/records/ports.ts';
import type { SwarmRecords } from '../../../swarm/records/swarm-records.ts';
import type { Fence } from '../../../swarm/store/port.ts';
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import type { SharedLog } from '../../hub/deliveries/shared/shared-log.ts';
import { TermLog } from '../../hub/deliveries/shared/term-log.ts';
import type { Turns } from '../../hub/deliveries/shared/turn.ts';
import type { Records } from '../../hub/records/port.ts';
import type { Gate, SwarmSets } from './hub-place.ts';

interface Deps {
  swarm: RecordsPlace;
  sets: SwarmSets;
  gate: Gate;
  deliveries: SharedLog;
  clock: Clock;
  log: Logger;
}

/** The manager that is elected among those with a hub delivers; what it writes carries the fence of its election. */
export function swarmTurns({ swarm, sets, gate, deliveries, clock, log }: Deps): Turns {
  return {
    next: async (signal) => {
      const led = await swarm.lead('hub', signal);
      const { fence, lost } = led;
      const records = gate(fenced(sets.records, fence));
      const kept = gate(fenced(sets.deliveries, fence));
      const term = new TermLog({
        shared: deliveries,
        update: (changes) => kept.update(changes),
        clock,
        log,
      });
      return { records, deliveries: term, over: lost, end: () => led.resign() };
    },
  };
}

/** Updates are refused once another manager is elected. */
function fenced(records: SwarmRecords, fence: Fence): Records {
  return {
    get: (key) => records.get(key),
    list: (prefix, options) => records.list(prefix, options),
    watch: (prefix, from, listener) => records.watch(prefix, from, listener),
    update: (changes) => records.update(changes, { fence }),
  };
}
