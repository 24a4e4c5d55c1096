import type { ClusterEventsPort } from '../../../../api/types/cluster/events.ts';
import type { EventPort } from '../../../../api/types/ports.ts';
import { systemClock } from '../../../base/clock.ts';
import { isEngineError } from '../../../base/errors.ts';
import type { Logger } from '../../../base/logger.ts';
import { Emitter, type EmitterDeps } from '../../../cluster/events/emit/emitter.ts';
import type { Happening } from '../../../cluster/events/emit/happening.ts';
import type { HealthNews } from '../../../cluster/targets/health/checker.ts';
import { happeningOf } from '../../../cluster/events/emit/engine-events.ts';
import { pause } from '../../../base/concurrency/pause.ts';
import { limits } from '../../../base/limits.ts';
import type { Telling } from './task-teller.ts';
import { occurrenceOf } from '../../../base/occurrence.ts';
import type { FailedPull } from '../../../images/pull/failed-pull.ts';
import { ToldPlace } from './told-place.ts';
import { WorkerEvents } from './worker-events.ts';
import type { ManagerEvents } from '../../../../swarm/told-events/ports.ts';

interface Deps {
  engine: EventPort;
  /** Where it is written down how far they were told. */
  meta: ConstructorParameters<typeof ToldPlace>[0]['meta'];
  /** This host is a worker of a swarm; then the managers are told. */
  isWorker: () => boolean;
  managers: ManagerEvents;
  /** See `Emitter`. */
  audit: EmitterDeps['audit'];
  /** Throws unavailable while there are none. */
  events: () => ClusterEventsPort;
  log: Logger;
  /** Name of this host. */
  hostname: string;
}

/** Tells what the engine tells as events of the cluster too, until it is disposed of. */
export function tellEvents({
  engine,
  events,
  log,
  hostname,
  meta,
  audit,
  isWorker,
  managers,
}: Deps): Telling & Disposable {
  const emitter = new Emitter({
    events: () => {
      try {
        return events();
      } catch (error) {
        if (isEngineError(error, 'unavailable')) {
          return undefined;
        }
        throw error;
      }
    },
    clock: systemClock,
    log,
    instance: () => hostname,
    ...(audit && { audit }),
  });
  const place = new ToldPlace({ meta, clock: systemClock, log });
  const end = new AbortController();
  const { signal } = end;
  const workers = new WorkerEvents({ managers, isWorker, clock: systemClock, log, signal });
  void tellAll(engine, { emitter, workers, place, log, signal }).catch((error: unknown) => {
    log.error({ err: error }, 'events of the engine are not told to the cluster any more');
  });
  return {
    tell: (happening) => {
      emitter.tell(happening).catch((error: unknown) => {
        log.error({ err: error }, 'something that has happened was not told to the cluster');
      });
    },
    told: (happening) => emitter.tell(happening),
    get isBusy() {
      return emitter.isBusy;
    },
    [Symbol.dispose]: () => {
      end.abort();
      emitter[Symbol.dispose]();
      place[Symbol.dispose]();
    },
  };
}

interface Told {
  emitter: Emitter;
  workers: WorkerEvents;
  place: ToldPlace;
  log: Logger;
  signal: AbortSignal;
}

/** What an earlier daemon has not told to its end is told first. */
async function tellAll(engine: EventPort, { emitter, workers, place, log, signal }: Told): Promise<void> {
  while (!signal.aborted) {
    try {
      for await (const message of engine.stream({ since: place.since, filters: new Map(), signal })) {
        const happening = happeningOf(message);
        if (happening === undefined) {
          place.pass(message.timeNano);
          continue;
        }
        const isBusy = (): boolean => (workers.isWorker ? workers.isBusy : emitter.isBusy);
        while (isBusy() && !signal.aborted) {
          await pause(systemClock, limits.clusterTellWaitMs, signal);
        }
        if (!signal.aborted) {
          const isOfNode = workers.isWorker && message.scope === 'local';
          const telling = isOfNode ? workers.tell(message) : emitter.tell(happening);
          place.tell(message.timeNano, telling).catch((error: unknown) => {
            log.error({ err: error }, 'it is not known how far events were told to the cluster');
          });
        }
      }
      return;
    } catch (error) {
      // More at once than a reader is told: it goes on where it was.
      if (!isEngineError(error, 'resource_exhausted')) {
        throw error;
      }
    }
  }
}

/** What the health of a target is to the cluster. */
export function healthHappening({ group, target, health }: HealthNews, atNano: bigint): Happening {
  const isHealthy = health.status === 'HEALTHY';
  const reason = health.reasonCode === undefined ? '' : ` (${health.reasonCode})`;
  return {
    atNano,
    namespace: 'default',
    regarding: { kind: 'TargetGroup', namespace: 'default', name: group.name, uid: group.id },
    related: { kind: 'Target', name: target.id, uid: `${target.id}:${target.port ?? ''}` },
    type: isHealthy ? 'Normal' : 'Warning',
    reason: isHealthy ? 'TargetHealthy' : 'TargetUnhealthy',
    action: 'Probe',
    note: `target ${target.id} of ${group.name} is ${isHealthy ? 'healthy' : `not healthy${reason}`}`,
    part: 'health',
  };
}

/** What a pull that has failed is to the cluster. */
export function pullHappening({ name, reason }: FailedPull, atNano: bigint): Happening {
  return {
    atNano,
    namespace: 'default',
    id: occurrenceOf('pull', name, reason, String(atNano)),
    regarding: { kind: 'Image', namespace: 'default', name, uid: name },
    type: 'Warning',
    reason: 'Failed',
    action: 'Pull',
    note: `image ${name} could not be pulled: ${reason}`,
    part: 'images',
  };
}
