import type { OutputBeside } from '../../../storage/logs/reader.ts';
import { FRAME_HEADER_BYTES, frameHeader, STREAM_NUMBER } from '../../base/stdio/frames.ts';
import type { OutputChunk } from '../../../runtime/monitor/conmon-stdio.ts';
import { Unsettled } from './unsettled-bytes.ts';

export interface RefusedOutputDeps {
  stdout: boolean;
  stderr: boolean;
  /** The client reads bytes, not frames: both streams as one, in their order. */
  tty: boolean;
  isDiskFull(): boolean;
  monotonicMs: () => number;
}

/**
 * Output that a full disk keeps from the log, for a client that reads the log. The monitor writes all output to the log
 * and then to its channel, so what has come by the channel when a look at the log begins is in the log at the end of
 * that look, or was refused. Where the disk is not full, it was refused for another reason (the log's bound), of which
 * the log itself tells.
 */
export class RefusedOutput implements OutputBeside {
  readonly #deps: RefusedOutputDeps;
  readonly #streams: Record<OutputChunk['stream'], Unsettled>;
  #poke: () => void = () => undefined;
  /** Something was refused. */
  hasRefused = false;

  constructor(deps: RefusedOutputDeps) {
    this.#deps = deps;
    this.#streams = { stdout: new Unsettled(deps.monotonicMs), stderr: new Unsettled(deps.monotonicMs) };
  }

  listen(poke: () => void): void {
    this.#poke = poke;
  }

  /** Output that came by the channel. */
  take({ stream, data }: OutputChunk): void {
    if (this.#deps[stream]) {
      this.#streams[this.#deps.tty ? 'stdout' : stream].arrive(data);
      // The log has not grown where it was refused: its reader would not look.
      this.#poke();
    }
  }

  begin(): void {
    this.#streams.stdout.mark();
    this.#streams.stderr.mark();
  }

  merge(output: Buffer): Buffer {
    if (this.#deps.tty) {
      return this.#withRefused(output, [this.#streams.stdout.settle(output)]);
    }
    const refused: Buffer[] = [];
    for (let at = 0; at < output.length;) {
      const begin = at + FRAME_HEADER_BYTES;
      const end = begin + output.readUInt32BE(at + 4);
      const stream = output[at] === STREAM_NUMBER.stderr ? 'stderr' : 'stdout';
      refused.push(this.#rendered(stream, this.#streams[stream].settle(output.subarray(begin, end))));
      at = end;
    }
    return this.#withRefused(output, refused);
  }

  /** In front of all of `output`: what lay between two of its records is moved by less than one look. */
  #withRefused(output: Buffer, refused: readonly Buffer[]): Buffer {
    const isNone = refused.every(({ length }) => length === 0);
    if (isNone || !this.#deps.isDiskFull()) {
      return output;
    }
    this.hasRefused = true;
    return Buffer.concat([...refused, output]);
  }

  refused(): Buffer | undefined {
    const { stdout, stderr } = this.#streams;
    const left = { stdout: stdout.takeMarked(), stderr: stderr.takeMarked() };
    if ((left.stdout.length === 0 && left.stderr.length === 0) || !this.#deps.isDiskFull()) {
      return undefined;
    }
    this.hasRefused = true;
    return Buffer.concat([this.#rendered('stdout', left.stdout), this.#rendered('stderr', left.stderr)]);
  }

  #rendered(stream: OutputChunk['stream'], data: Buffer): Buffer {
    const isBare = this.#deps.tty || data.length === 0;
    return isBare ? data : Buffer.concat([frameHeader(stream, data.length), data]);
  }
}
