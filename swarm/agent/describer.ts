import type { NodeDescription } from '../../api/types/swarm/node.ts';
import type { Clock } from '../../daemon/base/clock.ts';
import { errorText } from '../../daemon/base/errors.ts';
import { limits } from '../../daemon/base/limits.ts';
import type { Logger } from '../../daemon/base/logger.ts';
import type { DescriptionReport } from '../protocol/session.ts';
import type { OpenSession } from './session-client.ts';

interface Deps {
  clock: Clock;
  logger: Logger;
  describe(): Promise<NodeDescription>;
}

/** Tells the leader when the node is not what it was: looks every 20 s. */
export class Describer {
  readonly #deps: Deps;
  #current: { session: OpenSession; told: string } | undefined;
  #timer: Disposable | undefined;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** A session has begun, in which this has been told. */
  attach(session: OpenSession, told: NodeDescription): Disposable {
    const current = { session, told: JSON.stringify(told) };
    this.#current = current;
    this.#lookLater();
    return {
      [Symbol.dispose]: () => {
        if (this.#current === current) {
          this.#current = undefined;
          this.#timer?.[Symbol.dispose]();
        }
      },
    };
  }

  #look(): void {
    void this.#tell().catch((error: unknown) => {
      this.#deps.logger.debug({ error: errorText(error) }, 'the node is not described anew yet');
    });
    this.#lookLater();
  }

  #lookLater(): void {
    this.#timer?.[Symbol.dispose]();
    if (this.#current !== undefined) {
      this.#timer = this.#deps.clock.setTimeout(() => this.#look(), limits.swarmDescribeMs);
    }
  }

  async #tell(): Promise<void> {
    const current = this.#current;
    if (current === undefined) {
      return;
    }
    const description = await this.#deps.describe();
    const text = JSON.stringify(description);
    const { session } = current;
    if (text !== current.told && !session.signal.aborted) {
      const report: DescriptionReport = { session: session.id, description };
      await session.client.call('session.describe', report, { signal: session.signal });
      current.told = text;
    }
  }
}
