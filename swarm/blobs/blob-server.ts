import type { Clock } from '../../daemon/base/clock.ts';
import { EngineError, invalidArgument, invariant, notFound } from '../../daemon/base/errors.ts';
import { failpoint } from '../../daemon/base/failpoint.ts';
import { limits } from '../../daemon/base/limits.ts';
import { fieldsOf } from '../dispatcher/check.ts';
import { ReadSlots } from '../images/read-slots.ts';
import type { BlobAnswer } from '../protocol/blobs.ts';
import type { Caller, Method } from '../rpc/port.ts';
import type { BlobStore, HeldBlob } from './ports.ts';

const DIGEST = /^sha256:[0-9a-f]{64}$/;

/** What managers call on each other for blobs of the hub. Which of them a repository has is in the hub's records. */
export class BlobServer {
  readonly #clock: Clock;
  readonly #store: BlobStore;
  readonly #slots = new ReadSlots();

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
