import type { Clock } from '../../../base/clock.ts';
import { failpoint } from '../../../base/failpoint.ts';
import { Fields } from '../input/fields.ts';
import { inConflict } from '../input/refusals.ts';
import { targetLimits } from '../limits.ts';
import type { Groups } from '../groups/groups.ts';
import { servicesUsing } from '../groups/uses.ts';
import type { TargetGroup } from '../groups/target-group.ts';
import type { StoreChange, TargetStore } from '../store/port.ts';
import type { Tables } from '../store/tables.ts';
import { readTargets, refusal, targetProblem, type NamedTarget, type TargetRefusal } from './target-rules.ts';
import { targetStatus } from './target-status.ts';
import { targetRecordId, type Target, type TargetStatus } from './target.ts';

export interface RegistrationsDeps {
  store: TargetStore;
  tables: Tables;
  groups: Groups;
  clock: Clock;
}

/** What came of a request for several targets: some may be refused, the others are done. */
export interface TargetResults {
  successful: readonly NamedTarget[];
  unsuccessful: readonly (NamedTarget & TargetRefusal)[];
}

export interface TargetReport extends NamedTarget {
  status: TargetStatus;
  reasonCode?: string;
}

/** Which targets a group has. */
export class Registrations {
  readonly #deps: RegistrationsDeps;

  constructor(deps: RegistrationsDeps) {
    this.#deps = deps;
  }

  /** A draining target that is registered anew gets traffic again. Throws InvalidFieldsError, not_found, conflict. */
  async register(identifier: string, body: unknown): Promise<TargetResults> {
    return await this.add(identifier, readTargets(new Fields(body, 'TargetGroup')), undefined);
  }

  /** `service`: id of the swarm service whose tasks they are, as {@link Target.service}. */
  async add(identifier: string, named: readonly NamedTarget[], service: string | undefined) {
    return await this.#deps.store.change(() => {
      const group = this.#activeGroup(identifier);
      const answer = emptyResults();
      const changes: StoreChange[] = [];
      const known = new Set(this.#deps.tables.targets.below(`${group.id}/`).map(targetRecordId));
      for (const target of named.map((one) => withPort(one, group))) {
        const problem = targetProblem(target, group) ?? this.#quotaProblem(target, group, known);
        if (problem !== undefined) {
          answer.unsuccessful.push({ ...target, ...problem });
          continue;
        }
        const key = targetRecordId({ ...target, group: group.id });
        if (!known.has(key) || this.#deps.tables.targets.get(key)?.drainingMs !== undefined) {
          changes.push(...this.#registered(key, { ...target, group: group.id }, service));
        }
        known.add(key);
        answer.successful.push(target);
      }
      failpoint('targets.register.write');
      return { changes: once(changes), answer };
    });
  }

  /** They drain: no new requests, and gone when those that they have are done, or after the time of draining. */
  async deregister(identifier: string, body: unknown): Promise<TargetResults> {
    return await this.drain(identifier, readTargets(new Fields(body, 'TargetGroup')), targetLimits.drainMs);
  }

  async drain(identifier: string, named: readonly NamedTarget[], drainForMs: number): Promise<TargetResults> {
    return await this.#deps.store.change(() => {
      const group = this.#deps.groups.get(identifier);
      const isUsed = servicesUsing(this.#deps.tables, group.id).length > 0;
      const answer = emptyResults();
      const changes: StoreChange[] = [];
      for (const target of named.map((one) => withPort(one, group))) {
        const key = targetRecordId({ ...target, group: group.id });
        const found = this.#deps.tables.targets.get(key);
        if (found === undefined) {
          const text = `the target group ${group.name} has no target ${target.id}${portText(target)}`;
          answer.unsuccessful.push({ ...target, ...refusal('TargetNotFound', text) });
          continue;
        }
        answer.successful.push(target);
        if (!isUsed) {
          // Nothing goes there that could be finished.
          changes.push(...this.#removed(key));
        } else if (found.drainingMs === undefined) {
          const draining = { ...found, drainingMs: this.#nowMs(), drainForMs };
          changes.push(this.#deps.tables.targets.put(key, draining));
        }
      }
      failpoint('targets.deregister.write');
      return { changes: once(changes), answer };
    });
  }

  /** `named`: undefined = all of the group, in order of their ids. Throws not_found. */
  list(identifier: string, named?: readonly NamedTarget[]): TargetReport[] {
    const { tables } = this.#deps;
    const group = this.#deps.groups.get(identifier);
    const isUsed = servicesUsing(tables, group.id).length > 0;
    const targets = tables.targets.below(`${group.id}/`);
    const wanted = named?.map((one) => targetRecordId({ ...withPort(one, group), group: group.id }));
    return targets
      .filter((target) => wanted?.includes(targetRecordId(target)) ?? true)
      .map((target) => {
        const health = tables.health.get(targetRecordId(target));
        return { id: target.id, port: target.port, ...targetStatus({ group, isUsed, target, health }) };
      });
  }

  /** Removes targets that have drained: their time is over, or `isIdle` says that nothing is under way there. */
  async removeDrained(isIdle: (target: Target) => boolean): Promise<void> {
    const { store, tables } = this.#deps;
    const isOver = (target: Target): boolean =>
      target.drainingMs !== undefined &&
      (this.#nowMs() >= target.drainingMs + (target.drainForMs ?? targetLimits.drainMs) || isIdle(target));
    if (!tables.targets.below().some(isOver)) {
      return;
    }
    await store.change(() => {
      const over = tables.targets
        .below()
        .filter(isOver)
        .slice(0, targetLimits.changesAtOnce / 2);
      failpoint('targets.drained.write');
      return { changes: over.flatMap((target) => this.#removed(targetRecordId(target))), answer: undefined };
    });
  }

  #registered(key: string, target: NamedTarget & { group: string }, service: string | undefined) {
    const { tables } = this.#deps;
    const registered: Target = {
      ...target,
      registeredMs: this.#nowMs(),
      ...(service !== undefined && { service }),
    };
    // What the checks have found of one that drained says nothing of the one that comes back.
    const old = tables.health.get(key) === undefined ? [] : [tables.health.delete(key)];
    return [tables.targets.put(key, registered), ...old];
  }

  #removed(key: string): StoreChange[] {
    const { tables } = this.#deps;
    return [
      tables.targets.delete(key),
      ...(tables.health.get(key) === undefined ? [] : [tables.health.delete(key)]),
    ];
  }

  #quotaProblem(
    target: NamedTarget,
    group: TargetGroup,
    known: ReadonlySet<string>,
  ): TargetRefusal | undefined {
    if (known.has(targetRecordId({ ...target, group: group.id }))) {
      return undefined;
    }
    const max = group.type === 'LAMBDA' || group.type === 'ALB' ? 1 : targetLimits.targetsOfGroupMax;
    return known.size < max
      ? undefined
      : refusal('QuotaExceeded', `a target group of the type ${group.type} has at most ${max} targets`);
  }

  #activeGroup(identifier: string): TargetGroup {
    const group = this.#deps.groups.get(identifier);
    if (group.status !== 'ACTIVE') {
      throw inConflict('TARGET_GROUP', group.id, `the target group ${group.name} is ${group.status}`);
    }
    return group;
  }

  #nowMs(): number {
    return Number(this.#deps.clock.nowNano() / 1_000_000n);
  }
}

function emptyResults(): { successful: NamedTarget[]; unsuccessful: (NamedTarget & TargetRefusal)[] } {
  return { successful: [], unsuccessful: [] };
}

function withPort({ id, port }: NamedTarget, group: TargetGroup): NamedTarget {
  return { id, port: port ?? group.config.port };
}

function portText({ port }: NamedTarget): string {
  return port === undefined ? '' : ` at port ${port}`;
}

/** A request may name a target twice; an update has each key once. */
function once(changes: readonly StoreChange[]): StoreChange[] {
  return [...new Map(changes.map((change) => [change.key, change])).values()];
}
