import { notImplemented } from '../../daemon/base/errors.ts';
import { encodeHeader, padding, TAR_END } from './encode.ts';
import { TarParser, type TarMember, type TarSink } from './parser.ts';

/** A tar whose members are not later than a moment. */
export class ClampedTimes implements TarSink {
  readonly #seconds: number;
  readonly #what: string;
  #ready: Buffer[] = [];
  #size = 0;
  #isChanged = false;

  /** `seconds` since 1970; `what` begins error messages. */
  constructor(seconds: number, what: string) {
    this.#seconds = seconds;
    this.#what = what;
  }

  /** A member was later. */
  get isChanged(): boolean {
    return this.#isChanged;
  }

  /** Writes the tar once more, in pieces. Throws for what is no tar, and not_implemented for sparse files. */
  async *write(tar: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    const parser = new TarParser(this, this.#what);
    for await (const piece of tar) {
      parser.push(piece);
      yield* this.#take();
    }
    parser.end();
    yield* this.#take();
    yield TAR_END;
  }

  member(member: TarMember): void {
    if (member.sparse !== undefined) {
      throw notImplemented(`${this.#what}: times of sparse files are not rewritten`);
    }
    const { mtime, size } = member;
    const isLater =
      mtime.seconds > this.#seconds || (mtime.seconds === this.#seconds && mtime.nanoseconds > 0);
    this.#isChanged ||= isLater;
    this.#size = size;
    this.#ready.push(
      encodeHeader({ ...member, mtime: isLater ? { seconds: this.#seconds, nanoseconds: 0 } : mtime }),
    );
  }

  raw(): void {
    // Headers are written anew.
  }

  data(bytes: Buffer): void {
    this.#ready.push(Buffer.from(bytes));
  }

  memberEnd(): void {
    this.#ready.push(padding(this.#size));
  }

  #take(): Buffer[] {
    const ready = this.#ready;
    this.#ready = [];
    return ready;
  }
}
