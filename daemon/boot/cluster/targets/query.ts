import { invalidArgument } from '../../../base/errors.ts';
import { tokensOf, type Token } from './query-tokens.ts';

type Step = (value: unknown) => unknown;

/** How tightly operators bind, as in JMESPath's reference. */
const BINDING: Readonly<Record<string, number>> = {
  '|': 1,
  '||': 2,
  '&&': 3,
  compare: 5,
  '[]': 9,
  '*': 20,
  '[?': 21,
  '.': 40,
  '{': 50,
  '[': 55,
};

/**
 * A query of `--query` (JMESPath: fields, indexes, slices, projections, filters, multi-selects, pipes, literals, and
 * the functions of {@link FUNCTIONS}). Answers what it makes of a value. Throws invalid_argument for what is no query.
 */
export function compileQuery(text: string): (value: unknown) => unknown {
  const parser = new Parser(text);
  const step = parser.expression(0);
  parser.end();
  return (value) => step(value) ?? null;
}

class Parser {
  readonly #text: string;
  readonly #tokens: readonly Token[];
  #at = 0;

  constructor(text: string) {
    this.#text = text;
    this.#tokens = tokensOf(text);
  }

  end(): void {
    if (this.#at < this.#tokens.length) {
      throw this.#wrong();
    }
  }

  expression(binding: number): Step {
    let left = this.#first();
    while (binding < this.#bindingOfNext()) {
      left = this.#second(left);
    }
    return left;
  }

  #bindingOfNext(): number {
    const token = this.#tokens[this.#at];
    return (token && BINDING[token.kind === 'compare' ? 'compare' : token.text]) ?? 0;
  }

  #first(): Step {
    const { kind, text, value } = this.#take();
    if (kind === 'name') {
      return this.#isNext('(') ? this.#call(text) : field(text);
    }
    if (kind === 'literal') {
      return () => value;
    }
    switch (text) {
      case '@':
        return (whole) => whole;
      case '!': {
        const step = this.expression(45);
        return (whole) => !isTrue(step(whole));
      }
      case '(': {
        const step = this.expression(0);
        this.#expect(')');
        return step;
      }
      case '{':
        return this.#hash();
      case '*':
        return projection((whole) => Object.values(isObject(whole) ? whole : {}), this.#rest(20));
      case '[]':
        return flattened((whole) => whole, this.#rest(9));
      case '[?':
        return this.#filter((whole) => whole);
      case '[':
        return this.#isIndex() ? this.#bracket((whole) => whole) : this.#list();
      default:
        throw this.#wrong();
    }
  }

  #second(left: Step): Step {
    const { kind, text } = this.#take();
    if (kind === 'compare') {
      const right = this.expression(5);
      return (whole) => compare(text, left(whole), right(whole));
    }
    switch (text) {
      case '|': {
        const right = this.expression(1);
        return (whole) => right(left(whole));
      }
      case '||': {
        const right = this.expression(2);
        return (whole) => (isTrue(left(whole)) ? left(whole) : right(whole));
      }
      case '&&': {
        const right = this.expression(3);
        return (whole) => (isTrue(left(whole)) ? right(whole) : left(whole));
      }
      case '.': {
        if (this.#isNext('*')) {
          this.#take();
          const values: Step = (whole) => valuesOf(left(whole));
          return projection(values, this.#rest(20));
        }
        const right = this.#dotted(40);
        return (whole) => onObject(left(whole), right);
      }
      case '[]':
        return flattened(left, this.#rest(9));
      case '[?':
        return this.#filter(left);
      case '[':
        return this.#bracket(left);
      default:
        throw this.#wrong();
    }
  }

  /** What follows a dot: a field, a function, a list or a hash. */
  #dotted(binding: number): Step {
    if (this.#isNext('[')) {
      this.#take();
      return this.#list();
    }
    if (this.#isNext('{')) {
      this.#take();
      return this.#hash();
    }
    return this.expression(binding);
  }

  /** What is done with each element of a projection. */
  #rest(binding: number): Step {
    if (this.#bindingOfNext() < 10) {
      return (whole) => whole;
    }
    if (this.#isNext('.')) {
      this.#take();
      return this.#dotted(binding);
    }
    return this.#isNext('[') || this.#isNext('[?') ? this.expression(binding) : (whole) => whole;
  }

  #filter(left: Step): Step {
    const condition = this.expression(0);
    this.#expect(']');
    const rest = this.#rest(21);
    const found: Step = (whole) => {
      const list = left(whole);
      return Array.isArray(list) ? list.filter((item: unknown) => isTrue(condition(item))) : null;
    };
    return projection(found, rest);
  }

  #isIndex(): boolean {
    const token = this.#tokens[this.#at];
    return token?.kind === 'number' || token?.text === ':' || token?.text === '*';
  }

  /** `[0]`, `[1:3]`, `[*]`. */
  #bracket(left: Step): Step {
    if (this.#isNext('*')) {
      this.#take();
      this.#expect(']');
      return projection(left, this.#rest(20));
    }
    const parts: (number | undefined)[] = [undefined];
    for (let token = this.#take(); token.text !== ']'; token = this.#take()) {
      if (token.text === ':') {
        parts.push(undefined);
      } else if (token.kind === 'number') {
        parts[parts.length - 1] = Number(token.text);
      } else {
        throw this.#wrong();
      }
    }
    const [index] = parts;
    if (parts.length === 1 && index !== undefined) {
      return (whole) => {
        const list = left(whole);
        return Array.isArray(list) ? (list.at(index) ?? null) : null;
      };
    }
    return projection((whole) => sliced(left(whole), parts), this.#rest(20));
  }

  #list(): Step {
    const steps: Step[] = [];
    do {
      steps.push(this.expression(0));
    } while (this.#takeIf(','));
    this.#expect(']');
    return (whole) => (whole === null ? null : steps.map((step) => step(whole) ?? null));
  }

  #hash(): Step {
    const steps: [string, Step][] = [];
    do {
      const { kind, text } = this.#take();
      if (kind !== 'name') {
        throw this.#wrong();
      }
      this.#expect(':');
      steps.push([text, this.expression(0)]);
    } while (this.#takeIf(','));
    this.#expect('}');
    return (whole) =>
      whole === null ? null : Object.fromEntries(steps.map(([name, step]) => [name, step(whole) ?? null]));
  }

  #call(name: string): Step {
    const make = FUNCTIONS[name];
    if (make === undefined) {
      throw invalidArgument(
        `--query: there is no function ${name}; there are ${Object.keys(FUNCTIONS).join(', ')}`,
      );
    }
    this.#expect('(');
    const steps: Step[] = [];
    while (!this.#takeIf(')')) {
      this.#takeIf(',');
      // `&field` is handed on as it is: what sorts by it asks each element.
      const isReference = this.#takeIf('&');
      const step = this.expression(0);
      steps.push(isReference ? () => step : step);
    }
    return (whole) => make(...steps.map((step) => step(whole)));
  }

  #take(): Token {
    const token = this.#tokens[this.#at];
    if (token === undefined) {
      throw this.#wrong();
    }
    this.#at += 1;
    return token;
  }

  #isNext(text: string): boolean {
    const token = this.#tokens[this.#at];
    return token?.kind === 'sign' && token.text === text;
  }

  #takeIf(text: string): boolean {
    const isThere = this.#isNext(text);
    this.#at += isThere ? 1 : 0;
    return isThere;
  }

  #expect(text: string): void {
    if (!this.#takeIf(text)) {
      throw this.#wrong();
    }
  }

  #wrong(): Error {
    const at = this.#tokens[this.#at - 1]?.text ?? 'its end';
    return invalidArgument(`--query: ${JSON.stringify(this.#text)} is no query, near ${at}`);
  }
}

function field(name: string): Step {
  return (whole) => (isObject(whole) && Object.hasOwn(whole, name) ? whole[name] : null);
}

function onObject(value: unknown, step: Step): unknown {
  return value === null || value === undefined ? null : step(value);
}

function valuesOf(value: unknown): unknown {
  return isObject(value) ? Object.values(value) : null;
}

/** Each element of a list through a step, without those of which nothing comes. */
function projection(left: Step, rest: Step): Step {
  return (whole) => {
    const list = left(whole);
    return Array.isArray(list)
      ? list.map((item: unknown) => rest(item)).filter((item) => item !== null && item !== undefined)
      : null;
  };
}

function flattened(left: Step, rest: Step): Step {
  return projection((whole) => {
    const list = left(whole);
    return Array.isArray(list) ? list.flat(1) : null;
  }, rest);
}

function sliced(value: unknown, [start, end, step = 1]: readonly (number | undefined)[]): unknown {
  if (!Array.isArray(value) || step === 0) {
    return null;
  }
  const list: unknown[] = step > 0 ? value.slice(start, end) : value.toReversed();
  return list.filter((_item, index) => index % Math.abs(step) === 0);
}

function compare(sign: string, left: unknown, right: unknown): unknown {
  if (sign === '==' || sign === '!=') {
    return (JSON.stringify(left) === JSON.stringify(right)) === (sign === '==');
  }
  if (typeof left !== 'number' || typeof right !== 'number') {
    return null;
  }
  return sign === '<'
    ? left < right
    : sign === '<='
      ? left <= right
      : sign === '>'
        ? left > right
        : left >= right;
}

/** JMESPath: null, false, and what is empty are false. */
function isTrue(value: unknown): boolean {
  if (value === null || value === undefined || value === false || value === '') {
    return false;
  }
  return typeof value === 'object' ? Object.keys(value).length > 0 : true;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

function order(a: unknown, b: unknown): number {
  return typeof a === 'number' && typeof b === 'number' ? a - b : String(a) < String(b) ? -1 : 1;
}

function keyed(reference: unknown): Step {
  return (item) => (typeof reference === 'function' ? reference(item) : null);
}

const FUNCTIONS: Readonly<Record<string, (...given: unknown[]) => unknown>> = {
  contains: (whole, part) =>
    typeof whole === 'string'
      ? whole.includes(String(part))
      : listOf(whole).some((item) => compare('==', item, part)),
  ends_with: (text, end) => String(text).endsWith(String(end)),
  join: (glue, list) => listOf(list).join(String(glue)),
  keys: (value) => Object.keys(isObject(value) ? value : {}),
  length: (value) =>
    typeof value === 'string' ? Array.from(value).length : Object.keys(Object(value)).length,
  max: (list) => listOf(list).toSorted(order).at(-1) ?? null,
  min: (list) => listOf(list).toSorted(order)[0] ?? null,
  not_null: (...given) => given.find((value) => value !== null && value !== undefined) ?? null,
  reverse: (list) => listOf(list).toReversed(),
  sort: (list) => listOf(list).toSorted(order),
  sort_by: (list, by) => listOf(list).toSorted((a, b) => order(keyed(by)(a), keyed(by)(b))),
  starts_with: (text, start) => String(text).startsWith(String(start)),
  sum: (list) => listOf(list).reduce((sum: number, item) => sum + Number(item), 0),
  to_number: (value) => (Number.isNaN(Number(value)) ? null : Number(value)),
  to_string: (value) => (typeof value === 'string' ? value : JSON.stringify(value)),
  type: (value) => (value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value),
  values: (value) => valuesOf(value),
};
