import { EngineError } from '../../../daemon/base/errors.ts';
import type { EventDraft, Journal } from '../../../daemon/events/journal-types.ts';
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

/** Keeps events in order; counts commits; fails when told to. */
export class FakeJournal implements Journal {
  readonly events: EventDraft[] = [];
  /** `durable` of each commit. */
  readonly commits: boolean[] = [];
  isDiskFull = false;

  commit<T>(change: (emit: (event: EventDraft) => void) => T, options?: { durable?: boolean }): T {
    if (this.isDiskFull) {
      throw new EngineError('internal', 'commit transaction: database or disk is full');
    }
    const events: EventDraft[] = [];
    const result = change((event) => events.push(event));
    this.events.push(...events);
    this.commits.push(options?.durable ?? false);
    return result;
  }

  readonly told: EventDraft[] = [];

  note(event: EventDraft): void {
    this.commit((emit) => emit(event));
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
