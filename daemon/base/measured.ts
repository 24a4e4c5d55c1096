import { channel } from 'node:diagnostics_channel';
import { isEngineError } from './errors.ts';

/** What is measured: the only values that labels of metrics can have. */
export const ACTIONS = {
  container: ['create', 'start', 'stop', 'restart', 'kill', 'delete', 'commit', 'changes'],
  image: ['pull', 'push', 'load', 'import', 'delete'],
  network: ['allocate', 'connect', 'release'],
  builder: ['build'],
  health: ['probe'],
} as const;

export type Subject = keyof typeof ACTIONS;
export type Action<S extends Subject> = (typeof ACTIONS)[S][number];

/** An action that is over. */
export interface Measurement {
  subject: Subject;
  action: string;
  seconds: number;
  /** Why it failed; undefined = it did not. */
  failure: string | undefined;
}

/** Has a listener only where metrics are configured; without one nothing is measured and nothing is made. */
const over = channel('berth.action.over');

/** Does the work and reports to the listener how long it took, but not when there was nothing to do (not_modified). */
export async function measured<S extends Subject, T>(
  subject: S,
  action: Action<S>,
  work: () => Promise<T>,
): Promise<T> {
  if (!over.hasSubscribers) {
    return await work();
  }
  const tell = stopwatch(subject, action);
  try {
    const result = await work();
    tell(undefined);
    return result;
  } catch (error) {
    if (!isEngineError(error, 'not_modified')) {
      tell(String(error));
    }
    throw error;
  }
}

/**
 * The same of work that tells its progress, `failureOf` being what a message says of a failure. A reader that leaves is
 * a failure too.
 */
export async function* measuredMessages<S extends Subject, T>(
  subject: S,
  action: Action<S>,
  messages: AsyncIterable<T>,
  failureOf: (message: T) => string | undefined,
): AsyncGenerator<T, void, void> {
  if (!over.hasSubscribers) {
    yield* messages;
    return;
  }
  const tell = stopwatch(subject, action);
  let failure: string | undefined = 'canceled';
  try {
    let said: string | undefined;
    for await (const message of messages) {
      said = failureOf(message) ?? said;
      yield message;
    }
    failure = said;
  } catch (error) {
    failure = String(error);
    throw error;
  } finally {
    tell(failure);
  }
}

/** A measurement whose time says nothing. */
export function tellMeasured<S extends Subject>(
  subject: S,
  action: Action<S>,
  failure: string | undefined,
): void {
  if (over.hasSubscribers) {
    stopwatch(subject, action)(failure);
  }
}

/** Listens to all of them, until disposed. */
export function onMeasured(listener: (measurement: Measurement) => void): Disposable {
  // Only `stopwatch` publishes here.
  const onMessage = (message: unknown): void => listener(message as Measurement);
  over.subscribe(onMessage);
  return { [Symbol.dispose]: () => over.unsubscribe(onMessage) };
}

function stopwatch(subject: Subject, action: string): (failure: string | undefined) => void {
  const begunMs = performance.now();
  return (failure) => {
    const seconds = (performance.now() - begunMs) / 1000;
    over.publish({ subject, action, seconds, failure } satisfies Measurement);
  };
}
