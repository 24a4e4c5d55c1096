/** Values from several writers for one reader. Past so many bytes the writers wait. */
export class LineQueue<T> {
  readonly #bytesMax: number;
  #waiting: { value: T; bytes: number }[] = [];
  #bytes = 0;
  #isClosed = false;
  #isStopped = false;
  #readable: (() => void) | undefined;
  #writable: (() => void)[] = [];

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Resolves when there is room for the next one; false when nobody reads any more. */
  async push(value: T, bytes: number): Promise<boolean> {
    this.#waiting.push({ value, bytes });
    this.#bytes += bytes;
    this.#wakeReader();
    while (this.#bytes > this.#bytesMax && !this.#isStopped) {
      await new Promise<void>((resolve) => {
        this.#writable.push(resolve);
      });
    }
    return !this.#isStopped;
  }

  /** Nothing follows: the reader ends after what is there. */
  close(): void {
    this.#isClosed = true;
    this.#wakeReader();
  }

  /** Nobody reads any more. */
  stop(): void {
    this.#isStopped = true;
    this.#waiting = [];
    this.#wakeWriters();
    this.#wakeReader();
  }

  async *values(): AsyncGenerator<T> {
    while (!this.#isStopped) {
      const next = this.#waiting.shift();
      if (next !== undefined) {
        this.#bytes -= next.bytes;
        this.#wakeWriters();
        yield next.value;
      } else if (this.#isClosed) {
        return;
      } else {
        await new Promise<void>((resolve) => {
          this.#readable = resolve;
        });
      }
    }
  }

  #wakeReader(): void {
    this.#readable?.();
    this.#readable = undefined;
  }

  #wakeWriters(): void {
    const writable = this.#writable;
    this.#writable = [];
    writable.forEach((wake) => wake());
  }
}
