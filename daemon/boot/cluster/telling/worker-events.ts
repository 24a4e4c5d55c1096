import type { EventMessage } from '../../../../api/types/system.ts';
import type { ToldEvent } from '../../../../swarm/protocol/told-events.ts';
import type { ManagerEvents } from '../../../../swarm/told-events/ports.ts';
import type { Clock } from '../../../base/clock.ts';
import { pause } from '../../../base/concurrency/pause.ts';
import { errorText } from '../../../base/errors.ts';
import { limits } from '../../../base/limits.ts';
import type { Logger } from '../../../base/logger.ts';
import { OCCURRENCE } from '../../../base/occurrence.ts';
import { STACK_LABEL } from '../../../cluster/events/emit/engine-events.ts';

interface Deps {
  managers: ManagerEvents;
  /** This host is a worker of a swarm: the managers have its events. */
  isWorker: () => boolean;
  clock: Clock;
  log: Logger;
  signal: AbortSignal;
}

interface Waiting {
  event: ToldEvent;
  resolve: () => void;
}

/** What of an event its happening is made of. */
const ATTRIBUTES = ['name', 'exitCode', 'container', STACK_LABEL, OCCURRENCE];

/** Tells the managers what happens on this host while it is a worker: some at a time, until one takes it. */
export class WorkerEvents {
  readonly #deps: Deps;
  #waiting: Waiting[] = [];
  #isTelling = false;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  get isWorker(): boolean {
    return this.#deps.isWorker();
  }

  get isBusy(): boolean {
    return this.#waiting.length >= limits.clusterTellsMax;
  }

  /** Resolves when a manager has it, or it is given up: this host is no worker any more. Never rejects. */
  tell(message: EventMessage): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push({ event: toldEvent(message), resolve });
      this.#pump().catch((error: unknown) => {
        this.#deps.log.error({ err: error }, 'events of this worker are not told to the managers any more');
      });
    });
  }

  async #pump(): Promise<void> {
    if (this.#isTelling) {
      return;
    }
    this.#isTelling = true;
    const { clock, log, managers, signal } = this.#deps;
    try {
      // Those of a moment go together.
      await pause(clock, limits.clusterTellWaitMs, signal);
      while (this.#waiting.length > 0 && !signal.aborted) {
        const some = this.#waiting.slice(0, limits.swarmToldEventsMax);
        if (this.isWorker) {
          try {
            await managers.tell(
              some.map(({ event }) => event),
              signal,
            );
          } catch (error) {
            log.debug(
              { reason: errorText(error) },
              'the managers were not told what happened on this worker',
            );
            await pause(clock, limits.clusterWorkerRetryMs, signal);
            continue;
          }
        }
        this.#waiting.splice(0, some.length);
        some.forEach(({ resolve }) => resolve());
      }
    } finally {
      this.#isTelling = false;
    }
  }
}

function toldEvent({ Type, Action, Actor, timeNano }: EventMessage): ToldEvent {
  const attributes = ATTRIBUTES.flatMap((name) => {
    const value = Actor.Attributes[name];
    return value === undefined ? [] : [[name, value.slice(0, limits.swarmToldTextMax)]];
  });
  return {
    type: Type,
    action: Action.slice(0, limits.swarmToldTextMax),
    actor: Actor.ID,
    attributes: Object.fromEntries(attributes),
    timeNano: String(timeNano),
  };
}
