import { closeSync, constants, existsSync, openSync, readdirSync, readlinkSync, writeSync } from 'node:fs';
import { conflict, errnoOf } from '../../daemon/base/errors.ts';
import { unreadBytes } from '../../daemon/base/kernel/sockets/unread.ts';

/** conmon refuses larger ones. */
const CELLS_MAX = 1000;
/** Message types of conmon's control FIFO. */
const RESIZE = 1;
const REOPEN_LOG = 2;
/** conmon 2.1 handles only the first of two messages that it reads at once, so they are kept this far apart. */
const SPACING_MS = 50;

interface Size {
  height: number;
  width: number;
}

/** What waits until the spacing of a FIFO is over. */
interface Pending {
  size?: Size;
  reopen?: true;
}

/** What conmon can be told while it runs: terminal sizes (the last one asked for always arrives), a new log file. */
export class MonitorControl {
  /** Per FIFO. */
  readonly #pending = new Map<string, Pending>();

  /** Sends the size to the conmon behind `control`. Throws EngineError conflict when it is not there. */
  resize(control: string, { height, width }: Size): void {
    const size = { height: Math.min(height, CELLS_MAX), width: Math.min(width, CELLS_MAX) };
    const pending = this.#pending.get(control);
    if (pending !== undefined) {
      pending.size = size;
      return;
    }
    this.#send(control, `${RESIZE} ${size.height} ${size.width}`);
  }

  /**
   * Asks the conmon behind `control` to go on in a new file at its log's path, which it makes by renaming `<path>.tmp`.
   * Throws EngineError conflict when it is not there.
   *
   * INVARIANT: asked once. conmon empties the file it begins, so a second request would throw away what it wrote there
   * after the first; the caller makes sure that it still writes to the old one (`writesToOld`).
   */
  reopenLog(control: string): void {
    const pending = this.#pending.get(control);
    if (pending !== undefined) {
      pending.reopen = true;
      return;
    }
    this.#send(control, `${REOPEN_LOG} 0 0`);
  }

  /** A request is on its way: not sent yet, or not read. */
  isPending(control: string): boolean {
    return this.#pending.has(control) || hasUnread(control);
  }

  #send(control: string, message: string): void {
    send(control, message);
    this.#pending.set(control, {});
    setTimeout(() => this.#afterSpacing(control), SPACING_MS).unref();
  }

  #afterSpacing(control: string): void {
    const { reopen, size } = this.#pending.get(control) ?? {};
    this.#pending.delete(control);
    try {
      if (reopen) {
        this.reopenLog(control);
      }
      if (size !== undefined) {
        this.resize(control, size);
      }
    } catch {
      // The container ended meanwhile; the answer is not needed any more.
    }
  }
}

function send(control: string, message: string): void {
  const fd = openControl(control, constants.O_WRONLY);
  if (fd === undefined) {
    throw conflict('cannot resize a terminal that is not running');
  }
  try {
    writeSync(fd, `${message}\n`);
  } finally {
    closeSync(fd);
  }
}

function hasUnread(control: string): boolean {
  const fd = openControl(control, constants.O_RDONLY);
  if (fd === undefined) {
    return false;
  }
  try {
    return unreadBytes(fd) > 0;
  } finally {
    closeSync(fd);
  }
}

/** Undefined when there is no conmon behind it. Without a reader a FIFO would block the opener for ever. */
function openControl(control: string, mode: number): number | undefined {
  try {
    return openSync(control, mode | constants.O_NONBLOCK);
  } catch (error) {
    if (errnoOf(error) === 'ENOENT' || errnoOf(error) === 'ENXIO') {
      return undefined;
    }
    throw error;
  }
}

/** Where the control FIFO of this conmon can be opened: at `control`, or as conmon has it open, without its name. */
export function controlOf(pid: number, control: string): string {
  if (existsSync(control)) {
    return control;
  }
  const folder = `/proc/${pid}/fd`;
  const names = existsSync(folder) ? readdirSync(folder) : [];
  const fd = names.find((name) => linkOrEmpty(`${folder}/${name}`) === `${control} (deleted)`);
  return fd === undefined ? control : `${folder}/${fd}`;
}

/** True while this conmon has a rotated file of the log open: it has not gone on to the new one. */
export function writesToOld(pid: number, logPath: string): boolean {
  const folder = `/proc/${pid}/fd`;
  if (!existsSync(folder)) {
    return false;
  }
  return readdirSync(folder).some((fd) => {
    const target = linkOrEmpty(`${folder}/${fd}`);
    return target.startsWith(`${logPath}.`) && !target.startsWith(`${logPath}.tmp`);
  });
}

function linkOrEmpty(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    // Closed meanwhile.
    return '';
  }
}
