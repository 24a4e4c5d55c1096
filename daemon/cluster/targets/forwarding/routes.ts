import type { TargetGroup } from '../groups/target-group.ts';
import type { KnownPlaces } from '../health/places.ts';
import { targetStatus } from '../registrations/target-status.ts';
import { targetRecordId, type Target } from '../registrations/target.ts';
import { groupsOf, type Action } from '../services/service.ts';
import type { TargetStore } from '../store/port.ts';
import type { Tables } from '../store/tables.ts';
import { Chooser, type Share } from './choose.ts';

/** A target of a group, as requests are sent to it. One object as long as it is registered. */
export interface Destination {
  key: string;
  group: TargetGroup;
  target: Target;
  /** Requests that it has now. */
  underWay: number;
}

/** What is done with the requests of a listener. */
interface Route {
  action: Action;
  chooser: Chooser<Destination>;
}

export interface RoutesDeps {
  store: TargetStore;
  tables: Tables;
  places: KnownPlaces;
}

/** Where the requests of each listener go, derived from the records whenever they have changed. */
export class Routes {
  readonly #deps: RoutesDeps;
  /** By listener, made of the records of a revision. */
  readonly #choosers = new Map<string, Route & { revision: number }>();
  readonly #destinations = new Map<string, Destination>();
  #revision = -1;

  constructor(deps: RoutesDeps) {
    this.#deps = deps;
  }

  /** `key`: of the listener's record. Undefined = there is no such listener any more. */
  of(key: string): Route | undefined {
    this.#refresh();
    const known = this.#choosers.get(key);
    if (known?.revision === this.#revision) {
      return known;
    }
    const listener = this.#deps.tables.listeners.get(key);
    if (listener === undefined) {
      this.#choosers.delete(key);
      return undefined;
    }
    const action = listener.defaultAction;
    const shares = groupsOf(action).map(({ targetGroupIdentifier, weight }): Share<Destination> => {
      const group = this.#deps.tables.groups.get(targetGroupIdentifier);
      return { weight, targets: group === undefined ? [] : this.#targetsOf(group) };
    });
    const chooser = new Chooser(shares, known?.chooser);
    const made = { action, chooser, revision: this.#revision };
    this.#choosers.set(key, made);
    return made;
  }

  /** Whether no request of this host is under way at a target. */
  isIdle(target: Target): boolean {
    return (this.#destinations.get(targetRecordId(target))?.underWay ?? 0) === 0;
  }

  #refresh(): void {
    if (this.#revision === this.#deps.store.revision) {
      return;
    }
    this.#revision = this.#deps.store.revision;
    for (const [key, { underWay }] of this.#destinations) {
      if (underWay === 0 && this.#deps.tables.targets.get(key) === undefined) {
        this.#destinations.delete(key);
      }
    }
  }

  #targetsOf(group: TargetGroup): Destination[] {
    const { tables } = this.#deps;
    const open = tables.targets.below(`${group.id}/`).filter(({ drainingMs }) => drainingMs === undefined);
    const healthy = open.filter((target) => {
      const health = tables.health.get(targetRecordId(target));
      const { status } = targetStatus({ group, isUsed: true, target, health });
      return status === 'HEALTHY' || status === 'UNAVAILABLE';
    });
    return (healthy.length > 0 ? healthy : open).map((target) => this.#destination(group, target));
  }

  #destination(group: TargetGroup, target: Target): Destination {
    const key = targetRecordId(target);
    const known = this.#destinations.get(key) ?? { key, group, target, underWay: 0 };
    Object.assign(known, { group, target });
    this.#destinations.set(key, known);
    return known;
  }
}
