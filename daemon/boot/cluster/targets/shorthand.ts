import { invalidArgument } from '../../../base/errors.ts';

/**
 * Reads what stands behind a flag for a structure: JSON, or the short form of the original's tool,
 * `port=80,healthCheck={path=/live,matcher={httpCode=200-299}},list=[a,b]`. Numbers and true and false are such.
 * Throws invalid_argument. Pure.
 */
export function readStructure(text: string): unknown {
  const trimmed = text.trim();
  if (/^[[{"]/.test(trimmed)) {
    try {
      return JSON.parse(trimmed);
    } catch (error) {
      throw invalidArgument(`is no JSON: ${trimmed.slice(0, 80)}`, { cause: error });
    }
  }
  const reader = new Reader(trimmed);
  const value = reader.pairs('');
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
  pairs(close: string): Record<string, unknown> {
    const found: [string, unknown][] = [];
    while (this.#at < this.#text.length && this.#next() !== close) {
      const key = this.#until('=,{}[]');
      if (key === '' || this.#next() !== '=') {
        throw this.#wrong('must be KEY=VALUE,... or JSON');
      }
      this.#at += 1;
      found.push([key, this.#value()]);
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

  #value(): unknown {
    switch (this.#next()) {
      case '{': {
        this.#at += 1;
        const inside = this.pairs('}');
        this.#close('}');
        return inside;
      }
      case '[':
        return this.#list();
      default:
        return scalar(this.#until(',}]'));
    }
  }

  #list(): unknown[] {
    const items: unknown[] = [];
    this.#at += 1;
    while (this.#at < this.#text.length && this.#next() !== ']') {
      items.push(this.#value());
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

function scalar(text: string): unknown {
  if (/^-?\d+$/.test(text)) {
    return Number(text);
  }
  return text === 'true' || text === 'false' ? text === 'true' : text;
}
