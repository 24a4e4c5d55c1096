import { errorText, invalidArgument, isEngineError } from '../errors.ts';
import { limits } from '../limits.ts';
import { parsePattern, withoutPrefix, withoutSuffix, withReplaced } from './pattern.ts';

export type Variables = ReadonlyMap<string, string>;

export interface WordOptions {
  variables: Variables;
  /** Begins error messages; `''` = nothing does. */
  where?: string;
  /** The character that quotes the next one; a Dockerfile may choose a backtick. */
  escape?: string;
  /** Quotes stay in the result. */
  keepsQuotes?: boolean;
  /** Quotes are characters like others: contents of here-documents. */
  ignoresQuotes?: boolean;
  /** A variable that is not set stays as it is written. */
  keepsUnset?: boolean;
}

export interface Expansion {
  /** All of it as one text. */
  text: string;
  /** The same split at blanks outside of quotes, those within values of variables too. */
  words: readonly string[];
  /** Names that were looked for. */
  used: ReadonlySet<string>;
  unset: ReadonlySet<string>;
}

/**
 * Replaces variables as a Dockerfile does: `$NAME`, `${NAME}`, `${NAME:-default}`, `:+`, `:?` and the same without
 * colon, `${NAME#pattern}`, `##`, `%`, `%%`, `${NAME/pattern/text}` and `//`. Single quotes hold all that is in them,
 * double quotes all but variables. Throws invalid_argument `failed to process "..": ..`. Pure, one pass.
 */
export function expand(text: string, options: WordOptions): Expansion {
  const reader = new Expander(text, options);
  try {
    const { result, words } = reader.until('', false);
    return { text: result, words, used: reader.used, unset: reader.unset };
  } catch (error) {
    if (!isEngineError(error, 'invalid_argument')) {
      throw error;
    }
    const { where = '' } = options;
    const prefix = where === '' ? '' : `${where}: `;
    const problem = `${prefix}failed to process ${shown(text)}: ${errorText(error)}`;
    throw invalidArgument(problem, { cause: error });
  }
}

/** One text, its quotes removed and its variables replaced. */
export function expandText(text: string, options: WordOptions): string {
  return expand(text, options).text;
}

/** What one word becomes: values outside quotes are split at their blanks. */
export function expandWords(word: string, options: WordOptions): readonly string[] {
  return expand(word, options).words;
}

/** The words of an instruction's arguments, each expanded. Throws invalid_argument. Pure. */
export function splitWords(text: string, variables: Variables, where: string, escape = '\\'): string[] {
  return rawWords(text, escape).map((word) => expandText(word, { variables, where, escape }));
}

/** Splits at blanks outside of quotes; quotes and escapes stay. One escape at the end is dropped. Pure. */
export function rawWords(text: string, escape = '\\'): string[] {
  const words: string[] = [];
  let word: string | undefined;
  let quote = '';
  for (let at = 0; at < text.length; at += 1) {
    const character = text.charAt(at);
    if (quote === '' && /\s/.test(character)) {
      words.push(...(word === undefined || word === '' ? [] : [word]));
      word = undefined;
    } else if (character === escape && quote !== "'") {
      at += 1;
      word = (word ?? '') + (at < text.length ? character + text.charAt(at) : '');
    } else {
      quote = quote === character ? '' : quote === '' && /["']/.test(character) ? character : quote;
      word = (word ?? '') + character;
    }
  }
  return word === undefined || word === '' ? words : [...words, word];
}

/** From where it is told to begin. */
const NAME = /\p{Nd}+|[@*#?$!-]|[\p{L}_][\p{L}\p{Nd}_]*/uy;
const SHOWN_MAX = 200;

function shown(text: string): string {
  return JSON.stringify(text.length > SHOWN_MAX ? `${text.slice(0, SHOWN_MAX)}...` : text);
}

/** Gathers words beside the text: blanks between them count only where they stand outside of quotes. */
class Words {
  readonly all: string[] = [];
  #word = '';

  blank(): void {
    if (this.#word !== '') {
      this.all.push(this.#word);
      this.#word = '';
    }
  }

  add(text: string): void {
    this.#word += text;
  }

  addValue(text: string): void {
    const [first = '', ...others] = text.split(/\s/);
    this.add(first);
    for (const other of others) {
      this.blank();
      this.add(other);
    }
  }
}

class Expander {
  readonly used = new Set<string>();
  readonly unset = new Set<string>();
  readonly #text: string;
  readonly #options: WordOptions;
  readonly #escape: string;
  #at = 0;
  #depth = 0;

  constructor(text: string, options: WordOptions) {
    this.#text = text;
    this.#options = options;
    this.#escape = options.escape ?? '\\';
  }

  /** Up to the character `stop`, which is taken; `''` = to the end. `keepsEscapes`: they are left for a pattern. */
  until(stop: string, keepsEscapes: boolean): { result: string; words: string[] } {
    const words = new Words();
    let result = '';
    const add = (text: string): void => {
      result += text;
      words.add(text);
    };
    while (!this.#isEnd()) {
      const character = this.#peek();
      if (character === stop) {
        this.#at += 1;
        words.blank();
        return { result, words: words.all };
      }
      if (character === '$') {
        const value = this.#variable();
        result += value;
        words.addValue(value);
      } else if ((character === '"' || character === "'") && this.#options.ignoresQuotes !== true) {
        add(this.#quoted(character, keepsEscapes));
      } else if (character === this.#escape) {
        this.#at += 1;
        add(`${keepsEscapes ? character : ''}${this.#take()}`);
      } else if (/\s/.test(character)) {
        result += this.#take();
        words.blank();
      } else {
        add(this.#take());
      }
    }
    if (stop !== '') {
      throw invalidArgument(`unexpected end of statement while looking for matching ${stop}`);
    }
    words.blank();
    return { result, words: words.all };
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

  #quoted(quote: string, keepsEscapes: boolean): string {
    this.#at += 1;
    const kept = this.#options.keepsQuotes === true ? quote : '';
    let text = kept;
    while (!this.#isEnd()) {
      if (this.#peek() === quote) {
        this.#at += 1;
        return text + kept;
      }
      if (quote === '"' && this.#peek() === '$') {
        text += this.#variable();
      } else if (quote === '"' && this.#peek() === this.#escape) {
        text += this.#escaped(keepsEscapes);
      } else {
        text += this.#take();
      }
    }
    const name = quote === '"' ? 'double-quote' : 'single-quote';
    throw invalidArgument(`unexpected end of statement while looking for matching ${name}`);
  }

  /** Within double quotes: it quotes only what would mean something there. */
  #escaped(keepsEscapes: boolean): string {
    const escape = this.#take();
    const next = this.#peek();
    const isQuoting = next === '"' || next === '$' || next === escape;
    return (keepsEscapes ? escape : '') + (isQuoting ? this.#take() : this.#isEnd() ? '' : escape);
  }

  /** At the `$`. */
  #variable(): string {
    this.#at += 1;
    if (this.#peek() !== '{') {
      const name = this.#name();
      return name === '' ? '$' : (this.#value(name) ?? (this.#options.keepsUnset === true ? `$${name}` : ''));
    }
    this.#at += 1;
    this.#depth += 1;
    if (this.#isEnd()) {
      throw invalidArgument("syntax error: missing '}'");
    }
    if ('{}:'.includes(this.#peek()) || this.#depth > limits.dockerfileVariableDepthMax) {
      throw invalidArgument('syntax error: bad substitution');
    }
    const value = this.#substituted(this.#name());
    this.#depth -= 1;
    return value;
  }

  /** After `${NAME`. */
  #substituted(name: string): string {
    const sign = this.#take();
    switch (sign) {
      case '}':
        return this.#value(name) ?? (this.#options.keepsUnset === true ? `\${${name}}` : '');
      case ':':
        return this.#conditional(name, this.#take(), true);
      case '+':
      case '-':
      case '?':
        return this.#conditional(name, sign, false);
      case '#':
      case '%':
        return this.#trimmed(name, sign);
      case '/':
        return this.#replaced(name);
      default:
        throw invalidArgument(`unsupported modifier (${sign}) in substitution`);
    }
  }

  #conditional(name: string, sign: string, emptyIsUnset: boolean): string {
    const modifier = `${emptyIsUnset ? ':' : ''}${sign}`;
    if (sign !== '+' && sign !== '-' && sign !== '?') {
      throw invalidArgument(`unsupported modifier (${modifier}) in substitution`);
    }
    const word = this.#operand('}', false);
    const value = this.#value(name);
    if (value === undefined && this.#options.keepsUnset === true) {
      return `\${${name}${modifier}${word}}`;
    }
    const isSet = value !== undefined && !(emptyIsUnset && value === '');
    if (sign === '+') {
      return isSet ? word : '';
    }
    if (sign === '?' && !isSet) {
      const problem = `is not allowed to be ${value === undefined ? 'unset' : 'empty'}`;
      throw invalidArgument(`${name}: ${word || problem}`);
    }
    return isSet ? value : word;
  }

  #trimmed(name: string, sign: '#' | '%'): string {
    const word = this.#operand('}', true);
    const value = this.#value(name);
    if (value === undefined) {
      return this.#options.keepsUnset === true ? `\${${name}${sign}${word}}` : '';
    }
    const takesLongest = word.startsWith(sign);
    const pattern = parsePattern(takesLongest ? word.slice(1) : word);
    return sign === '#'
      ? withoutPrefix(value, pattern, takesLongest)
      : withoutSuffix(value, pattern, takesLongest);
  }

  #replaced(name: string): string {
    const isAll = this.#peek() === '/';
    this.#at += isAll ? 1 : 0;
    const word = this.#operand('/', true);
    const replacement = this.#operand('}', true);
    const value = this.#value(name);
    if (value === undefined && this.#options.keepsUnset === true) {
      return `\${${name}${isAll ? '//' : '/'}${word}/${replacement}}`;
    }
    return withReplaced(value ?? '', parsePattern(word), { replacement, isAll });
  }

  #operand(stop: string, keepsEscapes: boolean): string {
    try {
      return this.until(stop, keepsEscapes).result;
    } catch (error) {
      if (this.#isEnd() && this.#depth <= limits.dockerfileVariableDepthMax) {
        throw invalidArgument(`syntax error: missing '${stop}'${stop === '/' ? ' in ${}' : ''}`, {
          cause: error,
        });
      }
      throw error;
    }
  }

  #value(name: string): string | undefined {
    const value = this.#options.variables.get(name);
    this.used.add(name);
    if (value === undefined) {
      this.unset.add(name);
    }
    return value;
  }

  #name(): string {
    NAME.lastIndex = this.#at;
    const [name = ''] = NAME.exec(this.#text) ?? [];
    this.#at += name.length;
    return name;
  }
}
