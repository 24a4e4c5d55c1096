import type { StringMap } from '../../../api/types/maps.ts';
import type { ChangedPart } from '../../cluster/cluster.ts';
import { keyOf } from '../../objects/keys.ts';
import type { PartName } from '../../objects/parts.ts';
import { nowMs, type ControlContext } from '../context.ts';
import { isOverlay } from '../networks/find.ts';
import { isKnown as isKnownNode, type KnownNode } from '../nodes/find.ts';
import { membersOf, stateOfNode } from '../nodes/view.ts';
import { isKnown as isKnownService } from '../services/view.ts';
import { changesOf, nodeFacts, serviceFacts, type Facts } from './facts.ts';

const KIND_NAMES = ['node', 'service', 'network', 'secret', 'config'] as const;
type Kind = (typeof KIND_NAMES)[number];

/** What has become of an object of the swarm. Every manager tells it to its own clients. */
export interface SwarmEvent {
  type: Kind;
  action: 'create' | 'update' | 'remove';
  id: string;
  attributes: StringMap;
  /** Milliseconds since 1970 UTC, by the manager that made the change; of a removal by this one. */
  at: number;
}

/** An object that clients can know of. */
export interface ToldObject {
  type: Kind;
  id: string;
  name: string;
}

/** Up to where a swarm's events have been noted: a revision of its store, and the objects that were there then. */
export interface Noted {
  revision: number;
  objects: readonly ToldObject[];
}

/** Keeps events, so that clients can ask for past ones, and tells them to those that listen. */
export interface SwarmEventLog {
  /** What was noted of a swarm, also before a restart; undefined: nothing, never. */
  noted(cluster: string): Noted | undefined;
  /**
   * Keeps of the objects those that the events make, and forgets those that they remove; those that are `there` as
   * well. Must not throw.
   */
  note(
    cluster: string,
    events: readonly SwarmEvent[],
    place: { revision: number; there?: readonly ToldObject[] },
  ): void;
}

interface Deps extends Pick<ControlContext, 'cluster' | 'clock' | 'managers' | 'markOf'> {
  clusterId: string;
  log: SwarmEventLog;
}

/** Which object a part belongs to. Tasks have no events, and what a service runs changes with the service. */
const KINDS: Readonly<Partial<Record<PartName, Kind>>> = {
  node: 'node',
  nodeState: 'node',
  nodeDescription: 'node',
  service: 'service',
  serviceRun: 'service',
  network: 'network',
  secret: 'secret',
  config: 'config',
};

/** What is no part of the store (who leads, who can be reached) is compared so often. */
const LOOK_MS = 1_000;

/**
 * Events of the swarm's objects, from what changes in this manager's view of the store: what was there before is known
 * here, and a change that is heard of late, after the store was listed anew, is told with it. Told are changes by
 * users, and what the system changes of the facts that events have. What was made, changed or removed while this
 * manager was away is told when it is back, with what it has become in the end.
 */
export class SwarmEvents implements Disposable {
  readonly #deps: Deps;
  readonly #known: Readonly<Record<Kind, Map<string, Facts>>> = {
    node: new Map(),
    service: new Map(),
    network: new Map(),
    secret: new Map(),
    config: new Map(),
  };
  readonly #subscription: Disposable;
  #timer: Disposable | undefined;

  constructor(deps: Deps) {
    this.#deps = deps;
    const noted = deps.log.noted(deps.clusterId);
    const appeared = this.#appeared(noted?.revision);
    // Without events too: from here on they are noted. What is gone comes first: its name may be another object's now.
    deps.log.note(deps.clusterId, [...this.#gone(noted), ...appeared], {
      revision: deps.cluster.revision,
      there: this.#there(),
    });
    this.#subscription = deps.cluster.subscribe((changed) => this.#onChanges(changed));
    this.#lookLater();
  }

  [Symbol.dispose](): void {
    this.#timer?.[Symbol.dispose]();
    this.#subscription[Symbol.dispose]();
  }

  /** Takes everything that is there, and answers what of it is newer than a revision: none where there is no such. */
  #appeared(noted: number | undefined): SwarmEvent[] {
    const { cluster } = this.#deps;
    return KIND_NAMES.flatMap((kind) =>
      [...cluster.state[`${kind}s`].keys()].flatMap((id) => {
        this.#take(kind, id, false);
        const name = this.#known[kind].get(id)?.name;
        const { revision = 0, created = 0 } = cluster.version(keyOf(kind, id)) ?? {};
        if (noted === undefined || name === undefined || revision <= noted) {
          return [];
        }
        const action = created > noted ? 'create' : 'update';
        return [this.#event({ kind, id, action, name, isByUser: true })];
      }),
    );
  }

  /** What was noted and is not there any more. */
  #gone(noted: Noted | undefined): SwarmEvent[] {
    return (noted?.objects ?? [])
      .filter(({ type, id }) => !this.#known[type].has(id))
      .map(({ type: kind, id, name }) => this.#event({ kind, id, action: 'remove', name, isByUser: false }));
  }

  #there(): ToldObject[] {
    return KIND_NAMES.flatMap((type) => [...this.#known[type]].map(([id, { name }]) => ({ type, id, name })));
  }

  #onChanges(changed: readonly ChangedPart[]): void {
    const touched = new Map<string, { kind: Kind; id: string; isByUser: boolean }>();
    for (const { write } of changed) {
      const kind = KINDS[write.part];
      if (kind !== undefined) {
        const key = `${kind} ${write.id}`;
        const isByUser = write.part === kind || (touched.get(key)?.isByUser ?? false);
        touched.set(key, { kind, id: write.id, isByUser });
      }
    }
    this.#note(
      [...touched.values()].flatMap(({ kind, id, isByUser }) => this.#take(kind, id, isByUser) ?? []),
    );
  }

  /** What is to be told of an object as it is now; from then on it is known so. */
  #take(kind: Kind, id: string, isByUser: boolean): SwarmEvent | undefined {
    const known = this.#known[kind];
    const before = known.get(id);
    const after = this.#factsOf(kind, id);
    if (after === undefined) {
      known.delete(id);
      return before && this.#event({ kind, id, action: 'remove', name: before.name, isByUser: false });
    }
    known.set(id, after);
    if (before === undefined) {
      return this.#event({ kind, id, action: 'create', name: after.name, isByUser });
    }
    const changes = changesOf(before, after);
    return isByUser || Object.keys(changes).length > 0
      ? this.#event({ kind, id, action: 'update', name: after.name, isByUser, changes })
      : undefined;
  }

  #event({
    kind,
    id,
    action,
    name,
    isByUser,
    changes = {},
  }: {
    kind: Kind;
    id: string;
    action: SwarmEvent['action'];
    name: string;
    isByUser: boolean;
    changes?: StringMap;
  }): SwarmEvent {
    const updated = isByUser ? this.#updatedAt(kind, id) : undefined;
    return { type: kind, action, id, attributes: { name, ...changes }, at: updated ?? nowMs(this.#deps) };
  }

  #updatedAt(kind: Kind, id: string): number | undefined {
    const { nodes, services, networks, secrets, configs } = this.#deps.cluster.state;
    switch (kind) {
      case 'node':
        return nodes.get(id)?.record?.updated;
      case 'service':
        return services.get(id)?.record?.updated;
      case 'network':
        return networks.get(id)?.updated;
      case 'secret':
        return secrets.get(id)?.updated;
      case 'config':
        return configs.get(id)?.updated;
      default:
        return undefined;
    }
  }

  #factsOf(kind: Kind, id: string): Facts | undefined {
    const { state } = this.#deps.cluster;
    if (kind === 'node') {
      const node = state.nodes.get(id);
      return isKnownNode(node) ? this.#nodeFacts(node) : undefined;
    }
    if (kind === 'service') {
      const service = state.services.get(id);
      return isKnownService(service) ? serviceFacts(service) : undefined;
    }
    if (kind === 'network') {
      const network = state.networks.get(id);
      return isOverlay(network) ? { name: network.name, changing: {} } : undefined;
    }
    const record = state[`${kind}s`].get(id);
    return record && { name: record.spec.Name ?? '', changing: {} };
  }

  #nodeFacts(node: KnownNode): Facts {
    const member = membersOf(this.#deps).get(node.id);
    return nodeFacts(node, { state: stateOfNode(this.#deps, node).State, member });
  }

  #lookLater(): void {
    this.#timer = this.#deps.clock.setTimeout(() => {
      this.#note([...this.#known.node.keys()].flatMap((id) => this.#take('node', id, false) ?? []));
      this.#lookLater();
    }, LOOK_MS);
  }

  #note(events: readonly SwarmEvent[]): void {
    if (events.length > 0) {
      const { log, clusterId, cluster } = this.#deps;
      log.note(clusterId, events, { revision: cluster.revision });
    }
  }
}
