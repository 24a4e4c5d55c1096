import type { AttachContainer } from '../../api/types/swarm/networks.ts';
import type { Clock } from '../../daemon/base/clock.ts';
import { pause } from '../../daemon/base/concurrency/pause.ts';
import { EngineError, errorText, isEngineError } from '../../daemon/base/errors.ts';
import { failpoint } from '../../daemon/base/failpoint.ts';
import { limits } from '../../daemon/base/limits.ts';
import type { Logger } from '../../daemon/base/logger.ts';
import type {
  AttachAnswer,
  AttachedAnswer,
  AttachedContainer,
  AttachedRequest,
  AttachRequest,
  DetachRequest,
} from '../protocol/attachments.ts';
import type { Executor } from './executor.ts';
import type { NodeNetworks } from './ports.ts';
import type { OpenSession } from './session-client.ts';
import type { ToldEndpoints } from './told-endpoints.ts';

interface Deps {
  clock: Clock;
  logger: Logger;
  executor: Pick<Executor, 'attachments'>;
  endpoints: ToldEndpoints;
}

/** A container that waits for the leader's answer. */
interface Asked {
  wish: AttachContainer;
  /** The leader may have heard of it. */
  isSent: boolean;
  answer: (answer: AttachAnswer) => void;
  refuse: (error: unknown) => void;
}

/** A container that was let in, and the name or id by which it was asked for. */
interface Given extends AttachedContainer {
  asked: string;
}

type Place = Pick<AttachedContainer, 'network' | 'container'>;

/**
 * This node's containers in attachable networks. The leader is told one thing at a time: with a new session first all
 * that are there, then which have gone, then which ask to be let in. So a list never ends what was let in meanwhile.
 */
export class Attachments implements NodeNetworks, Disposable {
  readonly #deps: Deps;
  /** Let in by this agent: the engine may not know of it yet. By container and id of the network. */
  readonly #given = new Map<string, Given>();
  /** Gone, and the leader has not heard so. */
  readonly #untold = new Map<string, Place>();
  /** Gone, the leader has heard so, and the engine has them on its disk for a moment longer: no list names them. */
  readonly #leaving = new Set<string>();
  readonly #asked = new Set<Asked>();
  readonly #closed = new AbortController();
  #session: OpenSession | undefined;
  #isListDue = false;
  #isTelling = false;
  /** Called when something was told, or the session is over. */
  readonly #watchers = new Set<() => void>();

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  async attach(wish: AttachContainer, signal: AbortSignal): Promise<{ addresses: string[] }> {
    const { network } = wish;
    using late = this.#late();
    const ends = AbortSignal.any([signal, late.signal, this.#closed.signal]);
    const hadBefore = this.#givenFor(wish) !== undefined;
    const asked = this.#ask(wish);
    let answer: AttachAnswer | undefined;
    try {
      answer = await unlessAborted(asked.answered, ends);
      await unlessAborted(this.#deps.endpoints.wait(answer, ends), ends);
      return { addresses: answer.addresses };
    } catch (error) {
      this.#asked.delete(asked);
      if (!ends.aborted) {
        throw error;
      }
      if (asked.isSent && !hadBefore) {
        // Whether it was let in is not known, or is for nothing.
        this.#gone({ network: answer?.network ?? network, container: wish.container });
      }
      throw late.signal.aborted
        ? tooLate(network, answer !== undefined)
        : new EngineError('canceled', `Could not attach to network ${network}: canceled`);
    }
  }

  async detach(place: Place): Promise<void> {
    for (const asked of this.#asked) {
      if (asked.wish.container === place.container && asked.wish.network === place.network) {
        asked.refuse(new EngineError('canceled', `the container left network ${place.network} again`));
        this.#asked.delete(asked);
      }
    }
    const key = this.#gone(place);
    using timer = new Late(this.#deps.clock, limits.swarmDetachMs);
    const ends = AbortSignal.any([timer.signal, this.#closed.signal]);
    while (this.#untold.has(key) && this.#session !== undefined && !ends.aborted) {
      await this.#change(ends);
    }
  }

  /** A session has begun; it ends with the disposal of what is returned. */
  opened(session: OpenSession): Disposable {
    this.#session = session;
    this.#isListDue = true;
    this.#kick();
    return {
      [Symbol.dispose]: () => {
        if (this.#session === session) {
          this.#session = undefined;
          this.#changed();
        }
      },
    };
  }

  /** The daemon ends, or the node leaves: nothing is asked any more. */
  [Symbol.dispose](): void {
    this.#closed.abort();
  }

  #ask(wish: AttachContainer): Asked & { answered: Promise<AttachAnswer> } {
    let answer!: Asked['answer'];
    let refuse!: Asked['refuse'];
    const answered = new Promise<AttachAnswer>((resolve, reject) => {
      answer = resolve;
      refuse = reject;
    });
    const asked = { wish, isSent: false, answer, refuse, answered };
    this.#asked.add(asked);
    this.#kick();
    return asked;
  }

  /** Answers under which key the leader is to hear of it. */
  #gone({ network, container }: Place): string {
    const given = this.#givenFor({ network, container });
    const place = { network: given?.network ?? network, container };
    this.#given.delete(keyOf(place));
    this.#untold.set(keyOf(place), place);
    this.#kick();
    return keyOf(place);
  }

  #givenFor({ network, container }: Place): Given | undefined {
    return [...this.#given.values()].find(
      (given) => given.container === container && (given.network === network || given.asked === network),
    );
  }

  #kick(): void {
    if (this.#session === undefined || this.#isTelling) {
      return;
    }
    this.#isTelling = true;
    void this.#tell().catch((error: unknown) => {
      this.#isTelling = false;
      this.#deps.logger.error({ error: errorText(error) }, 'containers in networks are told no more');
    });
  }

  /** Until nothing is to be told, or there is no session. */
  async #tell(): Promise<void> {
    const { clock, logger } = this.#deps;
    let pauseMs: number = limits.swarmSessionRetryMs;
    for (;;) {
      const session = this.#session;
      // One that is about to end refuses each call at once: asking it again would let nothing else happen.
      const isOver = session?.signal.aborted === true || this.#closed.signal.aborted;
      const step = session && !isOver ? this.#next(session) : undefined;
      if (session === undefined || step === undefined) {
        this.#isTelling = false;
        return;
      }
      try {
        failpoint('swarm.agent.networks.ask');
        await step();
        pauseMs = limits.swarmSessionRetryMs;
      } catch (error) {
        const text = 'the leader has not heard of containers in networks yet';
        logger[isPassing(error) ? 'debug' : 'error']({ error: errorText(error) }, text);
        await pause(clock, pauseMs, AbortSignal.any([session.signal, this.#closed.signal]));
        pauseMs = Math.min(pauseMs * 2, limits.swarmSessionRetryMaxMs);
      }
      this.#changed();
    }
  }

  #next(session: OpenSession): (() => Promise<void>) | undefined {
    const [gone] = this.#untold;
    const [asked] = this.#asked;
    if (this.#isListDue) {
      return () => this.#tellAll(session);
    }
    if (gone !== undefined) {
      return () => this.#tellGone(session, ...gone);
    }
    return asked && (() => this.#tellAsked(session, asked));
  }

  async #tellAll({ id, client, signal }: OpenSession): Promise<void> {
    const known = await this.#known();
    const all = new Map<string, AttachedContainer>(known);
    this.#given.forEach((each, key) => known.has(key) || all.set(key, each));
    const attachments = [...all]
      .filter(([key]) => !this.#untold.has(key) && !this.#leaving.has(key))
      .map(([, { network, container, names, addresses }]) => ({
        network,
        container,
        names: [...names],
        addresses: [...addresses],
      }));
    const request: AttachedRequest = { session: id, attachments };
    // As the leader answers it, whose certificate was checked.
    const { refused } = (await client.call('networks.attached', request, { signal })) as AttachedAnswer;
    this.#isListDue = this.#session?.id !== id;
    for (const each of refused) {
      this.#deps.logger.error(each, 'other nodes do not reach a container in a network of the swarm');
    }
  }

  async #tellGone({ id, client, signal }: OpenSession, key: string, place: Place): Promise<void> {
    const request: DetachRequest = { session: id, ...place };
    try {
      await client.call('networks.detach', request, { signal });
    } catch (error) {
      if (isPassing(error)) {
        throw error;
      }
      this.#deps.logger.error({ ...place, error: errorText(error) }, 'a container stays in a network');
    }
    this.#leaving.add(key);
    await this.#known();
    // Not where it was let in and has gone once more meanwhile: then it is told again.
    if (this.#untold.get(key) === place) {
      this.#untold.delete(key);
    }
  }

  /** What the engine has. Those that it has no more, and those that were let in again, leave no longer. */
  async #known(): Promise<Map<string, AttachedContainer>> {
    const known = new Map((await this.#deps.executor.attachments()).map((each) => [keyOf(each), each]));
    for (const key of this.#leaving) {
      if (!known.has(key) || this.#given.has(key)) {
        this.#leaving.delete(key);
      }
    }
    return known;
  }

  async #tellAsked({ id, client, signal }: OpenSession, asked: Asked): Promise<void> {
    const { network, container, names, addresses } = asked.wish;
    const request: AttachRequest = { session: id, network, container, names, addresses };
    asked.isSent = true;
    try {
      // As above.
      const answer = (await client.call('networks.attach', request, { signal })) as AttachAnswer;
      if (this.#asked.delete(asked)) {
        const place = { network: answer.network, container };
        this.#given.set(keyOf(place), { ...place, names, addresses: answer.addresses, asked: network });
        asked.answer(answer);
      }
    } catch (error) {
      if (isPassing(error)) {
        throw error;
      }
      this.#asked.delete(asked);
      asked.refuse(error);
    }
  }

  #late(): Late {
    return new Late(this.#deps.clock, limits.swarmAttachMs);
  }

  /** Resolves when something may be another than it was, or at the signal. */
  #change(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        this.#watchers.delete(done);
        signal.removeEventListener('abort', done);
        resolve();
      };
      this.#watchers.add(done);
      signal.addEventListener('abort', done);
    });
  }

  #changed(): void {
    this.#watchers.forEach((done) => done());
  }
}

/** A signal that comes after a time. */
class Late implements Disposable {
  readonly #controller = new AbortController();
  readonly #timer: Disposable;

  constructor(clock: Clock, afterMs: number) {
    this.#timer = clock.setTimeout(() => this.#controller.abort(), afterMs);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  [Symbol.dispose](): void {
    this.#timer[Symbol.dispose]();
  }
}

function keyOf({ network, container }: Place): string {
  return `${network}/${container}`;
}

/** Whether the same may be taken later, by this or another manager. What is left is the leader's refusal. */
function isPassing(error: unknown): boolean {
  return (
    isEngineError(error) &&
    ['unavailable', 'deadline_exceeded', 'canceled', 'failed_precondition'].includes(error.code)
  );
}

/** In dockerd's words. */
function tooLate(network: string, isLetIn: boolean): EngineError {
  return new EngineError(
    'unavailable',
    isLetIn
      ? 'attaching to network failed, make sure your network options are correct and check manager logs: ' +
          'context deadline exceeded'
      : `Could not attach to network ${network}: context deadline exceeded`,
  );
}

function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(new EngineError('canceled', 'canceled'));
    signal.addEventListener('abort', stop, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop));
    if (signal.aborted) {
      stop();
    }
  });
}
