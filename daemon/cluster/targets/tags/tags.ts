import { failpoint } from '../../../base/failpoint.ts';
import { Fields } from '../input/fields.ts';
import { noSuch } from '../input/refusals.ts';
import { checkTagCount, readTags, type Tags } from '../input/resource-rules.ts';
import { idOf } from '../input/identifiers.ts';
import type { StoreChange, TargetStore } from '../store/port.ts';
import type { Tables } from '../store/tables.ts';

export interface TaggingDeps {
  store: TargetStore;
  tables: Tables;
}

/** Tags of groups, services and listeners, by ARN. */
export class Tagging {
  readonly #deps: TaggingDeps;

  constructor(deps: TaggingDeps) {
    this.#deps = deps;
  }

  /** Throws not_found. */
  list(arn: string): Tags {
    return this.#find(arn).tags;
  }

  /** Adds tags, and gives those that are there other values. Throws InvalidFieldsError, not_found. */
  async add(arn: string, body: unknown): Promise<void> {
    const fields = new Fields(body, 'Tags');
    fields.only('tags');
    if (!fields.has('tags')) {
      fields.wrong('tags', 'is required');
    }
    const added = readTags(fields);
    fields.refuse();
    await this.#deps.store.change(() => {
      const found = this.#find(arn);
      const tags = { ...found.tags, ...added };
      checkTagCount(fields, tags);
      failpoint('targets.tag.write');
      return { changes: [found.put(tags)], answer: undefined };
    });
  }

  /** Keys that are not there count for nothing. Throws InvalidFieldsError without keys, not_found. */
  async remove(arn: string, keys: readonly string[]): Promise<void> {
    const fields = new Fields({}, 'Tags');
    if (keys.length === 0) {
      fields.wrong('tagKeys', 'is required');
    }
    fields.refuse();
    await this.#deps.store.change(() => {
      const found = this.#find(arn);
      const tags = Object.fromEntries(Object.entries(found.tags).filter(([key]) => !keys.includes(key)));
      failpoint('targets.untag.write');
      return { changes: [found.put(tags)], answer: undefined };
    });
  }

  #find(arn: string): { tags: Tags; put(tags: Tags): StoreChange } {
    const { groups, services, listeners } = this.#deps.tables;
    const id = idOf(arn);
    const [, service = ''] = /:service\/([^/]+)\/listener\//.exec(arn) ?? [];
    const group = groups.get(id);
    if (group !== undefined) {
      return { tags: group.tags, put: (tags) => groups.put(id, { ...group, tags }) };
    }
    const own = services.get(id);
    if (own !== undefined) {
      return { tags: own.tags, put: (tags) => services.put(id, { ...own, tags }) };
    }
    const listener = listeners.get(`${service}/${id}`);
    if (listener !== undefined) {
      return { tags: listener.tags, put: (tags) => listeners.put(`${service}/${id}`, { ...listener, tags }) };
    }
    throw noSuch('TARGET_GROUP', arn);
  }
}
