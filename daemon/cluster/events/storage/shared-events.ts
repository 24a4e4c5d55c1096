import { conflict, errorText } from '../../../base/errors.ts';
import type { Clock } from '../../../base/clock.ts';
import { limits } from '../../../base/limits.ts';
import type { Logger } from '../../../base/logger.ts';
import type { RecordChange, RecordEvent, Records } from '../../../hub/records/port.ts';
import { keptOf, REVISIONS_OF_UPDATE, revisionOf, type Kept } from './shared-values.ts';
import type {
  AppliedChange,
  AppliedPut,
  EventStorage,
  StorageChange,
  StorageListener,
  StoredState,
} from './port.ts';

interface Deps {
  records: Pick<Records, 'list' | 'update' | 'watch'>;
  clock: Clock;
  log: Logger;
}

/**
 * {@link EventStorage} in the store of a swarm: any manager shows and changes the same events. All changes of one
 * update have its revision there; here each has its own, the same on all managers.
 */
export class SharedEvents implements EventStorage {
  readonly commitsMax = limits.clusterSharedCommitsMax;
  readonly changesMax = limits.clusterSharedChangesMax;
  readonly #deps: Deps;
  #listener: StorageListener | undefined;
  #watch: Disposable | undefined;
  #isClosed = false;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  async open(listener: StorageListener): Promise<StoredState> {
    this.#listener = listener;
    return await this.#load();
  }

  async commit(changes: readonly StorageChange[]): Promise<void> {
    const records = changes.map((change, n): RecordChange => {
      const { key } = change;
      const expected =
        change.expected === undefined ? {} : { expected: Math.floor(change.expected / REVISIONS_OF_UPDATE) };
      return change.kind === 'put'
        ? { kind: 'put', key, value: { n, body: change.body } satisfies Kept, ...expected }
        : { kind: 'delete', key, ...expected };
    });
    if (new Set(records.map(({ key }) => key)).size < records.length) {
      // Each key stands in an update once: the queue tries them one by one.
      throw conflict('an event is changed twice at the same time');
    }
    await this.#deps.records.update(records);
  }

  [Symbol.dispose](): void {
    this.#isClosed = true;
    this.#watch?.[Symbol.dispose]();
  }

  async #load(): Promise<StoredState> {
    const { records } = this.#deps;
    const found = new Map<string, AppliedPut>();
    let revision: number | undefined;
    for (let after = ''; ;) {
      const page = await records.list('', { after });
      // What changes between two pages is told by the watch, which begins at the first.
      revision ??= page.revision;
      const last = page.records.at(-1);
      if (last === undefined) {
        break;
      }
      for (const record of page.records) {
        found.set(record.key, putOf(record));
      }
      after = last.key;
    }
    if (!this.#isClosed) {
      this.#watch = records.watch('', revision + 1, {
        onChanges: (events, at) => this.#listener?.onChanges(appliedOf(events, at)),
        onRelist: () => this.#again(),
      });
    }
    return { events: [...found.values()], revision: lastOf(revision) };
  }

  #again(): void {
    if (this.#isClosed) {
      return;
    }
    this.#load().then(
      (state) => this.#listener?.onReset(state),
      (error: unknown) => {
        this.#deps.log.warn({ reason: errorText(error) }, 'the events of the swarm could not be read again');
        this.#deps.clock.setTimeout(() => this.#again(), limits.hubRelistMs);
      },
    );
  }
}

/** The highest that a change of this update, or of one before, can have. */
function lastOf(revision: number): number {
  return revision * REVISIONS_OF_UPDATE + REVISIONS_OF_UPDATE - 1;
}

function putOf({ key, value, revision }: { key: string; value: unknown; revision: number }): AppliedPut {
  const { n, body } = keptOf(value);
  return { kind: 'put', key, body, revision: revisionOf(revision, n) };
}

/** Removals come behind what was put, in the order in which all managers are told. */
function appliedOf(events: readonly RecordEvent[], revision: number): AppliedChange[] {
  const puts = events.flatMap((event) => (event.kind === 'put' ? [putOf(event.record)] : []));
  const gone = events.flatMap((event) => (event.kind === 'delete' ? [event.key] : []));
  const first = Math.max(-1, ...puts.map((put) => put.revision - revision * REVISIONS_OF_UPDATE)) + 1;
  return [
    ...puts.toSorted((a, b) => a.revision - b.revision),
    ...gone.map((key, index): AppliedChange => ({
      kind: 'delete',
      key,
      revision: revision * REVISIONS_OF_UPDATE + first + index,
    })),
  ];
}
