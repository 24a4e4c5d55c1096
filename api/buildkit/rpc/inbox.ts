import type { Http2Stream } from 'node:http2';
import { finished } from 'node:stream';
import { EngineError, isEngineError } from '../../../daemon/base/errors.ts';
import { limits } from '../../../daemon/base/limits.ts';
import { FrameReader } from './framing.ts';

/** What a message that waits takes, however little it carries. */
const MESSAGE_BYTES = 256;

/**
 * What has come on a stream and was not looked at. Whoever waits is woken once for all that is there to be read: a
 * client that sends 5,000 files sends 15,000 messages, each of them in a frame of its own.
 */
export class Inbox implements Disposable {
  readonly #stream: Http2Stream;
  readonly #reader: FrameReader;
  readonly #forget: () => void;
  #messages: Buffer[] = [];
  /** With what each message takes besides. */
  #bytes = 0;
  #end: { error?: EngineError } | undefined;
  #waiting: (() => void) | undefined;
  #immediate: NodeJS.Immediate | undefined;

  constructor(stream: Http2Stream, bytesMax: number) {
    this.#stream = stream;
    this.#reader = new FrameReader(bytesMax);
    this.#forget = finished(stream, { writable: false }, (error) => this.#ended(error));
    stream.on('data', this.#take);
  }

  /** Undefined = nothing more will come. Throws why that is, after all that had come before. */
  async next(): Promise<readonly Buffer[] | undefined> {
    if (this.#messages.length === 0 && this.#end === undefined) {
      await new Promise<void>((resolve) => {
        this.#waiting = resolve;
      });
    }
    if (this.#messages.length > 0) {
      const messages = this.#messages;
      this.#messages = [];
      this.#bytes = 0;
      this.#stream.resume();
      return messages;
    }
    if (this.#end?.error !== undefined) {
      throw this.#end.error;
    }
    return undefined;
  }

  [Symbol.dispose](): void {
    clearImmediate(this.#immediate);
    this.#forget();
    this.#stream.off('data', this.#take);
    this.#stream.pause();
  }

  /** Nobody sets an encoding: pieces are Buffers. */
  readonly #take = (piece: Buffer): void => {
    if (this.#end !== undefined) {
      return;
    }
    try {
      const messages = this.#reader.push(piece);
      this.#messages.push(...messages);
      this.#bytes += messages.length * MESSAGE_BYTES;
    } catch (error) {
      this.#end = { error: errorOf(error) };
    }
    this.#bytes += piece.length;
    // Of one that is on its way the rest must come, however large it is.
    if (this.#messages.length > 0 && this.#bytes >= limits.rpcUnreadBytesMax) {
      this.#stream.pause();
    }
    this.#wake();
  };

  #ended(error: Error | null | undefined): void {
    this.#end ??= error ? { error: errorOf(error) } : this.#completed();
    this.#wake();
  }

  #completed(): { error?: EngineError } {
    try {
      this.#reader.end();
      return {};
    } catch (error) {
      return { error: errorOf(error) };
    }
  }

  #wake(): void {
    this.#immediate ??= setImmediate(() => {
      this.#immediate = undefined;
      if (this.#messages.length > 0 || this.#end !== undefined) {
        this.#waiting?.();
        this.#waiting = undefined;
      }
    });
  }
}

function errorOf(error: unknown): EngineError {
  return isEngineError(error)
    ? error
    : new EngineError('canceled', 'the other side gave the call up', { cause: error });
}
