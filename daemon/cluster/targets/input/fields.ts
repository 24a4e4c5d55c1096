import { InvalidFieldsError, type InvalidField } from '../../../base/invalid-fields.ts';

interface TextRule {
  min?: number;
  max: number;
  /** Of the whole text. */
  pattern?: RegExp;
  /** What it has to be, for the error: `must begin with /`. */
  must: string;
}

/**
 * Reads a JSON body field by field and gathers all that is wrong with it, so that one answer names every field.
 * Names in errors are dotted paths, `config.healthCheck.port`.
 */
export class Fields {
  readonly #value: Readonly<Record<string, unknown>>;
  readonly #path: string;
  readonly #resource: string;
  readonly problems: InvalidField[];

  /** `resource`: kind of the object that is read, `TargetGroup`. A body that is no object is a problem as well. */
  constructor(body: unknown, resource: string, path = '', problems: InvalidField[] = []) {
    this.#resource = resource;
    this.#path = path;
    this.problems = problems;
    this.#value = isObject(body) ? body : {};
    if (!isObject(body)) {
      this.wrong('', path === '' ? 'the body must be an object' : 'must be an object', body);
    }
  }

  has(name: string): boolean {
    return this.#value[name] !== undefined && this.#value[name] !== null;
  }

  /** Refuses fields that stand in no list of the interface: a misspelt one must not be passed over. */
  only(...names: readonly string[]): void {
    for (const name of Object.keys(this.#value)) {
      if (!names.includes(name)) {
        this.wrong(name, `is not known; known are ${names.join(', ')}`, this.#value[name]);
      }
    }
  }

  text(name: string, { min = 1, max, pattern, must }: TextRule): string | undefined {
    const value = this.#value[name];
    if (!this.has(name)) {
      return undefined;
    }
    const isRight =
      typeof value === 'string' &&
      value.length >= min &&
      value.length <= max &&
      (pattern?.test(value) ?? true);
    return isRight ? value : this.wrong(name, must, value);
  }

  required<T>(name: string, read: (name: string) => T | undefined): T | undefined {
    if (!this.has(name)) {
      this.problems.push({ ...this.#problem(name, 'is required'), code: 'missing_field' });
      return undefined;
    }
    return read(name);
  }

  integer(name: string, min: number, max: number): number | undefined {
    const value = this.#value[name];
    if (!this.has(name)) {
      return undefined;
    }
    const isRight = typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max;
    return isRight ? value : this.wrong(name, `must be a whole number from ${min} to ${max}`, value);
  }

  choice<T extends string>(name: string, choices: readonly T[]): T | undefined {
    const value = this.#value[name];
    if (!this.has(name)) {
      return undefined;
    }
    return (
      choices.find((choice) => choice === value) ?? this.wrong(name, `must be ${choices.join(' or ')}`, value)
    );
  }

  flag(name: string): boolean | undefined {
    const value = this.#value[name];
    if (!this.has(name)) {
      return undefined;
    }
    return typeof value === 'boolean' ? value : this.wrong(name, 'must be true or false', value);
  }

  /** The fields below a field that is an object; undefined = it is absent. */
  inside(name: string): Fields | undefined {
    return this.has(name)
      ? new Fields(this.#value[name], this.#resource, this.#pathOf(name), this.problems)
      : undefined;
  }

  /** The elements of a list of objects; `name` without them where it is no list of that length. */
  elements(name: string, min: number, max: number): Fields[] {
    const value = this.#value[name];
    if (!this.has(name)) {
      return [];
    }
    if (!Array.isArray(value) || value.length < min || value.length > max) {
      this.wrong(
        name,
        `must be a list of ${min} to ${max} objects`,
        Array.isArray(value) ? value.length : value,
      );
      return [];
    }
    return value.map(
      (element: unknown, index) =>
        new Fields(element, this.#resource, `${this.#pathOf(name)}[${index}]`, this.problems),
    );
  }

  /** Names and values as they were sent. */
  entries(): [string, unknown][] {
    return Object.entries(this.#value);
  }

  value(name: string): unknown {
    return this.#value[name];
  }

  /** Notes a problem. Answers undefined, for what is read. */
  wrong(name: string, must: string, value?: unknown): undefined {
    this.problems.push(this.#problem(name, must, value));
    return undefined;
  }

  /** Throws InvalidFieldsError with every problem noted so far. */
  refuse(): void {
    if (this.problems.length > 0) {
      throw new InvalidFieldsError(this.problems);
    }
  }

  #problem(name: string, message: string, value?: unknown): InvalidField {
    const field = name === '' ? this.#path : this.#pathOf(name);
    return {
      resource: this.#resource,
      field,
      code: 'invalid',
      message,
      ...(value !== undefined && { value }),
    };
  }

  #pathOf(name: string): string {
    return this.#path === '' ? name : `${this.#path}.${name}`;
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
