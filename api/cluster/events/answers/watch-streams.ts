import type { ServerResponse } from 'node:http';
import { limits } from '../../../../daemon/base/limits.ts';
import type { StoredEvent, WatchedChange } from '../../../types/cluster/events.ts';

/** How changes become text; changes that many watches see in the same form are made into bytes once. */
export interface FrameForm {
  /** Told apart from other forms: of version, table and what is included. */
  key: string;
  /** JSON of an object in a frame. */
  object(event: StoredEvent): string;
}

const made = new WeakMap<readonly WatchedChange[], Map<string, Buffer>>();

/** One frame for each change, each a line. */
export function framesOf(changes: readonly WatchedChange[], form: FrameForm): Buffer {
  const known = made.get(changes) ?? new Map<string, Buffer>();
  made.set(changes, known);
  const found = known.get(form.key);
  if (found !== undefined) {
    return found;
  }
  let text = '';
  for (const { type, event } of changes) {
    text += `{"type":"${type}","object":${form.object(event)}}\n`;
  }
  const bytes = Buffer.from(text);
  known.set(form.key, bytes);
  return bytes;
}

/**
 * An answer that goes on. A client that does not read is cut: when too much waits for it, or when for too long it has
 * taken nothing of what waits.
 */
export class WatchStream {
  readonly #res: ServerResponse;
  readonly #onEnd: () => void;
  #stalled: NodeJS.Timeout | undefined;
  #isEnded = false;

  constructor(res: ServerResponse, onEnd: () => void) {
    this.#res = res;
    this.#onEnd = onEnd;
    res.writeHead(200, { 'Content-Type': 'application/json' });
    res.flushHeaders();
    res.once('close', () => this.#ended());
    res.on('drain', () => {
      clearTimeout(this.#stalled);
      this.#stalled = undefined;
    });
  }

  get isEnded(): boolean {
    return this.#isEnded;
  }

  write(bytes: Buffer | string): void {
    if (this.#isEnded) {
      return;
    }
    const isTaken = this.#res.write(bytes);
    if (this.#res.writableLength > limits.clusterWatchUnreadBytesMax) {
      this.#cut();
    } else if (!isTaken) {
      this.#stalled ??= setTimeout(() => this.#cut(), limits.clusterWatchStalledMs);
    }
  }

  /** After what was written, if the client still takes it. */
  end(): void {
    if (!this.#isEnded) {
      this.#res.end();
      this.#ended();
    }
  }

  #cut(): void {
    this.#res.destroy();
    this.#ended();
  }

  #ended(): void {
    clearTimeout(this.#stalled);
    if (!this.#isEnded) {
      this.#isEnded = true;
      this.#onEnd();
    }
  }
}
