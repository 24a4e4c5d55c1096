import { EngineError, notFound } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import type { GatewayContainer } from './gateway-container.ts';

interface Named {
  made: Promise<GatewayContainer>;
  /** What it waits for. */
  stop: AbortController;
}

/** Containers that the client of one build has asked for, by the names that it gave them. */
export class ContainersOfBuild {
  readonly #containers = new Map<string, Named>();
  #isOver = false;

  /**
   * `make`'s signal fires when the container is released, also before it is made; `signal`: nobody waits until it is
   * made. Throws conflict for a name that is taken, and what `make` throws.
   */
  async add(
    id: string,
    make: (released: AbortSignal) => Promise<GatewayContainer>,
    signal: AbortSignal,
  ): Promise<void> {
    if (this.#isOver) {
      throw new EngineError('canceled', 'the build is over');
    }
    if (this.#containers.has(id)) {
      throw new EngineError('conflict', `Container ${id} already exists`);
    }
    if (this.#containers.size >= limits.buildContainersMax) {
      throw new EngineError(
        'resource_exhausted',
        `more than ${limits.buildContainersMax} containers of a build`,
      );
    }
    signal.throwIfAborted();
    const stop = new AbortController();
    const giveUp = (): void => stop.abort(signal.reason);
    signal.addEventListener('abort', giveUp, { once: true });
    const named = { stop, made: make(stop.signal) };
    this.#containers.set(id, named);
    try {
      await named.made;
    } catch (error) {
      // By then the name may be that of another one.
      if (this.#containers.get(id) === named) {
        this.#containers.delete(id);
      }
      throw error;
    } finally {
      signal.removeEventListener('abort', giveUp);
    }
  }

  /** Throws not_found. */
  async find(id: string): Promise<GatewayContainer> {
    const found = await this.#containers.get(id)?.made;
    if (found === undefined) {
      throw notFound(`container ${JSON.stringify(id)} previously released or not created`);
    }
    return found;
  }

  /** Resolves when nothing is left of it. Throws not_found. */
  async release(id: string): Promise<void> {
    const found = this.#containers.get(id);
    this.#containers.delete(id);
    if (found === undefined) {
      throw notFound(`container details for ${id} not found`);
    }
    await release(found);
  }

  /** Of all that are left. No further one is made. */
  async end(): Promise<void> {
    this.#isOver = true;
    const all = [...this.#containers.values()];
    this.#containers.clear();
    await Promise.allSettled(all.map(async (named) => await release(named)));
  }
}

async function release({ made, stop }: Named): Promise<void> {
  stop.abort(new EngineError('canceled', 'the container is released'));
  // Where it was not made nothing is left, and who asked for it is told.
  const container = await made.catch(() => undefined /* see above */);
  await container?.release();
}
