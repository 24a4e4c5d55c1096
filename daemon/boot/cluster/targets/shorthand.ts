import { invalidArgument } from '../../../base/errors.ts';

/**
 * Reads what stands behind a flag for a structure: JSON, or the short form of the original's tool,
 * `port=80,healthCheck={path=/live,matcher={httpCode="200-299,301"}},list=[a,b]`. `shape`: the structure with a value
 * of the right kind in each place (`SKELETONS`); what is not in it is a number, true or false where it looks like one.
 * Throws invalid_argument. Pure.
 */
export function readStructure(text: string, shape?: unknown): unknown {
  const trimmed = text.trim();
  if (/^[[{"]/.test(trimmed)) {
    try {
      return JSON.parse(trimmed);
    } catch (error) {
      throw invalidArgument(`is no JSON: ${trimmed.slice(0, 80)}`, { cause: error });
    }
  }
  const reader = new Reader(trimmed);
  const value = reader.pairs('', shape);
  reader.end();
  return value;
}

class Reader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /** `key=value,...` up to `close`. */
  pairs(close: string, shape: unknown): Record<string, unknown> {
    const found: [string, unknown][] = [];
    while (this.#at < this.#text.length && this.#next() !== close) {
      const key = this.#until('=,{}[]');
      if (key === '' || this.#next() !== '=') {
        throw this.#wrong('must be KEY=VALUE,... or JSON');
      }
      this.#at += 1;
      found.push([key, this.#value(inside(shape, key))]);
      // `a=1,b=2`: a comma is followed by another pair; a list without brackets is not taken.
      if (this.#next() === ',') {
        this.#at += 1;
      }
    }
    return Object.fromEntries(found);
  }

  end(): void {
    if (this.#at < this.#text.length) {
      throw this.#wrong('ends before');
    }
  }

  #value(shape: unknown): unknown {
    switch (this.#next()) {
      case '{': {
        this.#at += 1;
        const pairs = this.pairs('}', shape);
        this.#close('}');
        return pairs;
      }
      case '[':
        return this.#list(shape);
      case '"':
      case "'":
        return this.#quoted(this.#next());
      default:
        return scalar(this.#until(',}]'), shape);
    }
  }

  /** A text that may have commas and brackets in it; a backslash stands before the quote that does not end it. */
  #quoted(quote: string): string {
    let text = '';
    for (this.#at += 1; this.#next() !== quote; this.#at += 1) {
      this.#at += this.#next() === '\\' ? 1 : 0;
      if (this.#at >= this.#text.length) {
        throw this.#wrong(`lacks ${quote}`);
      }
      text += this.#next();
    }
    this.#at += 1;
    return text;
  }

  #list(shape: unknown): unknown[] {
    const items: unknown[] = [];
    this.#at += 1;
    while (this.#at < this.#text.length && this.#next() !== ']') {
      items.push(this.#value(Array.isArray(shape) ? shape[0] : undefined));
      if (this.#next() === ',') {
        this.#at += 1;
      }
    }
    this.#close(']');
    return items;
  }

  #close(bracket: string): void {
    if (this.#next() !== bracket) {
      throw this.#wrong(`lacks ${bracket}`);
    }
    this.#at += 1;
  }

  #next(): string {
    return this.#text[this.#at] ?? '';
  }

  #until(ends: string): string {
    const start = this.#at;
    while (this.#at < this.#text.length && !ends.includes(this.#next())) {
      this.#at += 1;
    }
    return this.#text.slice(start, this.#at);
  }

  #wrong(what: string): Error {
    return invalidArgument(`${what}, at ${JSON.stringify(this.#text.slice(this.#at, this.#at + 20))}`);
  }
}

/** The shape of what stands at a key; maps have one for all keys. */
function inside(shape: unknown, key: string): unknown {
  const whole: unknown = Array.isArray(shape) ? shape[0] : shape;
  const parts: Record<string, unknown> = { ...Object(whole) };
  return parts[key] ?? parts['KeyName'];
}

function scalar(text: string, shape: unknown): unknown {
  if (typeof shape === 'string') {
    return text;
  }
  if (/^-?\d+$/.test(text)) {
    return Number(text);
  }
  return text === 'true' || text === 'false' ? text === 'true' : text;
}
