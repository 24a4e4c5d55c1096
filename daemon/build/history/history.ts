import type { TraceParent } from '../../../api/types/build/ports.ts';
import type {
  HistoryEvent,
  HistoryPort,
  HistoryQuestion,
  HistoryRecord,
} from '../../../api/types/build/history.ts';
import { decodeJson, encodeJson } from '../../../storage/database/json.ts';
import type { BuildHistoryTable } from '../../../storage/database/rows.ts';
import type { Clock } from '../../base/clock.ts';
import { EngineError, errorText, invalidArgument, notFound } from '../../base/errors.ts';
import { failpoint } from '../../base/failpoint.ts';
import { limits } from '../../base/limits.ts';
import type { Logger } from '../../base/logger.ts';
import { makeBelongings, type BelongingsDeps } from './belongings.ts';
import { openBlob, type NewBlob } from './blobs.ts';
import { countSteps } from './counts.ts';
import { HistoryEvents } from './events.ts';
import { historyTest } from './filters.ts';
import { logMessages } from './log.ts';
import type { BuildEnd } from './ports.ts';
import { toForget } from './retention.ts';
import { shownAttributes } from './shown-attributes.ts';

export interface HistoryDeps extends BelongingsDeps {
  table: BuildHistoryTable;
  clock: Clock;
  log: Logger;
  kept: { entriesMin: number; ageMs: number };
}

/** A build that begins. */
export interface BegunBuild {
  ref: string;
  frontend: string;
  attributes: ReadonlyMap<string, string>;
  exporters: readonly { type: string; attributes: ReadonlyMap<string, string> }[];
  trace: TraceParent | undefined;
}

const NANOS_PER_MS = 1_000_000n;

/**
 * What became of builds. A build is remembered from its end on: one that the daemon does not live to see the end of
 * never was, as with BuildKit.
 */
export class BuildHistory implements HistoryPort, AsyncDisposable {
  readonly #deps: HistoryDeps;
  readonly #active = new Map<string, HistoryRecord>();
  readonly #events = new HistoryEvents();
  readonly #ending = new Set<Promise<void>>();
  #timer: Disposable | undefined;

  constructor(deps: HistoryDeps) {
    this.#deps = deps;
    this.#look();
  }

  /** Answers what is to be called at its end: from its return on clients are told of it. It never rejects. */
  begin(build: BegunBuild): (end: BuildEnd) => Promise<void> {
    const { ref, frontend, attributes, exporters, trace } = build;
    const record: HistoryRecord = {
      ref,
      frontend,
      attributes: shownAttributes(attributes),
      exporters: exporters.map((each) => ({ type: each.type, attributes: shownAttributes(each.attributes) })),
      createdNano: this.#deps.clock.nowNano(),
      response: {},
      results: {},
      generation: 0,
      isPinned: false,
      steps: { total: 0, completed: 0, cached: 0 },
      warnings: 0,
    };
    this.#active.set(ref, record);
    this.#events.tell({ type: 'started', record });
    return async (end) => {
      const ending = this.#end(record, trace, end);
      this.#ending.add(ending);
      await ending;
      this.#ending.delete(ending);
    };
  }

  async *listen(question: HistoryQuestion, signal: AbortSignal): AsyncGenerator<HistoryEvent> {
    const { ref, isActiveOnly, endsEarly, limit } = question;
    if (limit < 0) {
      throw invalidArgument(`invalid limit ${limit}`);
    }
    const test = historyTest(question.filters, this.#deps.clock.nowNano());
    using listener = this.#events.listen(ref);
    const known: HistoryEvent[] = [...this.#active.values()].map((record) => ({ type: 'started', record }));
    if (!isActiveOnly) {
      const all = this.#stored(ref).filter((record) => test(record));
      const newest = limit === 0 ? all : all.toSorted(byBeginning).slice(0, limit);
      known.push(...newest.map((record) => ({ type: 'complete' as const, record })));
    }
    yield* known.filter((event) => ref === '' || (event.type !== 'deleted' && event.record.ref === ref));
    if (!endsEarly) {
      yield* listener.read(signal);
    }
  }

  pin(ref: string, isPinned: boolean): void {
    const { table } = this.#deps;
    const record = this.#record(ref);
    const pinned = table.sizes().filter((row) => row.isPinned).length;
    if (isPinned && !record.isPinned && pinned >= limits.buildHistoryPinnedMax) {
      throw new EngineError(
        'resource_exhausted',
        `more than ${limits.buildHistoryPinnedMax} builds are pinned`,
      );
    }
    const changed = { ...record, isPinned, generation: record.generation + 1 };
    table.pin(ref, { isPinned, record: encodeJson(changed) });
    this.#events.tell({ type: 'complete', record: changed });
  }

  remove(ref: string): void {
    if (this.#deps.table.remove(ref)) {
      this.#events.tell({ type: 'deleted', ref });
      return;
    }
    throw this.#active.has(ref)
      ? new EngineError('failed_precondition', `build ${ref} is under way`)
      : notFound(`no such build record: ${ref}`);
  }

  async blob(digest: string): Promise<Buffer> {
    const row = this.#deps.table.blob(digest);
    if (row === undefined) {
      throw notFound(`content ${digest}: not found`);
    }
    return await openBlob(row);
  }

  blobBytes(digest: string): number {
    const bytes = this.#deps.table.blobSize(digest);
    if (bytes === undefined) {
      throw notFound(`content ${digest}: not found`);
    }
    return bytes;
  }

  /** What a build that has ended reported, as clients are sent it; undefined = it is not remembered. */
  log(ref: string): Promise<Iterable<Buffer>> | undefined {
    const text = this.#deps.table.record(ref);
    const log = text === undefined ? undefined : recordOf(text)?.log;
    return log && this.blob(log.digest).then(logMessages);
  }

  /** Waits for records that are being written; no more are looked through. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#timer?.[Symbol.dispose]();
    await Promise.all(this.#ending);
  }

  /** A record that cannot be kept is no failure of the build. */
  async #end(begun: HistoryRecord, trace: TraceParent | undefined, end: BuildEnd): Promise<void> {
    const { ref } = begun;
    try {
      const completedNano = this.#deps.clock.nowNano();
      const record = { ...begun, completedNano, ...countSteps(end.updates), response: textsOf(end.response) };
      const made = await makeBelongings(this.#deps, { record, parent: trace }, end);
      failpoint('build.history.put');
      const whole = this.#put({ ...record, ...made.facts }, made.blobs);
      this.#forget(ref, begun);
      this.#events.tell({ type: 'complete', record: whole });
      this.#prune();
    } catch (error) {
      this.#deps.log.warn({ reason: errorText(error), ref }, 'a build is not remembered');
      this.#forget(ref, begun);
      this.#events.tell({ type: 'deleted', ref });
    }
  }

  #forget(ref: string, begun: HistoryRecord): void {
    // Another build may have taken the name.
    if (this.#active.get(ref) === begun) {
      this.#active.delete(ref);
    }
  }

  #put(record: HistoryRecord & { completedNano: bigint }, blobs: readonly NewBlob[]): HistoryRecord {
    const { ref, completedNano, isPinned } = record;
    const text = encodeJson(record);
    const bytes = Buffer.byteLength(text);
    if (bytes > limits.buildHistoryRecordBytesMax) {
      throw new EngineError(
        'resource_exhausted',
        `its record takes ${bytes} bytes, more than ${limits.buildHistoryRecordBytesMax}`,
      );
    }
    const rows = blobs.map(({ row }) => row);
    const sizeBytes = rows.reduce((sum, { data }) => sum + data.length, bytes);
    const completedMs = Number(completedNano / NANOS_PER_MS);
    this.#deps.table.put({ ref, completedMs, isPinned, sizeBytes, record: text }, rows);
    return record;
  }

  /** Now, and again after a while. */
  #look(): void {
    this.#prune();
    this.#timer = this.#deps.clock.setTimeout(() => this.#look(), limits.buildHistoryLookMs);
  }

  /** Never throws. */
  #prune(): void {
    const { table, clock, kept, log } = this.#deps;
    const bounds = { ...kept, bytesMax: limits.buildHistoryBytesMax };
    try {
      for (const ref of toForget(table.sizes(), bounds, Number(clock.nowNano() / NANOS_PER_MS))) {
        failpoint('build.history.prune');
        this.remove(ref);
      }
    } catch (error) {
      log.warn({ reason: errorText(error) }, 'builds of long ago could not be forgotten');
    }
  }

  #record(ref: string): HistoryRecord {
    const text = this.#deps.table.record(ref);
    const record = text === undefined ? undefined : recordOf(text);
    if (record === undefined) {
      throw notFound(`no such build record: ${ref}`);
    }
    return record;
  }

  #stored(ref: string): HistoryRecord[] {
    const { table } = this.#deps;
    const one = ref === '' ? undefined : table.record(ref);
    const texts = ref === '' ? table.records() : one === undefined ? [] : [one];
    return texts.flatMap((text) => recordOf(text) ?? []);
  }
}

/** Undefined: the row is damaged. */
function recordOf(text: string): HistoryRecord | undefined {
  try {
    // The table holds what this program has written.
    return decodeJson(text) as HistoryRecord;
  } catch {
    // It says nothing that the engine needs.
    return undefined;
  }
}

function byBeginning(a: HistoryRecord, b: HistoryRecord): number {
  return a.createdNano < b.createdNano ? 1 : -1;
}

function textsOf(texts: ReadonlyMap<string, string>): Record<string, string> {
  return Object.fromEntries([...texts].map(([name, value]) => [name, value]));
}
