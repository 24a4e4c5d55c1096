import type { ContainerStats } from '../../../api/types/container-stats.ts';
import type { HostCpu } from '../../../runtime/cgroups/sample.ts';
import type { Container } from '../state/container.ts';
import type { ContainerContext } from '../context.ts';
import { Sampler } from '../stats/sampler.ts';
import type { Subscription, Reading } from '../stats/sampler.ts';
import { statsView } from '../stats/view.ts';
import type { StatsSubject } from '../stats/view.ts';
import { isLive } from '../state/state-facts.ts';

/** How long a look at the host's processors serves for the containers looked at next. */
const HOST_CPU_VALID_MS = 20;

/** Samples containers for all clients that read statistics. */
export function containerSampler(
  context: Pick<ContainerContext, 'clock' | 'turns' | 'runtime' | 'log'>,
): Sampler<Container> {
  const { clock, turns, runtime, log } = context;
  let host: HostCpu = { totalNs: 0, online: 0 };
  let hostAtMs = Number.NEGATIVE_INFINITY;
  return new Sampler({
    clock,
    turns,
    log,
    read: ({ id, state }): Reading => {
      const atNano = clock.nowNano();
      if (clock.monotonicMs() - hostAtMs > HOST_CPU_VALID_MS) {
        host = runtime.control.hostCpu();
        hostAtMs = clock.monotonicMs();
      }
      try {
        const sample = isLive(state) ? runtime.control.sample(id, state.process.pid) : undefined;
        return { atNano, host, sample };
      } catch (error) {
        // One container that cannot be looked at must not stop the others' statistics.
        log.error({ container: id, err: error }, 'statistics could not be read');
        return { atNano, host, sample: undefined };
      }
    },
  });
}

/** One set of statistics: with what was before it (which takes a second), or alone (`oneShot`). */
export async function containerStats(
  context: ContainerContext,
  ref: string,
  { oneShot, signal }: { oneShot: boolean; signal: AbortSignal },
): Promise<ContainerStats> {
  const container = context.registry.find(ref);
  if (!isLive(container.state)) {
    return statsView(subjectOf(context, container), undefined, undefined);
  }
  if (oneShot) {
    return statsView(subjectOf(context, container), context.sampler.once(container), undefined);
  }
  using subscription = subscribe(context, container, signal);
  const first = await subscription.next();
  const second = await subscription.next();
  return statsView(subjectOf(context, container), second ?? first, second && first);
}

/**
 * Statistics each second, zeroes while the container does not run, until it is removed or `signal`. A client that reads
 * slowly gets fewer of them. Throws not_found at once.
 */
export function containerStatsStream(
  context: ContainerContext,
  ref: string,
  options: { signal: AbortSignal },
): AsyncIterable<ContainerStats> {
  return readings(context, context.registry.find(ref), options.signal);
}

async function* readings(
  context: ContainerContext,
  container: Container,
  signal: AbortSignal,
): AsyncGenerator<ContainerStats> {
  using subscription = subscribe(context, container, signal);
  let previous: Reading | undefined;
  for (;;) {
    const reading = await subscription.next();
    if (reading === undefined) {
      return;
    }
    yield statsView(subjectOf(context, container), reading, previous);
    previous = reading;
  }
}

/** Ends with the container, and with the client. */
function subscribe(
  { sampler, waiters }: ContainerContext,
  container: Container,
  signal: AbortSignal,
): Disposable & Pick<Subscription, 'next'> {
  const subscription = sampler.subscribe(container);
  const end = (): void => subscription.end();
  const removal = waiters.wait(container.id, container.state, 'removed');
  // The end of the wait, whichever it is, ends them.
  void removal.done.then(end).catch(end);
  signal.addEventListener('abort', end, { once: true });
  if (signal.aborted) {
    end();
  }
  return {
    next: () => subscription.next(),
    [Symbol.dispose]: () => {
      removal.cancel();
      signal.removeEventListener('abort', end);
      subscription[Symbol.dispose]();
    },
  };
}

function subjectOf({ facts }: ContainerContext, { id, name, state }: Container): StatsSubject {
  return {
    id,
    name,
    cgroupVersion: facts.cgroup.version,
    memoryBytes: facts.memoryBytes,
    ownNetwork: isLive(state) && state.sandbox.netnsPath !== null,
  };
}
