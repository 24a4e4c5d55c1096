import { Ajv } from 'ajv';
import type { ErrorObject, ValidateFunction } from 'ajv';
import { EngineError, invalidArgument } from '../../daemon/base/errors.ts';
import { NO_NUL } from './schema.ts';
import type { Schema } from './schema.ts';

/** Longest piece of a wrong value that an error repeats. */
const VALUE_CHARACTERS_MAX = 80;

/** Validates bodies. A schema is compiled when its route is first used: start-up and idle memory pay for none. */
export class Validator {
  #ajv: Ajv | undefined;
  readonly #compiled = new Map<Schema, ValidateFunction>();

  /** Throws invalid_argument that names the field, what it must be and what it was. */
  check(schema: Schema, value: unknown): void {
    let validate = this.#compiled.get(schema);
    if (validate === undefined) {
      // Optimizing the code takes half of the time that compiling the largest schema stops the event loop for, and
      // saves nothing that can be measured when a body is checked. A unit test checks that the schemas are valid: the
      // schema of schemas takes as long to compile as all of ours.
      this.#ajv ??= new Ajv({
        strict: false,
        verbose: true,
        meta: false,
        validateSchema: false,
        code: { optimize: false },
      });
      validate = this.#ajv.compile(schema);
      this.#compiled.set(schema, validate);
    }
    if (!validate(value)) {
      throw describe(schema, validate.errors?.[0]);
    }
  }
}

function describe(schema: Schema, error: ErrorObject | undefined): EngineError {
  if (error === undefined) {
    return invalidArgument('invalid request body');
  }
  const names = namesIn(error.instancePath);
  const where = names.length === 0 ? 'invalid request body' : `invalid value for field ${names.join('.')}`;
  const got = isSecret(schema, names) ? kindOf(error.data) : shown(error.data);
  return invalidArgument(`${where}: ${rule(error)}, got ${got}`);
}

function kindOf(value: unknown): string {
  if (typeof value === 'object' && value !== null) {
    return Array.isArray(value) ? 'a list' : 'an object';
  }
  return `a ${typeof value}`;
}

/** Lists and objects by their kind: what is in them is not what is wrong. */
function shown(value: unknown): string {
  if (typeof value === 'object' && value !== null) {
    return kindOf(value);
  }
  const text = JSON.stringify(value) ?? 'nothing';
  return text.length > VALUE_CHARACTERS_MAX ? `${text.slice(0, VALUE_CHARACTERS_MAX)}...` : text;
}

/** True when the field, one above it or one that belongs into it holds what is not to be repeated. */
function isSecret(schema: Schema, names: readonly string[]): boolean {
  let here: Schema | undefined = schema;
  for (const name of names) {
    if (here === undefined || here.secret) {
      break;
    }
    here = here.properties?.[name] ?? here.items ?? here.additionalProperties;
  }
  return here !== undefined && holdsSecret(here);
}

function holdsSecret({ secret, properties = {}, items, additionalProperties }: Schema): boolean {
  const below = [...Object.values(properties), items, additionalProperties];
  return secret === true || below.some((schema) => schema !== undefined && holdsSecret(schema));
}

function rule(error: ErrorObject): string {
  const { keyword, params } = error;
  if (keyword === 'pattern' && params['pattern'] === NO_NUL) {
    return 'must not contain a NUL character';
  }
  if (keyword === 'enum' && Array.isArray(params['allowedValues'])) {
    return `must be one of ${params['allowedValues'].map((value) => `"${String(value)}"`).join(', ')}`;
  }
  return error.message ?? `must satisfy ${keyword}`;
}

/** `/HostConfig/PortBindings/80~1tcp/0` -> `HostConfig`, `PortBindings`, `80/tcp`, `0`. */
function namesIn(pointer: string): string[] {
  return pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
}
