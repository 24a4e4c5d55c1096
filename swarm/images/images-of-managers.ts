import type { Clock } from '../../daemon/base/clock.ts';
import { EngineError, errorText } from '../../daemon/base/errors.ts';
import { failpoint } from '../../daemon/base/failpoint.ts';
import { limits } from '../../daemon/base/limits.ts';
import type { Logger } from '../../daemon/base/logger.ts';
import { fieldsOf, textOf } from '../dispatcher/check.ts';
import type { ManagerAddress } from '../protocol/session.ts';
import type { ImageFound, ImageQuery, ImageRequest, LayerRequest } from '../protocol/images.ts';
import type { Dial } from '../rpc/port.ts';
import type { ImageDescription, ImageHolder, ImageStore, ManagerImages, OfferedImage } from './ports.ts';

/** The node in its swarm, as it is now. */
interface Place {
  node: { id: string };
  managers(): readonly ManagerAddress[];
  dial: Dial;
}

interface Deps {
  clock: Clock;
  logger: Logger;
  platform: ImageStore['platform'];
}

type Holding = ImageFound & { addr: string };

/** Asks all other managers for the images of this node's tasks. Nobody is asked before `join`. */
export class ImagesOfManagers implements ManagerImages {
  readonly #deps: Deps;
  #place: Place | undefined;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** From now on the managers of this swarm are asked. */
  join(place: Place): void {
    this.#place = place;
  }

  async find(image: string, signal: AbortSignal): Promise<OfferedImage[]> {
    const place = this.#place;
    const asked = (place?.managers() ?? []).filter(({ node }) => node !== place?.node.id);
    const answers = await Promise.all(asked.map(({ addr }) => this.#ask(addr, image, signal)));
    const { os, architecture } = this.#deps.platform;
    const fitting = answers
      .filter((found) => found !== undefined)
      .filter((found) => found.os === os && found.architecture === architecture);
    return byImage(fitting).map((holdings) => this.#offer(image, holdings));
  }

  /** Undefined where that manager has none, or says nothing. */
  async #ask(addr: string, image: string, signal: AbortSignal): Promise<Holding | undefined> {
    try {
      failpoint('swarm.images.ask');
      const query: ImageQuery = { image, platform: this.#deps.platform };
      const answer = await this.#call(addr, 'images.find', query, {
        signal,
        timeoutMs: limits.swarmImageFindMs,
      });
      const found = fieldsOf(answer, 'an answer')['found'];
      return found === undefined ? undefined : { ...foundOf(found), addr };
    } catch (error) {
      this.#deps.logger.info(
        { image, manager: addr, error: errorText(error) },
        'a manager tells of no image',
      );
      return undefined;
    }
  }

  /** All are of one image. */
  #offer(image: string, holdings: readonly Holding[]): OfferedImage {
    const [{ id, tagged } = NOTHING] = holdings;
    const addresses = holdings.map(({ addr }) => addr);
    return {
      id,
      taggedNano: BigInt(tagged),
      describe: (signal) => this.#describe(addresses, { image, id }, signal),
      holders: addresses.map((addr): ImageHolder => ({
        addr,
        readLayer: (layer, signal) => this.#layer(addr, { image, id, layer }, signal),
      })),
    };
  }

  async #describe(
    addresses: readonly string[],
    request: ImageRequest,
    signal: AbortSignal,
  ): Promise<ImageDescription> {
    let failure: unknown;
    for (const addr of addresses) {
      try {
        const fields = fieldsOf(await this.#call(addr, 'images.describe', request, { signal }), 'an answer');
        const { layerBytes } = fields;
        return {
          config: Buffer.from(textOf(fields, 'config'), 'base64'),
          layerBytes: Array.isArray(layerBytes) ? layerBytes.map(Number) : [],
        };
      } catch (error) {
        failure = error;
      }
    }
    throw failure;
  }

  async *#layer(addr: string, request: LayerRequest, signal: AbortSignal): AsyncGenerator<Buffer> {
    using client = this.#dial(addr);
    const silent = new AbortController();
    const ends = AbortSignal.any([signal, silent.signal]);
    const heard = (): Disposable =>
      this.#deps.clock.setTimeout(() => {
        silent.abort(new EngineError('deadline_exceeded', `manager ${addr} sends nothing of a layer`));
      }, limits.swarmImageSilenceMs);
    let patience = heard();
    try {
      for await (const piece of client.stream('images.layer', request, ends)) {
        patience[Symbol.dispose]();
        failpoint('swarm.images.receive');
        if (!Buffer.isBuffer(piece)) {
          throw new EngineError('invalid_argument', `manager ${addr} sends no bytes of a layer`);
        }
        yield piece;
        patience = heard();
      }
    } finally {
      patience[Symbol.dispose]();
    }
  }

  async #call(
    addr: string,
    method: string,
    body: unknown,
    options: { signal: AbortSignal; timeoutMs?: number },
  ): Promise<unknown> {
    using client = this.#dial(addr);
    return await client.call(method, body, options);
  }

  #dial(addr: string): ReturnType<Dial> {
    if (this.#place === undefined) {
      throw new EngineError('unavailable', 'this node is in no swarm');
    }
    return this.#place.dial(addr);
  }
}

const NOTHING: Pick<Holding, 'id' | 'tagged'> = { id: '', tagged: '0' };

/** The image that was named last comes first, the same on all nodes. Pure. */
function byImage(holdings: readonly Holding[]): Holding[][] {
  const newest = holdings.toSorted((a, b) => {
    const difference = BigInt(b.tagged) - BigInt(a.tagged);
    return difference === 0n ? (a.id < b.id ? -1 : 1) : difference > 0n ? 1 : -1;
  });
  const ids = new Set(newest.map(({ id }) => id));
  return [...ids].map((id) => newest.filter((holding) => holding.id === id));
}

function foundOf(found: unknown): ImageFound {
  const fields = fieldsOf(found, 'an image');
  const tagged = textOf(fields, 'tagged');
  return {
    id: textOf(fields, 'id'),
    os: textOf(fields, 'os'),
    architecture: textOf(fields, 'architecture'),
    tagged: /^\d{1,19}$/.test(tagged) ? tagged : '0',
  };
}
