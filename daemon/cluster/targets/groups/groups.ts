import type { Clock } from '../../../base/clock.ts';
import { errorText } from '../../../base/errors.ts';
import { failpoint } from '../../../base/failpoint.ts';
import type { Logger } from '../../../base/logger.ts';
import { Fields } from '../input/fields.ts';
import { idOf, newResourceId } from '../input/identifiers.ts';
import { inConflict, noSuch } from '../input/refusals.ts';
import { targetLimits } from '../limits.ts';
import { targetRecordId } from '../registrations/target.ts';
import type { TargetStore } from '../store/port.ts';
import type { Tables } from '../store/tables.ts';
import { createdGroup, tokenKey } from './create-group.ts';
import { readGroupRequest } from './group-input.ts';
import { editedHealthCheck } from './health-rules.ts';
import type { TargetGroup } from './target-group.ts';
import { servicesUsing } from './uses.ts';

/** What a group needs of the engine before it is ACTIVE. */
export interface GroupPlaces {
  /** Why a group cannot work here, a code and a sentence; undefined = it can. */
  problem(group: TargetGroup): Promise<{ code: string; message: string } | undefined>;
}

export interface GroupsDeps {
  store: TargetStore;
  tables: Tables;
  places: GroupPlaces;
  clock: Clock;
  log: Logger;
}

/** Target groups: made behind the answer, changed and removed. */
export class Groups {
  readonly #deps: GroupsDeps;

  constructor(deps: GroupsDeps) {
    this.#deps = deps;
  }

  /** Answers the group as it is written down; it becomes ACTIVE or CREATE_FAILED afterwards (`finish`). */
  async create(body: unknown): Promise<TargetGroup> {
    const request = readGroupRequest(body);
    const { store, tables } = this.#deps;
    const made = { id: newResourceId('tg-'), nowMs: this.#nowMs() };
    failpoint('targets.create.write');
    const group = await store.change(() => createdGroup(tables, request, made));
    if (group.status === 'CREATE_IN_PROGRESS') {
      this.#finishLater(group.id);
    }
    return group;
  }

  /** `identifier`: id or ARN. Throws not_found. */
  get(identifier: string): TargetGroup {
    const group = this.#deps.tables.groups.get(idOf(identifier));
    if (group === undefined) {
      throw noSuch('TARGET_GROUP', identifier);
    }
    return group;
  }

  /** In order of ids. */
  all(): TargetGroup[] {
    return this.#deps.tables.groups.below();
  }

  /** Only the health check of a group can change. Throws InvalidFieldsError, not_found. */
  async update(identifier: string, body: unknown): Promise<TargetGroup> {
    const { store, tables } = this.#deps;
    return await store.change(() => {
      const group = this.get(identifier);
      const fields = new Fields(body, 'TargetGroup');
      fields.only('healthCheck');
      const inside = fields.required('healthCheck', (name) => fields.inside(name));
      const current = group.config.healthCheck;
      if (current === undefined) {
        fields.wrong('healthCheck', `is not supported for the type ${group.type}`);
      }
      const healthCheck = inside && current && editedHealthCheck(inside, current, group.config);
      fields.refuse();
      const config = { ...group.config, ...(healthCheck && { healthCheck }) };
      const updated = { ...group, config, updatedMs: this.#nowMs() };
      failpoint('targets.update.write');
      return { changes: [tables.groups.put(group.id, updated)], answer: updated };
    });
  }

  /** Refused while a listener forwards to it, or while it is being made. Answers what it was. */
  async delete(identifier: string): Promise<TargetGroup> {
    const { store, tables } = this.#deps;
    const removed = await store.change(() => {
      const group = this.get(identifier);
      const { id, name, clientToken } = group;
      if (group.status === 'CREATE_IN_PROGRESS') {
        throw inConflict('TARGET_GROUP', id, `the target group ${name} is being created`);
      }
      const [user] = servicesUsing(tables, id);
      if (user !== undefined) {
        throw inConflict('TARGET_GROUP', id, `the service ${user} forwards to the target group ${name}`);
      }
      const changes = [
        tables.groups.delete(id),
        tables.names.delete(`g/${name}`),
        ...(clientToken === undefined ? [] : [tables.tokens.delete(tokenKey('g', clientToken))]),
      ];
      failpoint('targets.delete.write');
      return { changes, answer: group };
    });
    await this.removeTargetsOf(removed.id);
    return removed;
  }

  /** Removes the targets of a group that is gone; a kill in the middle leaves some to `sweep`. */
  async removeTargetsOf(group: string): Promise<void> {
    const { store, tables } = this.#deps;
    for (;;) {
      const left = await store.change(() => {
        const keys = tables.targets
          .below(`${group}/`)
          .slice(0, targetLimits.changesAtOnce / 2)
          .map(targetRecordId);
        failpoint('targets.delete.targets');
        return {
          changes: keys.flatMap((key) => [
            tables.targets.delete(key),
            ...(tables.health.get(key) === undefined ? [] : [tables.health.delete(key)]),
          ]),
          answer: keys.length,
        };
      });
      if (left === 0) {
        return;
      }
    }
  }

  /** What an earlier daemon left: groups that are not made yet, and targets whose group is gone. */
  async sweep(): Promise<void> {
    for (const { id, status } of this.all()) {
      if (status === 'CREATE_IN_PROGRESS') {
        await this.finish(id);
      }
    }
    const { groups, targets } = this.#deps.tables;
    const ofTargets = new Set(targets.below().map(({ group }) => group));
    for (const group of ofTargets) {
      if (groups.get(group) === undefined) {
        await this.removeTargetsOf(group);
      }
    }
  }

  /** Looks whether a group can work, and writes down what came of it. */
  async finish(id: string): Promise<void> {
    const { store, tables, places } = this.#deps;
    const asked = tables.groups.get(id);
    if (asked?.status !== 'CREATE_IN_PROGRESS') {
      return;
    }
    failpoint('targets.create.look');
    const problem = await places.problem(asked).catch((error: unknown) => ({
      code: 'InternalError',
      message: errorText(error),
    }));
    failpoint('targets.create.finish');
    await store.change(() => {
      const group = tables.groups.get(id);
      if (group?.status !== 'CREATE_IN_PROGRESS' || group.fingerprint !== asked.fingerprint) {
        return { changes: [], answer: undefined };
      }
      const { failure: _before, ...rest } = group;
      const made: TargetGroup =
        problem === undefined
          ? { ...rest, status: 'ACTIVE' }
          : { ...rest, status: 'CREATE_FAILED', failure: problem };
      return { changes: [tables.groups.put(id, { ...made, updatedMs: this.#nowMs() })], answer: undefined };
    });
  }

  #finishLater(id: string): void {
    void this.finish(id).catch((error: unknown) => {
      // It stays CREATE_IN_PROGRESS, and the next sweep finishes it.
      this.#deps.log.warn({ group: id, reason: errorText(error) }, 'a target group was not finished');
    });
  }

  #nowMs(): number {
    return Number(this.#deps.clock.nowNano() / 1_000_000n);
  }
}
