import { randomUUID } from 'node:crypto';
import type { Clock } from '../../base/clock.ts';
import { EngineError } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import { isSubscribed } from '../hooks/event-names.ts';
import type { Hook } from '../hooks/hook.ts';
import type { HookNews } from '../hooks/hooks.ts';
import type { Actor, Occurrence, Outbox } from '../occurrences/occurrence.ts';
import { PUSHES, type Push } from '../occurrences/pushes.ts';
import { Collection } from '../records/collection.ts';
import type { Mirror } from '../records/mirror.ts';
import type { RecordChange } from '../records/port.ts';
import type { Repository } from '../repositories/repository.ts';
import type { DeliverySummary } from './delivery.ts';
import { eventsOf } from './events-of.ts';
import { fullness, intentKey, recordOf, type News, type Waiting } from './intent.ts';
import { Ulids } from './ulid.ts';

interface Deps {
  mirror: Mirror;
  clock: Clock;
  log: Logger;
  hooksOf(repository: Pick<Repository, 'id'>): readonly Hook[];
  waitingOf(hook: number): Waiting;
}

interface Wanted {
  hook: Hook;
  event: string;
  action: string | null;
  lastHook?: Hook;
  guid?: string;
}

/** Makes intents of what has happened, for the hooks that asked for it. */
export class Intents implements Outbox {
  readonly #deps: Deps;
  /** For the test of a hook. */
  readonly #pushes: Collection<Push>;
  readonly #ulids = new Ulids();

  constructor(deps: Deps) {
    this.#deps = deps;
    this.#pushes = new Collection(deps.mirror, PUSHES);
  }

  intents(occurrence: Occurrence): readonly RecordChange[] {
    const { repository } = occurrence;
    const isGone = occurrence.kind === 'repository' && occurrence.action === 'deleted';
    const wanted = this.#deps
      .hooksOf(repository)
      .filter((hook) => hook.isActive && !this.#isFull(hook))
      .flatMap((hook) =>
        eventsOf(occurrence)
          .filter(({ event }) => isSubscribed(hook.events, event))
          .map((named) => ({ hook, ...named, ...(isGone && { lastHook: hook }) })),
      );
    return [...this.#put({ kind: 'occurrence', occurrence }, wanted), ...this.#pushed(occurrence, isGone)];
  }

  /** Of a new hook and of one that goes. */
  told({ kind, hook, repository, actor }: HookNews): readonly RecordChange[] {
    return kind === 'ping'
      ? this.#ping(hook, repository, actor)
      : this.#put({ kind, hook, repository, actor }, [
          { hook, event: 'meta', action: 'deleted', lastHook: hook },
        ]);
  }

  /** Throws resource_exhausted when too many deliveries of the hook wait, as the two below. */
  ping(hook: Hook, repository: Repository, actor: Actor): Promise<void> {
    return this.#add(hook, () => this.#ping(hook, repository, actor));
  }

  /** The last push again, to this hook alone, if it wants pushes and there was one. */
  test(hook: Hook): Promise<void> {
    return this.#add(hook, () => {
      const occurrence = this.#pushes.get(String(hook.repository));
      return occurrence === undefined || !isSubscribed(hook.events, 'push')
        ? []
        : this.#put({ kind: 'occurrence', occurrence }, [{ hook, event: 'push', action: null }]);
    });
  }

  again(hook: Hook, { id, guid, event, action }: DeliverySummary): Promise<void> {
    return this.#add(hook, () => this.#put({ kind: 'again', delivery: id }, [{ hook, event, action, guid }]));
  }

  #add(hook: Hook, changes: () => readonly RecordChange[]): Promise<void> {
    const why = fullness(this.#deps.waitingOf(hook.id));
    if (why !== undefined) {
      throw new EngineError('resource_exhausted', why);
    }
    return this.#deps.mirror.change(() => ({ changes: changes(), answer: undefined }));
  }

  #ping(hook: Hook, repository: Repository, actor: Actor): readonly RecordChange[] {
    return this.#put({ kind: 'ping', repository, actor }, [{ hook, event: 'ping', action: null }]);
  }

  /** One record for all that are told the same. */
  #put(news: News, wanted: readonly Wanted[]): readonly RecordChange[] {
    const id = this.#ulids.next(Number(this.#deps.clock.nowNano() / 1_000_000n));
    const [first, ...rest] = wanted.map(({ hook, event, action, lastHook, guid = randomUUID() }, at) => ({
      id: `${id}-${at}`,
      guid,
      hook: hook.id,
      repository: hook.repository,
      event,
      action,
      news,
      lastHook: lastHook ?? null,
      attempt: 0,
      notBeforeMs: 0,
    }));
    return first === undefined
      ? []
      : [{ kind: 'put', key: intentKey({ id }), value: recordOf(id, [first, ...rest]) }];
  }

  #isFull({ id }: Hook): boolean {
    const why = fullness(this.#deps.waitingOf(id));
    if (why !== undefined) {
      this.#deps.log.warn({ hook: id }, `a delivery is not made: ${why}`);
    }
    return why !== undefined;
  }

  #pushed(occurrence: Occurrence, isGone: boolean): RecordChange[] {
    const key = String(occurrence.repository.id);
    if (occurrence.kind === 'tag' && occurrence.after !== null) {
      // Whatever is there: the last one stays.
      return [{ kind: 'put', key: PUSHES + key, value: occurrence }];
    }
    return isGone && this.#pushes.get(key) !== undefined ? [{ kind: 'delete', key: PUSHES + key }] : [];
  }
}
