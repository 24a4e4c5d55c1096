import type { Clock } from '../../daemon/base/clock.ts';
import { errorText } from '../../daemon/base/errors.ts';
import { limits } from '../../daemon/base/limits.ts';
import type { Logger } from '../../daemon/base/logger.ts';
import type { DescriptionReport } from '../protocol/session.ts';
import type { SaidOfNode } from './said-of-node.ts';
import type { OpenSession } from './session-client.ts';

interface Deps {
  clock: Clock;
  logger: Logger;
  describe(): Promise<SaidOfNode>;
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
  attach(session: OpenSession, told: SaidOfNode): Disposable {
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
    const said = await this.#deps.describe();
    const text = JSON.stringify(said);
    const { session } = current;
    if (text !== current.told && !session.signal.aborted) {
      const report: DescriptionReport = { session: session.id, ...said };
      await session.client.call('session.describe', report, { signal: session.signal });
      current.told = text;
    }
  }
}
