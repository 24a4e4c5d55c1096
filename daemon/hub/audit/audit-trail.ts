import type { Clock } from '../../base/clock.ts';
import { EngineError, errorText } from '../../base/errors.ts';
import { failpoint } from '../../base/failpoint.ts';
import { limits } from '../../base/limits.ts';
import type { Logger } from '../../base/logger.ts';
import type { Outbox } from '../occurrences/occurrence.ts';
import { Collection } from '../records/collection.ts';
import type { Mirror } from '../records/mirror.ts';
import type { RecordChange } from '../records/port.ts';
import { auditRecordOf, type AuditRecord } from './audit-record.ts';

interface Deps {
  mirror: Mirror;
  clock: Clock;
  log: Logger;
  /** Told of each record, on all hosts that share them. Those of the last minutes are told again after a start. */
  told?: ((record: AuditRecord) => void) | undefined;
}

interface Waiting {
  record: AuditRecord;
  resolve: () => void;
  reject: (error: unknown) => void;
}

const PREFIX = 'audit/';

/**
 * Who has done what. What happens to repositories is written in the update that it happens in, what others tell of
 * (`add`) some at a time. The oldest go with their time, and when there are too many.
 */
export class AuditTrail implements Disposable {
  readonly #deps: Deps;
  readonly #records: Collection<AuditRecord>;
  #waiting: Waiting[] = [];
  #isWriting = false;
  #writeTimer: Disposable | undefined;
  #sweepTimer: Disposable | undefined;
  /** Since the last sweep. */
  #come = 0;
  #isSweeping = false;
  #isClosed = false;

  constructor(deps: Deps) {
    this.#deps = deps;
    this.#records = new Collection(deps.mirror, PREFIX);
    deps.mirror.follow(PREFIX, (value) => {
      // This class alone writes them.
      deps.told?.(value as AuditRecord);
      this.#come += 1;
      if (this.#come >= limits.hubAuditSlack) {
        this.#sweepSoon(0);
      }
    });
  }

  /** Tells again what an earlier daemon may not have told to its end. */
  start(): void {
    this.recent().forEach((record) => this.#deps.told?.(record));
    this.#sweepSoon(limits.hubAuditSweepMs);
  }

  /** What happens is written down beside what `outbox` makes of it. */
  over(outbox: Outbox): Outbox {
    return {
      intents: (occurrence) => {
        const record = auditRecordOf(occurrence);
        const changes = outbox.intents(occurrence);
        return record === undefined ? changes : [...changes, putOf(record)];
      },
    };
  }

  /**
   * Resolves when it is durable. One that is there already is left as it is. Throws resource_exhausted when too many
   * wait, and what the records throw.
   */
  add(record: AuditRecord): Promise<void> {
    if (this.#records.get(record.id) !== undefined) {
      return Promise.resolve();
    }
    if (this.#isClosed || this.#waiting.length >= limits.hubAuditWaitingMax) {
      return Promise.reject(
        new EngineError('resource_exhausted', 'too much is to be written down at a time'),
      );
    }
    return new Promise((resolve, reject) => {
      this.#waiting.push({ record, resolve, reject });
      this.#writeSoon();
    });
  }

  /** Those of the last minutes, the oldest first. */
  recent(): AuditRecord[] {
    const sinceMs = this.#nowMs() - limits.hubAuditToldAgainMs;
    return this.#records
      .all()
      .filter(({ atMs }) => atMs >= sinceMs)
      .toSorted((one, other) => one.atMs - other.atMs);
  }

  /** The newest first. `id`: that one alone. */
  list(id?: string): AuditRecord[] {
    if (id !== undefined) {
      const found = this.#records.get(id);
      return found === undefined ? [] : [found];
    }
    return this.#records.all().toSorted((one, other) => other.atMs - one.atMs);
  }

  [Symbol.dispose](): void {
    this.#isClosed = true;
    this.#writeTimer?.[Symbol.dispose]();
    this.#sweepTimer?.[Symbol.dispose]();
    const gone = new EngineError('unavailable', 'the hub has ended');
    this.#waiting.splice(0).forEach(({ reject }) => reject(gone));
  }

  #writeSoon(): void {
    if (this.#writeTimer === undefined && !this.#isWriting && !this.#isClosed) {
      this.#writeTimer = this.#deps.clock.setTimeout(() => this.#write(), limits.hubAuditPaceMs);
    }
  }

  #write(): void {
    this.#writeTimer = undefined;
    const some = this.#waiting.splice(0, limits.hubChangesAtOnce);
    this.#isWriting = true;
    this.#keep(some)
      .then(() => some.forEach(({ resolve }) => resolve()))
      .catch((error: unknown) => some.forEach(({ reject }) => reject(error)))
      .finally(() => {
        this.#isWriting = false;
        if (this.#waiting.length > 0) {
          this.#writeSoon();
        }
      })
      .catch((error: unknown) => this.#deps.log.error({ err: error }, 'nothing is written down any more'));
  }

  async #keep(some: readonly Waiting[]): Promise<void> {
    failpoint('hub.audit.add');
    const records = new Map(some.map(({ record }) => [record.id, record]));
    await this.#deps.mirror.change(() => ({
      changes: [...records.values()].map(putOf),
      answer: undefined,
    }));
  }

  #sweepSoon(ms: number): void {
    if (this.#isClosed || this.#isSweeping) {
      return;
    }
    this.#sweepTimer?.[Symbol.dispose]();
    this.#sweepTimer = this.#deps.clock.setTimeout(() => {
      this.#isSweeping = true;
      this.#sweep()
        .catch((error: unknown) => {
          this.#deps.log.warn({ reason: errorText(error) }, 'old records of the audit were not removed');
        })
        .finally(() => {
          this.#isSweeping = false;
          this.#sweepSoon(limits.hubAuditSweepMs);
        })
        .catch((error: unknown) => this.#deps.log.error({ err: error }, 'the audit is swept no more'));
    }, ms);
  }

  async #sweep(): Promise<void> {
    this.#come = 0;
    const sinceMs = this.#nowMs() - limits.hubAuditDays * 86_400_000;
    for (let gone: AuditRecord[] | undefined; !this.#isClosed && gone?.length !== 0;) {
      failpoint('hub.audit.sweep');
      gone = await this.#deps.mirror.change(() => {
        const all = this.list();
        const old = all.filter(({ atMs }, index) => atMs < sinceMs || index >= limits.hubAuditMax);
        const some = old.slice(-limits.hubChangesAtOnce);
        return { changes: some.map(({ id }) => this.#records.delete(id)), answer: some };
      });
    }
  }

  #nowMs(): number {
    return Number(this.#deps.clock.nowNano() / 1_000_000n);
  }
}

/** Whatever is there: the same id is the same thing. */
function putOf(record: AuditRecord): RecordChange {
  return { kind: 'put', key: PREFIX + record.id, value: record };
}
