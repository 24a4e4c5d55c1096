import { withTimeout } from '../../../base/concurrency/timeout.ts';
import { withResolvers } from '../../../base/concurrency/with-resolvers.ts';
import type { Clock } from '../../../base/clock.ts';
import { EngineError, invalidArgument, notFound } from '../../../base/errors.ts';
import { limits } from '../../../base/limits.ts';
import { formatPlatform } from '../../../../storage/image/platform.ts';
import type { CacheKeeper } from '../../cache/keeper.ts';
import { platformOf } from '../../export/exported-image.ts';
import type { BegunBuild, BuildHistory } from '../../history/history.ts';
import type { BuildEnd } from '../../history/ports.ts';
import type { BuildLayers } from '../../ports.ts';
import { EndedBuilds } from './ended-builds.ts';
import { RunningBuild, type BuildFacts } from './running-build.ts';
import type { StatusLog } from '../status-log.ts';

interface RunningBuildsDeps {
  clock: Clock;
  history: BuildHistory;
  keeper: CacheKeeper;
  layers: BuildLayers;
}

/** Builds under way, by the names that their clients gave them. */
export class RunningBuilds {
  readonly #deps: RunningBuildsDeps;
  readonly #running = new Map<string, RunningBuild>();
  readonly #ended: EndedBuilds;
  readonly #waiting = new Set<() => void>();

  constructor(deps: RunningBuildsDeps) {
    this.#deps = deps;
    this.#ended = new EndedBuilds(deps.clock);
  }

  get(ref: string): RunningBuild | undefined {
    return this.#running.get(ref);
  }

  /** What one has reported, also for a while after its end. */
  logOf(ref: string): StatusLog | undefined {
    return this.#running.get(ref)?.vertices.log ?? this.#ended.find(ref);
  }

  /** A build is there for as long as its work lasts. `recorded`: what is remembered of it; undefined = nothing. */
  async during<T>(
    facts: BuildFacts,
    recorded: BegunBuild | undefined,
    signal: AbortSignal,
    work: (running: RunningBuild) => Promise<T>,
  ): Promise<T> {
    const { ref } = facts;
    this.#refuse(ref);
    const running = new RunningBuild(facts, this.#deps.clock);
    this.#running.set(ref, running);
    this.#ended.forget(ref);
    this.#waiting.forEach((tell) => tell());
    const record = recorded && this.#deps.history.begin(recorded);
    let failure: { error: unknown } | undefined;
    const abort = (): void => running.cancel('context canceled');
    signal.addEventListener('abort', abort, { once: true });
    if (signal.aborted) {
      abort();
    }
    try {
      return await work(running);
    } catch (error) {
      failure = { error };
      throw error;
    } finally {
      await running.containers.end();
      running.failed[Symbol.dispose]();
      await this.#deps.layers.idle();
      signal.removeEventListener('abort', abort);
      this.#running.delete(ref);
      running.end();
      this.#ended.keep(ref, running.vertices.log);
      this.#deps.keeper.collectSoon();
      // Clients ask for it as soon as they have their answer.
      await record?.({ ...endOf(running), ...failure });
    }
  }

  #refuse(ref: string): void {
    if (ref === '') {
      throw invalidArgument('the build has no name (Ref)');
    }
    if (this.#running.has(ref)) {
      throw new EngineError('conflict', `build ${ref} is under way already`);
    }
    if (this.#running.size >= limits.buildsMax) {
      throw new EngineError('resource_exhausted', `more than ${limits.buildsMax} builds are under way`);
    }
  }

  /** A build that may only be about to begin: clients ask for it at the same time. */
  async find(ref: string, signal: AbortSignal): Promise<RunningBuild> {
    const begun = withResolvers<undefined>();
    const tell = (): void => {
      if (this.#running.has(ref)) {
        begun.resolve(undefined);
      }
    };
    tell();
    const giveUp = (): void => begun.resolve(undefined);
    this.#waiting.add(tell);
    signal.addEventListener('abort', giveUp);
    try {
      await withTimeout(this.#deps.clock, begun.promise, limits.sessionWaitMs);
    } finally {
      this.#waiting.delete(tell);
      signal.removeEventListener('abort', giveUp);
    }
    signal.throwIfAborted();
    const running = this.#running.get(ref);
    if (running === undefined) {
      throw notFound(`no such build: ${ref}`);
    }
    return running;
  }
}

function endOf({ vertices, response, made, asked }: RunningBuild): BuildEnd {
  const images = made.map(({ config, sources, recipe }) => ({
    platform: formatPlatform(platformOf(config)),
    sources,
    recipe,
  }));
  return { updates: vertices.log.updates, response, asked, images };
}
