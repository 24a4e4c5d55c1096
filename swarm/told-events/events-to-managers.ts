import { EngineError, errorText } from '../../daemon/base/errors.ts';
import { failpoint } from '../../daemon/base/failpoint.ts';
import { limits } from '../../daemon/base/limits.ts';
import type { ManagerAddress } from '../protocol/session.ts';
import type { ToldEvent, ToldEvents } from '../protocol/told-events.ts';
import type { Dial } from '../rpc/port.ts';
import type { ManagerEvents } from './ports.ts';

/** The node in its swarm, as it is now. */
interface Place {
  managers(): readonly ManagerAddress[];
  dial: Dial;
}

/** Tells managers what happened on this node, one after the other until one takes it. Nobody is told before `join`. */
export class EventsToManagers implements ManagerEvents {
  #place: Place | undefined;

  /** From now on the managers of this swarm are told. */
  join(place: Place): void {
    this.#place = place;
  }

  async tell(events: readonly ToldEvent[], signal: AbortSignal): Promise<void> {
    const place = this.#place;
    const failures: string[] = [];
    for (const { addr } of place?.managers() ?? []) {
      try {
        using client = place!.dial(addr);
        failpoint('swarm.events.tell');
        const body: ToldEvents = { events };
        await client.call('events.tell', body, { signal, timeoutMs: limits.swarmToldMs });
        return;
      } catch (error) {
        signal.throwIfAborted();
        failures.push(`manager ${addr}: ${errorText(error)}`);
      }
    }
    const why = failures.length === 0 ? 'no manager is known' : failures.join('; ');
    throw new EngineError('unavailable', `events of this node are not told: ${why}`);
  }
}
