import type { EventType } from '../../../../api/types/system.ts';
import type { ToldEvent } from '../../../../swarm/protocol/told-events.ts';
import { EngineError } from '../../../base/errors.ts';
import { limits } from '../../../base/limits.ts';
import { happeningOf } from '../../../cluster/events/emit/engine-events.ts';
import type { Happening } from '../../../cluster/events/emit/happening.ts';
import type { Telling } from './task-teller.ts';

/** What other nodes tell of themselves, as the cluster is told of it: whoever tells is named. Pure. */
export function nodeHappening(
  node: { id: string; name: string },
  { type, action, actor, attributes, timeNano }: ToldEvent,
): Happening | undefined {
  const happening = happeningOf({
    // The manager has looked at it (swarm/told-events).
    Type: type as EventType,
    Action: action,
    Actor: { ID: actor, Attributes: { ...attributes } },
    scope: 'local',
    time: 0,
    timeNano: BigInt(timeNano),
  });
  return happening && { ...happening, instance: node.name, audited: { node: node.name } };
}

/** Takes what happened on other nodes, once there is somebody to tell it to. */
export class NodeEvents {
  #telling: Telling | undefined;

  open(telling: Telling): void {
    this.#telling = telling;
  }

  /** Resolves when it is durable. Throws unavailable: the node tells it again, here or elsewhere. */
  async take(node: { id: string; name: string }, events: readonly ToldEvent[]): Promise<void> {
    const telling = this.#telling;
    if (telling === undefined || telling.isBusy) {
      throw new EngineError('unavailable', 'this manager cannot tell more now');
    }
    const farthest = BigInt(Date.now() - limits.clusterToldAgainMs) * 1_000_000n;
    await Promise.all(
      events.map(async (event) => {
        const happening = nodeHappening(node, event);
        if (happening !== undefined && happening.atNano >= farthest) {
          await telling.told(happening);
        }
      }),
    );
  }
}
