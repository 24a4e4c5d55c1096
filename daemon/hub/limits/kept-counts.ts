import type { Clock } from '../../base/clock.ts';
import { errorText, isEngineError } from '../../base/errors.ts';
import { failpoint } from '../../base/failpoint.ts';
import { limits } from '../../base/limits.ts';
import type { Logger } from '../../base/logger.ts';
import type { HubRecord, RecordEvent, Records } from '../records/port.ts';
import type { Counted } from './counted.ts';

interface Deps<T extends object> {
  records: Records;
  clock: Clock;
  log: Logger;
  /** Of this host among those with the same records; '' = it has them alone. */
  host: string;
  counted: Counted<T>;
}

/**
 * Keeps what was counted across restarts, and has all managers of a swarm count together: each writes its own part, and
 * is told those of the others. It is written behind the answers: a daemon that is killed forgets the last
 * `limits.hubLimitsKeptMs` of it, and another manager knows it so much later. Records `<prefix><key>`, and
 * `<prefix><key>@<host>` in a swarm.
 */
export class KeptCounts<T extends object> implements Disposable {
  readonly #deps: Deps<T>;
  /** All records below the prefix: when each says nothing more, and of which revision it is. */
  readonly #kept = new Map<string, { endsMs: number; revision: number }>();
  /** To be written: also what the records refused before. */
  readonly #unwritten = new Map<string, T>();
  #timer: Disposable | undefined;
  #watch: Disposable | undefined;
  #isClosed = false;

  /** Takes over what is kept. Throws what the records throw. */
  static async open<T extends object>(deps: Deps<T>): Promise<KeptCounts<T>> {
    const kept = new KeptCounts(deps);
    await kept.#load(({ host, key }, state) =>
      host === deps.host ? deps.counted.restore(key, state) : deps.counted.tell(host, key, state),
    );
    kept.#later();
    return kept;
  }

  private constructor(deps: Deps<T>) {
    this.#deps = deps;
  }

  [Symbol.dispose](): void {
    this.#isClosed = true;
    this.#timer?.[Symbol.dispose]();
    this.#watch?.[Symbol.dispose]();
  }

  /** Writes what is not kept yet. Never rejects. */
  keep(): Promise<void> {
    return this.#write();
  }

  async #load(found: (name: Name, state: T) => void): Promise<void> {
    const { records, counted } = this.#deps;
    let from: number | undefined;
    for (let after = ''; ;) {
      const page = await records.list(counted.prefix, { after });
      from ??= page.revision;
      const last = page.records.at(-1);
      if (last === undefined) {
        break;
      }
      after = last.key;
      for (const record of page.records) {
        found(this.#nameOf(record.key), this.#note(record));
      }
    }
    if (!this.#isClosed) {
      this.#watch = records.watch(counted.prefix, from + 1, {
        onChanges: (events) => events.forEach((event) => this.#told(event)),
        onRelist: () => this.#again(),
      });
    }
  }

  #told(event: RecordEvent): void {
    const { host, counted } = this.#deps;
    const name = this.#nameOf(event.kind === 'put' ? event.record.key : event.key);
    const state = event.kind === 'put' ? this.#note(event.record) : undefined;
    if (event.kind === 'delete') {
      this.#kept.delete(event.key);
    }
    if (name.host !== host) {
      counted.tell(name.host, name.key, state);
    }
  }

  #note({ key, value, revision }: HubRecord): T {
    // Written by this class alone.
    const state = value as T;
    this.#kept.set(key, { endsMs: this.#deps.counted.endsMs(state), revision });
    return state;
  }

  /** What was not told is listed; until then what is known counts. */
  #again(): void {
    const { host, clock, log, counted } = this.#deps;
    if (this.#isClosed) {
      return;
    }
    const told = ({ host: other, key }: Name, state: T): void => {
      if (other !== host) {
        counted.tell(other, key, state);
      }
    };
    this.#load(told).catch((error: unknown) => {
      log.warn({ reason: errorText(error) }, 'what other managers count could not be read again');
      clock.setTimeout(() => this.#again(), limits.hubRelistMs);
    });
  }

  #later(): void {
    if (!this.#isClosed) {
      this.#timer = this.#deps.clock.setTimeout(() => {
        void this.#turn().catch((error: unknown) => {
          this.#deps.log.error({ err: error }, 'limits of the hub are kept no more');
        });
      }, limits.hubLimitsKeptMs);
    }
  }

  async #turn(): Promise<void> {
    await this.#write();
    this.#later();
  }

  /** Never rejects: a full disk must not keep the hub from answering. */
  async #write(): Promise<void> {
    const { counted, log } = this.#deps;
    for (const { key, state } of counted.take()) {
      this.#unwritten.set(key, state);
    }
    try {
      while (this.#unwritten.size > 0) {
        await this.#put([...this.#unwritten].slice(0, limits.hubChangesAtOnce));
      }
      await this.#forgetEnded();
    } catch (error) {
      log.warn({ reason: errorText(error) }, 'what was counted of the limits of the hub was not kept');
    }
  }

  async #put(some: readonly (readonly [string, T])[]): Promise<void> {
    const { records } = this.#deps;
    failpoint('hub.limits.keep');
    await records.update(
      some.map(([key, state]) => ({ kind: 'put', key: this.#recordOf(key), value: { ...state } })),
      { mayBeLost: true },
    );
    for (const [key, state] of some) {
      if (this.#unwritten.get(key) === state) {
        this.#unwritten.delete(key);
      }
    }
  }

  /** Some of those that say nothing any more: the others at the next times. Those of hosts that are gone come later. */
  async #forgetEnded(): Promise<void> {
    const { clock, records, host } = this.#deps;
    const nowMs = Number(clock.nowNano() / 1_000_000n);
    const isEnded = ([key, { endsMs }]: readonly [string, { endsMs: number }]): boolean =>
      endsMs + (this.#nameOf(key).host === host ? 0 : limits.hubGoneHostMs) <= nowMs;
    const ended = [...this.#kept].filter(isEnded).slice(0, limits.hubChangesAtOnce);
    if (ended.length === 0) {
      return;
    }
    try {
      await records.update(
        ended.map(([key, { revision }]) => ({ kind: 'delete', key, expected: revision })),
        { mayBeLost: true },
      );
    } catch (error) {
      // Another manager was faster; what it has done is told.
      if (!isEngineError(error, 'conflict')) {
        throw error;
      }
    }
  }

  #recordOf(key: string): string {
    const { counted, host } = this.#deps;
    return `${counted.prefix}${key}${host === '' ? '' : `@${host}`}`;
  }

  #nameOf(record: string): Name {
    const name = record.slice(this.#deps.counted.prefix.length);
    const at = name.lastIndexOf('@');
    return at < 0 ? { key: name, host: '' } : { key: name.slice(0, at), host: name.slice(at + 1) };
  }
}

interface Name {
  key: string;
  host: string;
}
