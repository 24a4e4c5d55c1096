/** RFC 9113, section 4.1: 24 bits of length, a type, flags, a stream. */
const HEAD_BYTES = 9;
const PREFACE = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n';
const DATA = 0;
const HEADERS = 1;
const RST_STREAM = 3;
const END_STREAM = 1;

/** A frame that belongs to a call. */
export interface CallFrame {
  stream: number;
  begins: boolean;
  ends: boolean;
}

/** Finds the frames of calls in one direction of an HTTP/2 connection, without taking part in it. */
export class FrameScanner {
  readonly #seen: (frame: CallFrame) => void;
  #rest: Buffer = Buffer.alloc(0);
  /** Bytes still to come of a frame whose head was read. */
  #skip: number;

  constructor(seen: (frame: CallFrame) => void, { hasPreface }: { hasPreface: boolean }) {
    this.#seen = seen;
    this.#skip = hasPreface ? PREFACE.length : 0;
  }

  push(chunk: Buffer): void {
    let bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    for (;;) {
      const skipped = Math.min(this.#skip, bytes.length);
      bytes = bytes.subarray(skipped);
      this.#skip -= skipped;
      if (this.#skip > 0 || bytes.length < HEAD_BYTES) {
        this.#rest = bytes;
        return;
      }
      this.#skip = HEAD_BYTES + bytes.readUIntBE(0, 3);
      const type = bytes[3] ?? 0;
      if (type === DATA || type === HEADERS || type === RST_STREAM) {
        const ends = type === RST_STREAM || ((bytes[4] ?? 0) & END_STREAM) !== 0;
        this.#seen({ stream: bytes.readUInt32BE(5) % 2 ** 31, begins: type === HEADERS, ends });
      }
    }
  }
}
