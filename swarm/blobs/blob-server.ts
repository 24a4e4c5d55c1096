import type { Clock } from '../../daemon/base/clock.ts';
import { EngineError, invalidArgument, invariant, notFound } from '../../daemon/base/errors.ts';
import { failpoint } from '../../daemon/base/failpoint.ts';
import { limits } from '../../daemon/base/limits.ts';
import { fieldsOf } from '../dispatcher/check.ts';
import { ReadSlots } from '../images/read-slots.ts';
import type { BlobAnswer, BlobOffer, OfferAnswer } from '../protocol/blobs.ts';
import type { Caller, Method } from '../rpc/port.ts';
import type { BlobStore, HeldBlob } from './ports.ts';

const DIGEST = /^sha256:[0-9a-f]{64}$/;

/** What managers call on each other for blobs of the hub. Which of them a repository has is in the hub's records. */
export class BlobServer {
  readonly #clock: Clock;
  readonly #store: BlobStore;
  readonly #slots = new ReadSlots();
  readonly #takes = new ReadSlots();

  constructor({ clock, store }: { clock: Clock; store: BlobStore }) {
    this.#clock = clock;
    this.#store = store;
  }

  /** To be served for as long as this node is a manager. */
  get methods(): Method[] {
    return [
      { name: 'blobs.find', allowed: 'manager', kind: 'call', handle: (body) => this.#find(body) },
      {
        name: 'blobs.read',
        allowed: 'manager',
        kind: 'stream',
        handle: (body, caller, signal) => this.#read(body, caller, signal),
      },
      {
        name: 'blobs.offer',
        allowed: 'node',
        kind: 'call',
        handle: (body, caller) => this.#offered(offerOf(body, caller)),
      },
      {
        name: 'blobs.give',
        allowed: 'node',
        kind: 'upload',
        handle: (values, caller, signal) => this.#take(values, caller, signal),
      },
    ];
  }

  async #find(body: unknown): Promise<BlobAnswer> {
    failpoint('swarm.blobs.find');
    const blob = await this.#store.open(digestOf(body));
    await blob?.[Symbol.asyncDispose]();
    return blob === undefined ? {} : { size: blob.size };
  }

  async *#read(body: unknown, { identity }: Caller, signal: AbortSignal): AsyncGenerator<Buffer> {
    invariant(identity !== undefined, 'only managers may call it');
    const [digest, from] = [digestOf(body), Reflect.get(fieldsOf(body, 'a request'), 'from')];
    if (!Number.isSafeInteger(from)) {
      throw invalidArgument('from is no number');
    }
    using slot = await this.#slots.acquire(identity.node, signal);
    failpoint('swarm.blobs.read');
    await using blob = await this.#store.open(digest);
    if (blob === undefined) {
      throw notFound(`this manager does not hold ${digest}`);
    }
    // It has just been found to be one.
    yield* this.#pieces(blob, from as number, { slot, signal });
  }

  #offered(offer: BlobOffer): Promise<OfferAnswer> {
    failpoint('swarm.blobs.offer');
    return this.#store.offered(offer);
  }

  /** A node's word is not believed: what no record names, and no manager pushes, is not taken. */
  async #take(values: AsyncIterable<unknown>, caller: Caller, signal: AbortSignal): Promise<OfferAnswer> {
    const { identity } = caller;
    invariant(identity !== undefined, 'only nodes may call it');
    const iterator = values[Symbol.asyncIterator]();
    const first = await iterator.next();
    const offer = offerOf(first.done === true ? undefined : first.value, caller);
    using _slot = await this.#takes.acquire(identity.node, signal);
    const answer = await this.#offered(offer);
    if (answer === 'wanted') {
      await this.#store.take(offer, this.#given(iterator, offer.size));
      return 'held';
    }
    return answer;
  }

  async *#given(iterator: AsyncIterator<unknown>, size: number): AsyncGenerator<Buffer> {
    for (let got = 0; ;) {
      const next = await this.#inTime(iterator.next());
      if (next.done === true) {
        return;
      }
      const piece = next.value;
      failpoint('swarm.blobs.given');
      if (!Buffer.isBuffer(piece) || got + piece.length > size) {
        throw invalidArgument(`a blob has more than its ${size} bytes, or what are none`);
      }
      got += piece.length;
      yield piece;
    }
  }

  /** Throws deadline_exceeded where a node that gives a blob says nothing more. */
  #inTime<T>(work: Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const timer = this.#clock.setTimeout(
        () => reject(new EngineError('deadline_exceeded', 'the node gives the blob too slowly')),
        limits.swarmImagePieceMs,
      );
      work.then(resolve, reject).finally(() => timer[Symbol.dispose]());
    });
  }

  async *#pieces(
    blob: HeldBlob,
    from: number,
    { slot, signal }: { slot: Disposable; signal: AbortSignal },
  ): AsyncGenerator<Buffer> {
    if (from < 0 || from >= blob.size) {
      return;
    }
    const source = blob.stream(from, blob.size - 1);
    const stop = (): void => {
      source.destroy(new EngineError('canceled', 'the caller has gone'));
    };
    const tooSlow = (): void => {
      source.destroy(new EngineError('deadline_exceeded', 'the manager takes the blob too slowly'));
      slot[Symbol.dispose]();
    };
    signal.addEventListener('abort', stop, { once: true });
    try {
      for await (const chunk of source) {
        // A blob is never decoded to text.
        const bytes = chunk as Buffer;
        for (let at = 0; at < bytes.length; at += limits.swarmImagePieceBytes) {
          failpoint('swarm.blobs.piece');
          using _patience = this.#clock.setTimeout(tooSlow, limits.swarmImagePieceMs);
          yield bytes.subarray(at, at + limits.swarmImagePieceBytes);
        }
      }
    } finally {
      signal.removeEventListener('abort', stop);
      source.destroy();
    }
  }
}

function digestOf(body: unknown): string {
  const digest = fieldsOf(body, 'a request')['digest'];
  if (typeof digest !== 'string' || !DIGEST.test(digest)) {
    throw invalidArgument('digest is none');
  }
  return digest;
}

function offerOf(body: unknown, { identity }: Caller): BlobOffer {
  const { size, isPush } = fieldsOf(body, 'an offer');
  if (!Number.isSafeInteger(size) || Number(size) < 0) {
    throw invalidArgument('size is no number of bytes');
  }
  // A worker keeps nothing for a push.
  return {
    digest: digestOf(body),
    size: Number(size),
    isPush: isPush === true && identity?.role === 'swarm-manager',
  };
}
