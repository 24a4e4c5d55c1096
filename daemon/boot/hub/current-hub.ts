import { EngineError } from '../../base/errors.ts';
import type { EngineHub } from './engine-hub.ts';
import type { HubPlace } from './hub-place.ts';

/** The hub of the moment: it is another one after its records went to another place. */
export function currentHub(place: HubPlace): EngineHub & { whenOpened(listener: () => void): void } {
  const tokens = (): EngineHub['workflowTokens'] => {
    const { hub } = place;
    if (hub === undefined) {
      throw new EngineError('unavailable', place.reason);
    }
    return hub.workflowTokens;
  };
  return {
    workflowTokens: {
      plan: (...asked) => tokens().plan(...asked),
      mint: async (...asked) => await tokens().mint(...asked),
      revoke: async (task) => await tokens().revoke(task),
      tasks: () => place.hub?.workflowTokens.tasks() ?? [],
    },
    deployments: {
      // The leader tells again where nobody was there to be told.
      tell: async (services) => await place.hub?.deployments.tell(services),
    },
    whenOpened: (listener) => place.whenOpened(listener),
  };
}
