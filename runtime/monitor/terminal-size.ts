import { closeSync, constants, openSync, writeSync } from 'node:fs';
import { conflict, errnoOf } from '../../daemon/base/errors.ts';

/** conmon refuses larger ones. */
const CELLS_MAX = 1000;
/** Message type of conmon's control FIFO. */
const RESIZE = 1;
/** conmon 2.1 handles only the first of two messages that it reads at once, so they are kept this far apart. */
const SPACING_MS = 50;

interface Size {
  height: number;
  width: number;
}

/** Sets the sizes of terminals that conmon holds. The last size asked for always arrives. */
export class TerminalSizes {
  /** Per FIFO: the size to send when the spacing is over. */
  readonly #pending = new Map<string, Size | undefined>();

  /** Sends the size to the conmon behind `control`. Throws EngineError conflict when it is not there. */
  resize(control: string, { height, width }: Size): void {
    const size = { height: Math.min(height, CELLS_MAX), width: Math.min(width, CELLS_MAX) };
    if (this.#pending.has(control)) {
      this.#pending.set(control, size);
      return;
    }
    send(control, size);
    this.#pending.set(control, undefined);
    setTimeout(() => this.#afterSpacing(control), SPACING_MS).unref();
  }

  #afterSpacing(control: string): void {
    const size = this.#pending.get(control);
    this.#pending.delete(control);
    if (size === undefined) {
      return;
    }
    try {
      this.resize(control, size);
    } catch {
      // The container ended meanwhile; nobody waits for this answer any more.
    }
  }
}

function send(control: string, { height, width }: Size): void {
  let fd: number;
  try {
    // Without a reader a FIFO would block the opener for ever.
    fd = openSync(control, constants.O_WRONLY | constants.O_NONBLOCK);
  } catch (error) {
    if (errnoOf(error) === 'ENOENT' || errnoOf(error) === 'ENXIO') {
      throw conflict('cannot resize a terminal that is not running', { cause: error });
    }
    throw error;
  }
  try {
    writeSync(fd, `${RESIZE} ${height} ${width}\n`);
  } finally {
    closeSync(fd);
  }
}
