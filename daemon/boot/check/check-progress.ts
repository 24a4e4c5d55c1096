/** What a line that is written over begins with: back to its start, and away with what stands there (ECMA-48). */
const OVER = '\r\u001B[K';

/**
 * One line on a terminal that says what `system check` looks at. Elsewhere nothing is written: neither a file nor a
 * program that reads the output wants it.
 */
export class CheckProgress {
  readonly terminal: { isTTY?: boolean; write(text: string): unknown };
  #shown = '';

  constructor(terminal: CheckProgress['terminal']) {
    this.terminal = terminal;
  }

  /** `layers`, or `layers 42 %`. */
  show(what: string, share?: number): void {
    const text = `checking ${what}${share === undefined ? '' : ` ${Math.floor(share * 100)} %`} ...`;
    if (this.terminal.isTTY === true && text !== this.#shown) {
      this.terminal.write(`${OVER}${text}`);
      this.#shown = text;
    }
  }

  /** Before anything else is written, and at the end. */
  clear(): void {
    if (this.#shown !== '') {
      this.terminal.write(OVER);
      this.#shown = '';
    }
  }
}
