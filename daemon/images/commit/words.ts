import { invalidArgument } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';

export type Variables = ReadonlyMap<string, string>;

export interface WordOptions {
  variables: Variables;
  /** Begins error messages. */
  where: string;
  /** The character that quotes the next one; a Dockerfile may choose a backtick. */
  escape?: string;
}

/**
 * Splits an instruction's arguments into words as a Dockerfile does: blanks separate, quotes hold together, `\` quotes
 * one character, `$NAME`, `${NAME}`, `${NAME:-default}` and `${NAME:+alternative}` are replaced (not within single
 * quotes). Throws invalid_argument. Pure, one pass.
 */
export function splitWords(text: string, variables: Variables, where: string, escape = '\\'): string[] {
  const reader = new WordReader(text, { variables, where, escape });
  const words: string[] = [];
  for (;;) {
    const word = reader.next(/\s/);
    if (word === undefined) {
      return words;
    }
    words.push(word);
  }
}

/** The same without splitting: one text, its quotes removed and its variables replaced. */
export function expandText(text: string, options: WordOptions): string {
  return new WordReader(text, { escape: '\\', ...options }).next(undefined) ?? '';
}

/** What one word becomes when its variables are replaced: values outside quotes are split at their blanks. Pure. */
export function expandWords(word: string, options: WordOptions): string[] {
  return new WordReader(word, { escape: '\\', ...options }).values();
}

/** From where it is told to begin. */
const NAME = /[A-Za-z_]\w*|\d+|[@*#]/y;

class WordReader {
  readonly #text: string;
  readonly #options: Required<WordOptions>;
  #at = 0;
  #depth = 0;

  constructor(text: string, options: Required<WordOptions>) {
    this.#text = text;
    this.#options = options;
  }

  /** The next word; undefined when there is none. `separator` undefined: all that is left. */
  next(separator: RegExp | undefined): string | undefined {
    while (separator?.test(this.#peek()) === true) {
      this.#at += 1;
    }
    if (this.#isEnd()) {
      return undefined;
    }
    let word = '';
    while (!this.#isEnd() && separator?.test(this.#peek()) !== true) {
      word += this.#piece();
    }
    return word;
  }

  values(): string[] {
    const words: string[] = [];
    let word: string | undefined;
    while (!this.#isEnd()) {
      const isValue = this.#peek() === '$';
      const piece = this.#piece();
      const [first = '', ...others] = isValue ? piece.split(/\s+/) : [piece];
      word = isValue && first === '' ? word : (word ?? '') + first;
      for (const other of others) {
        words.push(...(word === undefined ? [] : [word]));
        word = other === '' ? undefined : other;
      }
    }
    return word === undefined ? words : [...words, word];
  }

  #peek(): string {
    return this.#text.charAt(this.#at);
  }

  #isEnd(): boolean {
    return this.#at >= this.#text.length;
  }

  #take(): string {
    const character = this.#peek();
    this.#at += 1;
    return character;
  }

  /** A character, a quoted text or a variable. */
  #piece(): string {
    const character = this.#take();
    if (character === "'") {
      return this.#quoted("'", false);
    }
    if (character === '"') {
      return this.#quoted('"', true);
    }
    if (character === this.#options.escape) {
      return this.#isEnd() ? character : this.#take();
    }
    return character === '$' ? this.#variable() : character;
  }

  #quoted(quote: string, replaces: boolean): string {
    const { escape, where } = this.#options;
    let word = '';
    while (!this.#isEnd()) {
      const character = this.#take();
      if (character === quote) {
        return word;
      }
      if (replaces && character === escape) {
        // It quotes only what would mean something here.
        const next = this.#take();
        word += next === '"' || next === '$' || next === escape ? next : character + next;
      } else {
        word += replaces && character === '$' ? this.#variable() : character;
      }
    }
    throw invalidArgument(`${where}: unexpected end of statement while looking for matching ${quote}`);
  }

  /** After the `$`. */
  #variable(): string {
    const { variables } = this.#options;
    if (this.#peek() !== '{') {
      const name = this.#name();
      return name === '' ? '$' : (variables.get(name) ?? '');
    }
    const start = this.#at;
    this.#at += 1;
    const name = this.#name();
    const value = variables.get(name) ?? '';
    const sign = this.#take();
    if (name !== '' && sign === '}') {
      return value;
    }
    const operator = sign === ':' ? this.#take() : '';
    if (name === '' || (operator !== '-' && operator !== '+' && operator !== '?')) {
      throw this.#unreadable(start);
    }
    const word = this.#untilBrace(start);
    if (operator === '?' && value === '') {
      throw invalidArgument(`${this.#options.where}: ${name}: ${word || 'is not allowed to be empty'}`);
    }
    return operator === '+' ? (value === '' ? '' : word) : value || word;
  }

  #untilBrace(start: number): string {
    let word = '';
    this.#depth += 1;
    while (this.#peek() !== '}') {
      if (this.#isEnd() || this.#depth > limits.dockerfileVariableDepthMax) {
        throw this.#unreadable(start);
      }
      word += this.#piece();
    }
    this.#at += 1;
    this.#depth -= 1;
    return word;
  }

  #name(): string {
    NAME.lastIndex = this.#at;
    const [name = ''] = NAME.exec(this.#text) ?? [];
    this.#at += name.length;
    return name;
  }

  #unreadable(start: number): Error {
    const shown = JSON.stringify(`$${this.#text.slice(start, start + 59)}`);
    return invalidArgument(`${this.#options.where}: cannot read the variable in ${shown}`);
  }
}
