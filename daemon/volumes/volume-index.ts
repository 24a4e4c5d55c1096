import type { VolumeRow, VolumeTable } from '../../storage/database/rows.ts';
import { notFound } from '../base/errors.ts';
import type { EngineError } from '../base/errors.ts';
import type { Journal, EventDraft } from '../events/journal-types.ts';
import { LOCAL_DRIVER } from './local-driver.ts';

/** The rows of all volumes, in memory and on disk. Each change is one transaction with the event that tells of it. */
export class VolumeIndex {
  readonly #journal: Journal;
  readonly #table: VolumeTable;
  readonly #rows = new Map<string, VolumeRow>();

  constructor({ journal, table }: { journal: Journal; table: VolumeTable }) {
    this.#journal = journal;
    this.#table = table;
  }

  restore(): void {
    for (const row of this.#table.all()) {
      this.#rows.set(row.name, row);
    }
  }

  all(): VolumeRow[] {
    return [...this.#rows.values()];
  }

  find(name: string): VolumeRow | undefined {
    return this.#rows.get(name);
  }

  /** Throws not_found. */
  get(name: string): VolumeRow {
    const row = this.#rows.get(name);
    if (row === undefined) {
      throw noSuchVolume(name);
    }
    return row;
  }

  /** `alongside` runs in the same transaction. */
  add(row: VolumeRow, options: { durable: boolean }, alongside: () => void): void {
    this.#journal.commit((emit) => {
      this.#table.insert(row);
      alongside();
      emit(volumeEvent(row, 'create'));
    }, options);
    this.#rows.set(row.name, row);
  }

  /** A fact: its files are out of sight, or its plugin has removed it. */
  remove(row: VolumeRow): void {
    this.#rows.delete(row.name);
    this.#journal.note([volumeEvent(row, 'destroy')], {
      key: `volume/${row.name}`,
      write: () => this.#table.remove(row.name),
      durable: true,
    });
  }

  /** Of one whose row the database does not have: its transaction failed. */
  forget(name: string): void {
    this.#rows.delete(name);
  }

  /** No more than the event: the users of a volume stand in the containers' rows. */
  tell(name: string, action: 'mount' | 'unmount', attributes: Record<string, string>): void {
    const driver = this.#rows.get(name)?.driver ?? LOCAL_DRIVER;
    this.#journal.note([volumeEvent({ name, driver }, action, attributes)]);
  }
}

export function noSuchVolume(name: string): EngineError {
  return notFound(`get ${name}: no such volume`);
}

/** An event of a volume. Pure. */
function volumeEvent(
  { name, driver }: Pick<VolumeRow, 'name' | 'driver'>,
  action: string,
  attributes: Record<string, string> = {},
): EventDraft {
  return { type: 'volume', action, actorId: name, attributes: { driver, ...attributes } };
}
