import type { ClusterEvent, ClusterEventsPort } from '../../../../api/types/cluster/events.ts';
import { formatNano, type Clock } from '../../../base/clock.ts';
import { errorText, isEngineError } from '../../../base/errors.ts';
import { failpoint } from '../../../base/failpoint.ts';
import { limits } from '../../../base/limits.ts';
import type { Logger } from '../../../base/logger.ts';
import { Buckets, keep } from './buckets.ts';
import type { Happening } from './happening.ts';

export interface EmitterDeps {
  /** Undefined while there are none. */
  events: () => ClusterEventsPort | undefined;
  clock: Clock;
  log: Logger;
  /** Who tells: of a node. */
  instance: () => string;
  /** Writes down what has happened for root, durably; undefined = nobody does. */
  audit?: (happening: Happening) => Promise<void>;
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
  lastId: string | undefined;
  lastCause: string | undefined;
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
  readonly #told = new Buckets(RULES);
  readonly #audited = new Buckets(RULES);
  #underWay = 0;
  #leftOut = 0;
  #timer: Disposable | undefined;
  #isClosed = false;

  constructor(deps: EmitterDeps) {
    this.#deps = deps;
    this.#later();
  }

  /** Nothing can be told now, or so much is on its way that whoever can wait should. */
  get isBusy(): boolean {
    return this.#underWay >= limits.clusterTellsMax / 2 || this.#deps.events() === undefined;
  }

  /** Never throws. Resolves when it is durable, or left out; never rejects. */
  async tell(happening: Happening): Promise<void> {
    await Promise.all([this.#tellEvents(happening), this.#tellAudit(happening)]);
  }

  [Symbol.dispose](): void {
    this.#isClosed = true;
    this.#timer?.[Symbol.dispose]();
  }

  #tellAudit(happening: Happening): Promise<void> {
    const { audit, clock } = this.#deps;
    if (
      audit === undefined ||
      this.#isClosed ||
      !this.#audited.take(objectOf(happening), clock.monotonicMs())
    ) {
      return Promise.resolve();
    }
    return audit(happening).catch((error: unknown) => {
      this.#leftOut += 1;
      this.#deps.log.debug({ reason: errorText(error) }, 'what has happened was not written down for root');
    });
  }

  /** What is told is on its way when this returns. */
  #tellEvents(happening: Happening): Promise<void> {
    const events = this.#deps.events();
    if (events === undefined || this.#isClosed) {
      return Promise.resolve();
    }
    const nowMs = this.#deps.clock.monotonicMs();
    const key = keyOf(happening);
    const known = this.#series.get(key);
    if (
      happening.once === undefined &&
      known !== undefined &&
      nowMs - known.lastMs < limits.clusterSeriesWindowMs
    ) {
      known.count += 1;
      known.lastNano = happening.atNano;
      known.lastMs = nowMs;
      known.lastId = happening.id;
      known.lastCause = happening.cause;
      return Promise.resolve();
    }
    if (this.#underWay >= limits.clusterTellsMax || !this.#told.take(objectOf(happening), nowMs)) {
      this.#leftOut += 1;
      return Promise.resolve();
    }
    const name = nameOf(happening);
    const { namespace, atNano } = happening;
    if (happening.once !== undefined) {
      return this.#run(this.#tellOnce(events, happening, name));
    }
    const series = {
      namespace,
      name,
      count: 1,
      lastNano: atNano,
      toldCount: 1,
      lastMs: nowMs,
      lastId: happening.id,
      lastCause: happening.cause,
    };
    keep(this.#series, key, series, limits.clusterTellersRemembered);
    return this.#run(this.#create(events, happening, name));
  }

  async #create(events: ClusterEventsPort, happening: Happening, name: string): Promise<void> {
    failpoint('cluster.events.tell');
    const { namespace, regarding, related, type, reason, action, note, part, atNano, id, cause, instance } =
      happening;
    const annotations = {
      ...(id !== undefined && { [OCCURRENCE]: id }),
      ...(cause !== undefined && { [CAUSE]: cause }),
    };
    const hasAny = Object.keys(annotations).length > 0;
    const event: ClusterEvent = {
      metadata: { name, namespace, ...(hasAny && { annotations }) },
      eventTime: micro(atNano),
      reportingController: `berth.engine/${part}`,
      reportingInstance: (instance ?? this.#deps.instance()).slice(0, NAME_MAX),
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
    if (happening.mayRepeat !== true && isKnown(events, happening.namespace, name)) {
      return;
    }
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
        this.#run(this.#update(events, series)).catch((error: unknown) => {
          this.#deps.log.error({ err: error }, 'a series of the cluster was not written');
        });
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

  async #update(events: ClusterEventsPort, told: Series): Promise<void> {
    const { namespace, name, count, lastNano, lastId, lastCause } = told;
    const series = { count, lastObservedTime: micro(lastNano) };
    const annotations = {
      ...(lastId !== undefined && { [LAST_OCCURRENCE]: lastId }),
      ...(lastCause !== undefined && { [CAUSE]: lastCause }),
    };
    await events.patch(namespace, name, {
      ...WRITE,
      kind: 'merge',
      body: { series, metadata: { annotations } },
      isForced: false,
      check: (event) => event,
    });
  }

  /** Never rejects. */
  async #run(telling: Promise<void>): Promise<void> {
    this.#underWay += 1;
    await telling
      .catch((error: unknown) => {
        // Another manager told it, or the series has gone with its time.
        if (!isEngineError(error, 'conflict') && !isEngineError(error, 'not_found')) {
          this.#leftOut += 1;
          this.#deps.log.debug({ reason: errorText(error) }, 'an event of the cluster was not told');
        }
      })
      .finally(() => {
        this.#underWay -= 1;
      });
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
/** Of the newest of a series. */
const LAST_OCCURRENCE = 'berth.engine/last-occurrence';
const CAUSE = 'berth.engine/cause';
const RULES = {
  burst: limits.clusterTellsBurst,
  everyMs: limits.clusterTellEveryMs,
  remembered: limits.clusterTellersRemembered,
};
const NAME_MAX = 128;
/** Bytes are what counts: no character of a name has more than four. */
const NOTE_MAX = 250;

/** Another manager has told it. */
function isKnown(events: ClusterEventsPort, namespace: string, name: string): boolean {
  try {
    events.get(namespace, name);
    return true;
  } catch (error) {
    if (isEngineError(error, 'not_found')) {
      return false;
    }
    throw error;
  }
}

/** Of an event that this engine has told. */
function seenBefore(text: string): {
  eventTime: string;
  series?: { count: number; lastObservedTime: string };
} {
  return JSON.parse(text);
}

function objectOf({ namespace, regarding }: Happening): string {
  return `${regarding.kind} ${namespace} ${regarding.uid ?? regarding.name}`;
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
