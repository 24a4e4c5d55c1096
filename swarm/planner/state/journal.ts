/** Entries kept. A reader that is further behind reads the whole state, which costs not much more. */
const ENTRIES_KEPT = 65_536;

/** What has changed, in order: for those that keep something derived from the state and catch up now and then. */
export class Journal {
  #ids: string[] = [];
  /** The position of the first entry kept. */
  #start = 0;

  /** The position of the next entry. */
  get end(): number {
    return this.#start + this.#ids.length;
  }

  note(id: string): void {
    this.#ids.push(id);
    if (this.#ids.length > 2 * ENTRIES_KEPT) {
      this.#start += this.#ids.length - ENTRIES_KEPT;
      this.#ids = this.#ids.slice(-ENTRIES_KEPT);
    }
  }

  /** Ids of what changed from this position on, each once; undefined when that is no longer known. */
  since(position: number): Set<string> | undefined {
    return position < this.#start ? undefined : new Set(this.#ids.slice(position - this.#start));
  }
}
