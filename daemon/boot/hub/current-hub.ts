import { EngineError } from '../../base/errors.ts';
import type { EngineHub } from './engine-hub.ts';
import type { HubPlace, OpenHub } from './hub-place.ts';

/** The hub of the moment: it is another one after its records went to another place. */
export function currentHub(
  place: HubPlace,
): EngineHub & Pick<OpenHub, 'userName'> & { whenOpened(listener: () => void): void } {
  const current = (): OpenHub => {
    const { hub } = place;
    if (hub === undefined) {
      throw new EngineError('unavailable', place.reason);
    }
    return hub;
  };
  const tokens = (): EngineHub['workflowTokens'] => current().workflowTokens;
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
    audit: { add: async (record) => await current().audit.add(record) },
    userName: (credentials) => current().userName(credentials),
    whenOpened: (listener) => place.whenOpened(listener),
  };
}
