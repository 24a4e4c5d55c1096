import type { Clock } from '../../daemon/base/clock.ts';
import { EngineError, errorText } from '../../daemon/base/errors.ts';
import { failpoint } from '../../daemon/base/failpoint.ts';
import { limits } from '../../daemon/base/limits.ts';
import type { Logger } from '../../daemon/base/logger.ts';
import { fieldsOf } from '../dispatcher/check.ts';
import {
  OFFER_ANSWERS,
  type BlobOffer,
  type BlobQuery,
  type BlobRequest,
  type OfferAnswer,
} from '../protocol/blobs.ts';
import type { ManagerAddress } from '../protocol/session.ts';
import type { Dial, RpcClient } from '../rpc/port.ts';
import type { ManagerBlobs } from './ports.ts';

/** The node in its swarm, as it is now. */
interface Place {
  node: { id: string };
  managers(): readonly ManagerAddress[];
  dial: Dial;
}

/** Asks the other managers for blobs of the hub. Nobody is asked before `join`. */
export class BlobsOfManagers implements ManagerBlobs {
  readonly #clock: Clock;
  readonly #logger: Logger;
  #place: Place | undefined;
  /** By digest: who has given all of a blob together, until it is judged. */
  readonly #givers = new Map<string, readonly string[]>();
  /** Managers that gave other bytes, and when that was. */
  readonly #wrongMs = new Map<string, number>();

  constructor({ clock, logger }: { clock: Clock; logger: Logger }) {
    this.#clock = clock;
    this.#logger = logger;
  }

  /** From now on the managers of this swarm are asked. */
  join(place: Place): void {
    this.#place = place;
  }

  async has(digest: string, signal: AbortSignal): Promise<boolean> {
    const query: BlobQuery = { digest };
    const answers = await Promise.all(
      this.#others().map(async ({ addr, dial }) => {
        try {
          using client = dial(addr);
          const options = { signal, timeoutMs: limits.swarmImageFindMs };
          const answer = await client.call('blobs.find', query, options);
          return fieldsOf(answer, 'an answer')['size'] !== undefined;
        } catch (error) {
          this.#logger.info({ digest, manager: addr, error: errorText(error) }, 'a manager tells of no blob');
          return false;
        }
      }),
    );
    return answers.includes(true);
  }

  async *read(
    { digest, size }: { digest: string; size: number },
    signal: AbortSignal,
  ): AsyncGenerator<Buffer> {
    let got = 0;
    const failures: string[] = [];
    const givers: string[] = [];
    this.#givers.delete(digest);
    for (const { node, addr, dial } of this.#trustedFirst()) {
      try {
        for await (const piece of this.#pieces({ addr, dial }, { digest, from: got }, signal)) {
          got += piece.length;
          if (givers.at(-1) !== node) {
            givers.push(node);
          }
          if (got > size) {
            throw new EngineError('invalid_argument', `it has more than the ${size} bytes of the record`);
          }
          yield piece;
        }
        if (got === size) {
          this.#givers.set(digest, givers);
          return;
        }
        failures.push(`manager ${addr} ends after ${got} of ${size} bytes`);
      } catch (error) {
        signal.throwIfAborted();
        failures.push(`manager ${addr}: ${errorText(error)}`);
      }
    }
    const why = failures.length === 0 ? 'there is no other manager' : failures.join('; ');
    throw new EngineError('unavailable', `blob ${digest}: ${why}`);
  }

  judge(digest: string, isRight: boolean): void {
    const nowMs = this.#clock.monotonicMs();
    for (const node of isRight ? [] : (this.#givers.get(digest) ?? [])) {
      this.#logger.warn({ digest, node }, 'a manager gave other bytes than those of a blob');
      this.#wrongMs.set(node, nowMs);
    }
    this.#givers.delete(digest);
  }

  others(): readonly string[] {
    return this.#others().map(({ node }) => node);
  }

  async offer(manager: string, offer: BlobOffer, signal: AbortSignal): Promise<OfferAnswer> {
    using client = this.#dialled(manager);
    return answerOf(await client.call('blobs.offer', offer, { signal, timeoutMs: limits.swarmImageFindMs }));
  }

  async give(
    manager: string,
    offer: BlobOffer,
    bytes: AsyncIterable<Buffer>,
    signal: AbortSignal,
  ): Promise<void> {
    using client = this.#dialled(manager);
    const silent = new AbortController();
    const heard = (): Disposable =>
      this.#clock.setTimeout(() => {
        silent.abort(new EngineError('deadline_exceeded', `manager ${client.addr} takes nothing of a blob`));
      }, limits.swarmImageSilenceMs);
    let patience = heard();
    async function* values(): AsyncGenerator {
      yield offer;
      for await (const chunk of bytes) {
        for (let at = 0; at < chunk.length; at += limits.swarmImagePieceBytes) {
          failpoint('swarm.blobs.give');
          yield chunk.subarray(at, at + limits.swarmImagePieceBytes);
          patience[Symbol.dispose]();
          patience = heard();
        }
      }
    }
    try {
      const ends = AbortSignal.any([signal, silent.signal]);
      const answer = answerOf(await client.upload('blobs.give', values(), ends));
      if (answer !== 'held') {
        throw new EngineError(
          'unavailable',
          `manager ${client.addr} does not take ${offer.digest}: ${answer}`,
        );
      }
    } finally {
      patience[Symbol.dispose]();
    }
  }

  #dialled(manager: string): RpcClient {
    const found = this.#others().find(({ node }) => node === manager);
    if (found === undefined) {
      throw new EngineError('unavailable', `node ${manager} is no other manager`);
    }
    return found.dial(found.addr);
  }

  async *#pieces(
    { addr, dial }: { addr: string; dial: Dial },
    request: BlobRequest,
    signal: AbortSignal,
  ): AsyncGenerator<Buffer> {
    using client = dial(addr);
    const silent = new AbortController();
    const heard = (): Disposable =>
      this.#clock.setTimeout(() => {
        silent.abort(new EngineError('deadline_exceeded', `manager ${addr} sends nothing of a blob`));
      }, limits.swarmImageSilenceMs);
    let patience = heard();
    try {
      const ends = AbortSignal.any([signal, silent.signal]);
      for await (const piece of client.stream('blobs.read', request, ends)) {
        patience[Symbol.dispose]();
        failpoint('swarm.blobs.receive');
        if (!Buffer.isBuffer(piece)) {
          throw new EngineError('invalid_argument', `manager ${addr} sends no bytes of a blob`);
        }
        yield piece;
        patience = heard();
      }
    } finally {
      patience[Symbol.dispose]();
    }
  }

  #trustedFirst(): { node: string; addr: string; dial: Dial }[] {
    const since = this.#clock.monotonicMs() - limits.swarmBlobWrongMs;
    const isWrong = ({ node }: { node: string }): boolean => (this.#wrongMs.get(node) ?? -Infinity) > since;
    const others = this.#others();
    return [...others.filter((one) => !isWrong(one)), ...others.filter(isWrong)];
  }

  #others(): { node: string; addr: string; dial: Dial }[] {
    const place = this.#place;
    return (place?.managers() ?? []).flatMap(({ node, addr }) =>
      place === undefined || node === place.node.id ? [] : [{ node, addr, dial: place.dial }],
    );
  }
}

function answerOf(answer: unknown): OfferAnswer {
  const found = OFFER_ANSWERS.find((one) => one === answer);
  if (found === undefined) {
    throw new EngineError('invalid_argument', 'a manager answers no offer of a blob');
  }
  return found;
}
