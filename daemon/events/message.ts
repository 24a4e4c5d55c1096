import type { EventMessage, EventType } from '../../api/types/system.ts';
import type { EventDraft } from './journal-types.ts';

/** An event with its time, as stored. */
export interface TimedEvent extends EventDraft {
  timeNano: bigint;
}

/** Objects that only a swarm has: their events are told by every manager. */
const SWARM_TYPES: ReadonlySet<EventType> = new Set<EventType>(['node', 'service', 'secret', 'config']);

/** What managers tell of networks. */
const NETWORK_ACTIONS: ReadonlySet<string> = new Set(['create', 'update', 'remove']);

/** A host tells the driver (`type`) of what becomes of its networks, also of those of the swarm; managers do not. */
function isOfSwarm({ type, action, attributes }: EventDraft): boolean {
  return type === 'network'
    ? NETWORK_ACTIONS.has(action) && attributes['type'] === undefined
    : SWARM_TYPES.has(type);
}

/** The wire shape; the keys stand in the order dockerd writes them. */
export function toMessage(event: TimedEvent): EventMessage {
  const { type, action, actorId, attributes, timeNano } = event;
  return {
    ...legacyFields(event),
    Type: type,
    Action: action,
    Actor: { ID: actorId, Attributes: attributes },
    scope: isOfSwarm(event) ? 'swarm' : 'local',
    time: Number(timeNano / 1_000_000_000n),
    timeNano,
  };
}

/** Fields from before API 1.22 that clients still read; containers and images only. */
function legacyFields({ type, action, actorId, attributes }: TimedEvent): {
  status?: string;
  id?: string;
  from?: string;
} {
  // A prune is of nothing in particular.
  const id = actorId === '' ? {} : { id: actorId };
  switch (type) {
    case 'container':
      return { status: action, ...id, ...(attributes['image'] ? { from: attributes['image'] } : {}) };
    case 'image':
      return { status: action, ...id };
    case 'volume':
    case 'network':
    case 'daemon':
    case 'builder':
    case 'node':
    case 'service':
    case 'secret':
    case 'config':
      return {};
    default:
      // Rows of a newer program, or damaged ones: shown as they are.
      return {};
  }
}
