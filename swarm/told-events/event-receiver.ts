import { EngineError, invalidArgument, invariant } from '../../daemon/base/errors.ts';
import { failpoint } from '../../daemon/base/failpoint.ts';
import { limits } from '../../daemon/base/limits.ts';
import type { Cluster } from '../cluster/cluster.ts';
import { fieldsOf, textOf } from '../dispatcher/check.ts';
import type { ToldEvent } from '../protocol/told-events.ts';
import type { Caller, Method } from '../rpc/port.ts';
import type { NodeEventsListener } from './ports.ts';

/** What a node may tell of: its own. What happens to objects of the swarm the managers see themselves. */
const TYPES = new Set(['container', 'image', 'network', 'volume']);

/** What nodes call on managers to tell what happened on them. */
export class EventReceiver {
  readonly #cluster: Pick<Cluster, 'state'>;
  readonly #told: NodeEventsListener | undefined;

  constructor({ cluster, told }: { cluster: Pick<Cluster, 'state'>; told: NodeEventsListener | undefined }) {
    this.#cluster = cluster;
    this.#told = told;
  }

  /** To be served for as long as this node is a manager. */
  get methods(): Method[] {
    return [
      {
        name: 'events.tell',
        allowed: 'node',
        kind: 'call',
        handle: (body, caller) => this.#take(eventsOf(body), caller),
      },
    ];
  }

  async #take(events: readonly ToldEvent[], { identity }: Caller): Promise<object> {
    invariant(identity !== undefined, 'only nodes may call it');
    if (this.#told === undefined) {
      throw new EngineError('unavailable', 'this manager has no cluster interface');
    }
    const node = this.#cluster.state.nodes.get(identity.node);
    const name = node?.record?.spec.Name || node?.description?.Hostname || identity.node;
    failpoint('swarm.events.told');
    await this.#told({ id: identity.node, name }, events);
    return {};
  }
}

function eventsOf(body: unknown): ToldEvent[] {
  const events: unknown = Reflect.get(fieldsOf(body, 'a request'), 'events');
  if (!Array.isArray(events) || events.length > limits.swarmToldEventsMax) {
    throw invalidArgument(`events is no list of at most ${limits.swarmToldEventsMax}`);
  }
  return events.map((event: unknown) => eventOf(event));
}

function eventOf(body: unknown): ToldEvent {
  const fields = fieldsOf(body, 'an event');
  const [type, action, actor] = [
    bounded(fields, 'type'),
    bounded(fields, 'action'),
    bounded(fields, 'actor'),
  ];
  const timeNano = bounded(fields, 'timeNano');
  if (!TYPES.has(type)) {
    throw invalidArgument(`type: a node has no events of ${JSON.stringify(type)}`);
  }
  if (!/^\d{1,19}$/.test(timeNano)) {
    throw invalidArgument('timeNano is no time');
  }
  const given = Object.entries(fieldsOf(fields['attributes'], 'attributes'));
  if (given.length > limits.swarmToldAttributesMax) {
    throw invalidArgument(`attributes: ${given.length}, at most ${limits.swarmToldAttributesMax} are taken`);
  }
  const attributes: Record<string, string> = Object.create(null);
  for (const [name] of given) {
    attributes[name] = bounded(Object.fromEntries(given), name);
  }
  return { type, action, actor, attributes, timeNano };
}

function bounded(fields: Record<string, unknown>, name: string): string {
  const text = textOf(fields, name);
  if (text.length > limits.swarmToldTextMax) {
    throw invalidArgument(`${name}: ${text.length} characters, at most ${limits.swarmToldTextMax} are taken`);
  }
  return text;
}
