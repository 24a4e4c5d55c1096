import type { ClusterEvent, ClusterEventsPort } from '../../../../api/types/cluster/events.ts';
import { formatNano, type Clock } from '../../../base/clock.ts';
import { errorText, isEngineError } from '../../../base/errors.ts';
import { failpoint } from '../../../base/failpoint.ts';
import { limits } from '../../../base/limits.ts';
import type { Logger } from '../../../base/logger.ts';
import type { Happening } from './happening.ts';

export interface EmitterDeps {
  /** Undefined while there are none. */
  events: () => ClusterEventsPort | undefined;
  clock: Clock;
  log: Logger;
  /** Who tells: of a node. */
  instance: () => string;
}

/** The same that happens again and again, as one event (Kubernetes: `EventSeries`). */
interface Series {
  namespace: string;
  name: string;
  count: number;
  lastNano: bigint;
  /** What was told of it. */
  toldCount: number;
  lastMs: number;
}

/** What one object may tell at once, and how soon it may tell more. */
interface Bucket {
  left: number;
  filledMs: number;
}

/**
 * Tells what happens in the engine as events of the cluster. What repeats within some minutes becomes a series, which
 * is written at most every few seconds. Whoever tells much is cut short, and what is told too fast to be stored is left
 * out and counted: telling neither blocks the engine nor fills the disk.
 */
export class Emitter implements Disposable {
  readonly #deps: EmitterDeps;
  /** By what is the same, the least recent first. */
  readonly #series = new Map<string, Series>();
  /** By object, the least recent first. */
  readonly #buckets = new Map<string, Bucket>();
  #underWay = 0;
  #leftOut = 0;
  #timer: Disposable | undefined;
  #isClosed = false;

  constructor(deps: EmitterDeps) {
    this.#deps = deps;
    this.#later();
  }

  /** Never throws, and waits for nothing. */
  tell(happening: Happening): void {
    const events = this.#deps.events();
    if (events === undefined || this.#isClosed) {
      return;
    }
    const nowMs = this.#deps.clock.monotonicMs();
    const key = keyOf(happening);
    const series = this.#series.get(key);
    if (
      happening.once === undefined &&
      series !== undefined &&
      nowMs - series.lastMs < limits.clusterSeriesWindowMs
    ) {
      series.count += 1;
      series.lastNano = happening.atNano;
      series.lastMs = nowMs;
      return;
    }
    if (this.#underWay >= limits.clusterTellsMax || !this.#mayTell(happening, nowMs)) {
      this.#leftOut += 1;
      return;
    }
    const name = nameOf(happening);
    const { namespace, atNano } = happening;
    if (happening.once !== undefined) {
      this.#run(this.#tellOnce(events, happening, name));
      return;
    }
    keep(this.#series, key, {
      namespace,
      name,
      count: 1,
      lastNano: atNano,
      toldCount: 1,
      lastMs: nowMs,
    });
    this.#run(this.#create(events, happening, name));
  }

  [Symbol.dispose](): void {
    this.#isClosed = true;
    this.#timer?.[Symbol.dispose]();
  }

  #mayTell({ namespace, regarding }: Happening, nowMs: number): boolean {
    const key = `${regarding.kind} ${namespace} ${regarding.uid ?? regarding.name}`;
    const known = this.#buckets.get(key) ?? { left: limits.clusterTellsBurst, filledMs: nowMs };
    const more = Math.floor((nowMs - known.filledMs) / limits.clusterTellEveryMs);
    const left = Math.min(limits.clusterTellsBurst, known.left + more);
    const filledMs = more > 0 ? nowMs : known.filledMs;
    keep(this.#buckets, key, { left: Math.max(0, left - 1), filledMs });
    return left > 0;
  }

  async #create(events: ClusterEventsPort, happening: Happening, name: string): Promise<void> {
    failpoint('cluster.events.tell');
    const { namespace, regarding, related, type, reason, action, note, part, atNano, id } = happening;
    const event: ClusterEvent = {
      metadata: { name, namespace, ...(id !== undefined && { annotations: { [OCCURRENCE]: id } }) },
      eventTime: micro(atNano),
      reportingController: `berth.engine/${part}`,
      reportingInstance: this.#deps.instance().slice(0, NAME_MAX),
      action,
      reason,
      regarding,
      ...(related && { related }),
      note: note.slice(0, NOTE_MAX),
      type,
    };
    await events.create(event, WRITE);
  }

  /** What other managers tell as well: the first creates it, and the first that hears of it again counts. */
  async #tellOnce(events: ClusterEventsPort, happening: Happening, name: string): Promise<void> {
    try {
      await this.#create(events, happening, name);
    } catch (error) {
      if (happening.mayRepeat !== true || !isEngineError(error, 'conflict')) {
        throw error;
      }
      const { namespace, atNano } = happening;
      // Not found: another manager has told it, which is not heard of here yet, or it is gone again.
      const { text, revision } = events.get(namespace, name);
      const { series, eventTime } = seenBefore(text);
      const at = micro(atNano);
      if (Date.parse(at) - Date.parse(series?.lastObservedTime ?? eventTime) < limits.clusterSameMs) {
        return;
      }
      await events.patch(namespace, name, {
        ...WRITE,
        kind: 'merge',
        body: {
          metadata: { resourceVersion: String(revision) },
          series: { count: (series?.count ?? 1) + 1, lastObservedTime: at },
        },
        isForced: false,
        check: (event) => event,
      });
    }
  }

  /** Writes what series have grown by. */
  #grow(): void {
    const events = this.#deps.events();
    if (events === undefined) {
      return;
    }
    for (const series of this.#series.values()) {
      if (series.count > series.toldCount && this.#underWay < limits.clusterTellsMax) {
        series.toldCount = series.count;
        this.#run(this.#update(events, series));
      }
    }
    if (this.#leftOut > 0) {
      this.#deps.log.warn(
        { events: this.#leftOut },
        'too much happened to tell all of it as events of the cluster',
      );
      this.#leftOut = 0;
    }
  }

  async #update(events: ClusterEventsPort, { namespace, name, count, lastNano }: Series): Promise<void> {
    const series = { count, lastObservedTime: micro(lastNano) };
    await events.patch(namespace, name, {
      ...WRITE,
      kind: 'merge',
      body: { series },
      isForced: false,
      check: (event) => event,
    });
  }

  #run(telling: Promise<void>): void {
    this.#underWay += 1;
    void telling
      .catch((error: unknown) => {
        // Another manager told it, or the series has gone with its time.
        if (!isEngineError(error, 'conflict') && !isEngineError(error, 'not_found')) {
          this.#leftOut += 1;
          this.#deps.log.debug({ reason: errorText(error) }, 'an event of the cluster was not told');
        }
      })
      .finally(() => {
        this.#underWay -= 1;
      })
      .catch((error: unknown) => this.#deps.log.error({ err: error }, 'telling events failed'));
  }

  #later(): void {
    this.#timer = this.#deps.clock.setTimeout(() => {
      this.#grow();
      if (!this.#isClosed) {
        this.#later();
      }
    }, limits.clusterSeriesPaceMs);
  }
}

const WRITE = { fields: 'events', isDryRun: false, manager: undefined } as const;
const OCCURRENCE = 'berth.engine/occurrence';
const NAME_MAX = 128;
/** Bytes are what counts: no character of a name has more than four. */
const NOTE_MAX = 250;

/** Of an event that this engine has told. */
function seenBefore(text: string): {
  eventTime: string;
  series?: { count: number; lastObservedTime: string };
} {
  return JSON.parse(text);
}

/** Puts an entry last, and forgets the first of too many. */
function keep<T>(map: Map<string, T>, key: string, value: T): void {
  map.delete(key);
  map.set(key, value);
  if (map.size > limits.clusterTellersRemembered) {
    const [first] = map.keys();
    map.delete(first ?? '');
  }
}

function keyOf({ namespace, regarding, related, type, reason, action, part }: Happening): string {
  const about = [regarding.kind, regarding.uid ?? regarding.name, related?.uid ?? ''];
  return JSON.stringify([part, namespace, ...about, type, reason, action]);
}

/** As client-go: the object's name and the time in hexadecimal digits. The same on all managers. */
function nameOf({ regarding, atNano, once }: Happening): string {
  const base = (regarding.name ?? '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9.-]+/g, '-')
    .replaceAll(/(^|\.)[-.]+|[-.]+(?=\.|$)/g, '$1')
    .replaceAll(/^[-.]+|[-.]+$/g, '')
    .slice(0, 200)
    .replaceAll(/[-.]+$/g, '');
  return `${base === '' ? 'event' : base}.${once ?? atNano.toString(16)}`;
}

function micro(nano: bigint): string {
  return `${formatNano(nano).slice(0, 26)}Z`;
}
