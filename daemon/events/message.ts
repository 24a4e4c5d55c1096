import type { EventMessage, EventType } from '../../api/types/system.ts';
import { hasOccurrence, OCCURRENCE, occurrenceOf } from '../base/occurrence.ts';
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
  const { type, action, actorId, timeNano } = event;
  return {
    Type: type,
    Action: action,
    Actor: { ID: actorId, Attributes: namedAttributes(event) },
    scope: isOfSwarm(event) ? 'swarm' : 'local',
    time: Number(timeNano / 1_000_000_000n),
    timeNano,
  };
}

/** Of a push the registry says what it is called. */
function namedAttributes({
  type,
  action,
  actorId,
  attributes,
  timeNano,
}: TimedEvent): Record<string, string> {
  return type === 'container' && hasOccurrence(type, action)
    ? { ...attributes, [OCCURRENCE]: occurrenceOf(type, action, actorId, String(timeNano)) }
    : attributes;
}
