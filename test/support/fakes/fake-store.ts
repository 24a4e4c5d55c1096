import { EngineError } from '../../../daemon/base/errors.ts';
import type { EventDraft, Journal, RowFact } from '../../../daemon/events/journal-types.ts';
import type { ContainerRow, ContainerTable } from '../../../storage/database/rows.ts';

/** Rows as the database would keep them: only what survives JSON comes back. */
export class FakeContainerTable implements ContainerTable {
  readonly rows = new Map<string, ContainerRow>();

  insert(row: ContainerRow): void {
    this.rows.set(row.id, { ...row, spec: json(row.spec), state: json(row.state) });
  }

  setState(id: string, state: unknown): void {
    this.#change(id, { state: json(state) });
  }

  setSpec(id: string, spec: unknown): void {
    this.#change(id, { spec: json(spec) });
  }

  setName(id: string, name: string): void {
    this.#change(id, { name });
  }

  remove(id: string): void {
    this.rows.delete(id);
  }

  all(): ContainerRow[] {
    return [...this.rows.values()];
  }

  quarantined(): string[] {
    return [];
  }

  #change(id: string, change: Partial<ContainerRow>): void {
    const row = this.rows.get(id);
    if (row !== undefined) {
      this.rows.set(id, { ...row, ...change });
    }
  }
}

/** Keeps events in order; counts commits; a full disk refuses commits, and takes facts once it has room. */
export class FakeJournal implements Journal {
  readonly events: EventDraft[] = [];
  /** `durable` of each commit. */
  readonly commits: boolean[] = [];
  readonly #waiting: RowFact[] = [];
  #isDiskFull = false;

  set isDiskFull(isFull: boolean) {
    this.#isDiskFull = isFull;
    if (!isFull) {
      this.settle();
    }
  }

  commit<T>(change: (emit: (event: EventDraft) => void) => T, options?: { durable?: boolean }): T {
    this.settle();
    const events: EventDraft[] = [];
    const result = change((event) => events.push(event));
    this.events.push(...events);
    this.commits.push(options?.durable ?? false);
    return result;
  }

  readonly told: EventDraft[] = [];

  note(events: readonly EventDraft[], row?: RowFact): void {
    this.events.push(...events);
    this.commits.push(row?.durable ?? false);
    if (row !== undefined) {
      this.#waiting.push(row);
    }
    try {
      this.settle();
    } catch {
      // It waits for room.
    }
  }

  /** What waits is lost with its daemon; the next one has room. */
  die(): void {
    this.#waiting.length = 0;
    this.#isDiskFull = false;
  }

  settle(): void {
    if (this.#isDiskFull) {
      throw new EngineError('internal', 'commit transaction: database or disk is full');
    }
    for (let row = this.#waiting[0]; row !== undefined; row = this.#waiting[0]) {
      row.write();
      this.#waiting.shift();
      row.stored?.();
    }
  }

  tell(event: EventDraft): void {
    this.told.push(event);
  }

  /** `start`, `die exitCode=1`, ... since the last call. */
  actions(): string[] {
    return this.events.splice(0).map(({ action, attributes: { exitCode, signal } }) => {
      const detail = exitCode ?? signal;
      return detail === undefined ? action : `${action} ${detail}`;
    });
  }
}

function json(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}
