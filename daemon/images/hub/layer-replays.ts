import type { Readable } from 'node:stream';
import { GrowingReader } from '../../../storage/spool/growing-reader.ts';
import type { GrowingSpool } from '../../../storage/spool/growing-spool.ts';
import { internal } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import type { ImageContext } from '../context.ts';

/** Bytes gathered before one write. */
const WRITE_BYTES = 1024 * 1024;

/** The tar of a layer, for one reader. */
export interface OpenLayer extends AsyncDisposable {
  size: number;
  /** Bytes from `start` to `end`, both included. It closes the layer when it ends. */
  stream(start: number, end: number): Readable;
}

interface Layer {
  id: number;
  diffId: string;
  /** Of its tar. */
  sizeBytes: number;
}

interface Replay {
  reader: GrowingReader;
  users: number;
  /** Runs while nobody reads. */
  ending: Disposable | undefined;
  end(): void;
}

type Deps = Pick<ImageContext, 'layers' | 'spools' | 'pins' | 'collector' | 'clock' | 'log'>;

/**
 * Tars of layers for those who read at their own pace, from any byte on. Each is written once, into a file without a
 * name, for all who read it at the time; it goes a little after the last of them.
 */
export class LayerReplays {
  readonly #deps: Deps;
  readonly #running = new Map<number, Promise<Replay>>();

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  async open(layer: Layer): Promise<OpenLayer> {
    const starting = this.#running.get(layer.id) ?? this.#start(layer);
    const replay = await starting;
    replay.users += 1;
    replay.ending?.[Symbol.dispose]();
    replay.ending = undefined;
    let isOpen = true;
    const close = (): void => {
      if (isOpen) {
        isOpen = false;
        this.#leave(replay);
      }
    };
    return {
      size: layer.sizeBytes,
      stream: (start, end) => replay.reader.stream(start, end).once('close', close),
      [Symbol.asyncDispose]: () => Promise.resolve(close()),
    };
  }

  #leave(replay: Replay): void {
    replay.users -= 1;
    if (replay.users === 0) {
      // The next part of a client that asks for it in parts, or the next node that runs the image.
      replay.ending = this.#deps.clock.setTimeout(() => replay.end(), limits.hubReplayKeptMs);
    }
  }

  #start(layer: Layer): Promise<Replay> {
    const forget = (): void => {
      if (this.#running.get(layer.id) === starting) {
        this.#running.delete(layer.id);
      }
    };
    const starting = this.#open(layer, forget);
    this.#running.set(layer.id, starting);
    starting.catch(forget);
    return starting;
  }

  /** `forget`: whoever comes from then on gets another one. */
  async #open({ id, diffId, sizeBytes }: Layer, forget: () => void): Promise<Replay> {
    const { layers, spools, pins } = this.#deps;
    const pin = pins.pin([id]);
    try {
      const spool = await spools.open(`layer ${diffId}`);
      const reader = new GrowingReader(spool.fd, sizeBytes);
      const source = layers.read(id, diffId);
      const filled = fill(spool, source, reader).catch((error: unknown) => {
        reader.fail(error instanceof Error ? error : internal(String(error)));
        forget();
      });
      return {
        reader,
        users: 0,
        ending: undefined,
        end: () => {
          forget();
          source.destroy();
          void filled.then(() => this.#close(spool, pin)).catch((error: unknown) => this.#failed(error));
        },
      };
    } catch (error) {
      pin[Symbol.dispose]();
      throw error;
    }
  }

  async #close(spool: GrowingSpool, pin: Disposable): Promise<void> {
    await spool[Symbol.asyncDispose]();
    pin[Symbol.dispose]();
    await this.#deps.collector.collect();
  }

  #failed(error: unknown): void {
    this.#deps.log.error({ err: error }, 'layers that the hub has read were not collected');
  }
}

async function fill(spool: GrowingSpool, source: Readable, reader: GrowingReader): Promise<void> {
  let waiting: Buffer[] = [];
  let bytes = 0;
  const flush = async (): Promise<void> => {
    await spool.append(waiting);
    waiting = [];
    bytes = 0;
    reader.grown(spool.size);
  };
  for await (const chunk of source) {
    // A tar is never decoded to text.
    const piece = chunk as Buffer;
    waiting.push(piece);
    bytes += piece.length;
    if (bytes >= WRITE_BYTES) {
      await flush();
    }
  }
  await flush();
}
