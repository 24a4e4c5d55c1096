import { pause } from '../../../daemon/base/concurrency/pause.ts';
import { errorText } from '../../../daemon/base/errors.ts';
import type { Logger } from '../../../daemon/base/logger.ts';
import { limits } from '../../../daemon/base/limits.ts';
import type { LeaderLoop, Leading } from '../../leader/ports.ts';
import { newSwarmId } from '../../objects/ids.ts';
import { NO_INGRESS_KEY } from '../../objects/values.ts';
import { write } from '../base/write.ts';
import { decideNetwork, type CreateContext } from './create.ts';
import { ingressOf } from './find.ts';
import { networkWish } from './wish.ts';

interface Deps extends CreateContext {
  logger: Logger;
}

/**
 * The leader makes the ingress network where there is none and its user has not removed it: of a new swarm, and of one
 * that an earlier version began.
 */
export class IngressNetwork implements LeaderLoop {
  readonly #deps: Deps;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** Where it is wanted, it is there when this resolves. Throws what the store throws: then the leader makes it. */
  async make(): Promise<void> {
    await ensureIngress(this.#deps);
  }

  start(leading: Leading): AsyncDisposable {
    const ended = new AbortController();
    const work = this.#run(AbortSignal.any([ended.signal, leading.signal]));
    return {
      [Symbol.asyncDispose]: async () => {
        ended.abort();
        await work;
      },
    };
  }

  /** Never rejects. */
  async #run(signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#deps;
    let told = '';
    while (!signal.aborted) {
      try {
        await this.make();
        return;
      } catch (error) {
        const text = errorText(error);
        if (text !== told) {
          logger.warn({ error: text }, 'the ingress network could not be made, it is tried again');
        }
        told = text;
        await pause(clock, limits.swarmStoreRetryMaxMs, signal);
      }
    }
  }
}

/** Makes the ingress network unless it is there, or is not wanted. */
export async function ensureIngress(context: CreateContext): Promise<void> {
  const { cluster, random } = context;
  const id = newSwarmId(random);
  // A local network of this name is one host's affair.
  const anywhere = { ...context, localNetwork: () => undefined };
  await write(context, {
    decide: () => {
      if (ingressOf(cluster) !== undefined || cluster.value(NO_INGRESS_KEY) !== undefined) {
        return { conditions: [], answer: undefined };
      }
      return decideNetwork(anywhere, id, networkWish({ Name: 'ingress', Driver: 'overlay', Ingress: true }));
    },
    attempts: limits.swarmNetworkAttempts,
  });
}
