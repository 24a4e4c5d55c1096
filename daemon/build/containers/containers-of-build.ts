import { EngineError, notFound } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import type { GatewayContainer } from './gateway-container.ts';

/** Containers that the client of one build has asked for, by the names that it gave them. */
export class ContainersOfBuild {
  readonly #containers = new Map<string, Promise<GatewayContainer>>();
  #isOver = false;

  /** Throws conflict for a name that is taken, and what `make` throws. */
  async add(id: string, make: () => Promise<GatewayContainer>): Promise<void> {
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
    const made = make();
    this.#containers.set(id, made);
    try {
      await made;
    } catch (error) {
      this.#containers.delete(id);
      throw error;
    }
  }

  /** Throws not_found. */
  async find(id: string): Promise<GatewayContainer> {
    const found = await this.#containers.get(id);
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
    await (await found).release();
  }

  /** Of all that are left. No further one is made. */
  async end(): Promise<void> {
    this.#isOver = true;
    const all = [...this.#containers.values()];
    this.#containers.clear();
    await Promise.allSettled(all.map(async (made) => await (await made).release()));
  }
}
