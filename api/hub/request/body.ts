import type { IncomingMessage } from 'node:http';
import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import { EngineError, invalidArgument } from '../../../daemon/base/errors.ts';
import { InvalidFieldsError, type InvalidField } from '../../../daemon/base/invalid-fields.ts';
import { limits } from '../../../daemon/base/limits.ts';
import { readBytes, UnreadBodyError } from '../../pipeline/body.ts';
import { hasMoreValues, parseJson } from '../../pipeline/json-body.ts';

/** JSON Schema of a body that is an object. `secret` marks fields whose values no error repeats. */
export interface BodySchema {
  /** Kind of object, for errors. */
  title: string;
  type: 'object';
  properties: Readonly<Record<string, object>>;
  required?: readonly string[];
  additionalProperties?: boolean;
  /** A body of this type is not JSON, but the text of this field. */
  text?: { mediaType: string; field: string };
  /** How much a body of JSON may be; absent = as of any request. */
  bytesMax?: number;
  valuesMax?: number;
}

/**
 * The object that a request sends, whatever it calls its type: curl says it is a form. Throws invalid_argument in
 * GitHub's words, InvalidFieldsError with all that is wrong.
 */
export async function readObject(
  req: IncomingMessage,
  schema: BodySchema,
  validator: BodyValidator,
): Promise<unknown> {
  const bytes = await readBytes(req, schema.bytesMax);
  const { valuesMax = Infinity } = schema;
  const plain = plainText(req, bytes, schema);
  if (plain === undefined && hasMoreValues(bytes, valuesMax)) {
    throw invalidArgument(`Body should have at most ${valuesMax} values`);
  }
  const body = plain ?? (bytes.length === 0 ? {} : parsed(bytes));
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw invalidArgument('Body should be a JSON object');
  }
  validator.check(schema, body);
  return body;
}

/** Undefined = it is none. Throws invalid_argument for what is not UTF-8. */
function plainText(req: IncomingMessage, bytes: Buffer, { text }: BodySchema): object | undefined {
  const [type = ''] = (req.headers['content-type'] ?? '').split(';');
  if (text === undefined || type.trim().toLowerCase() !== text.mediaType) {
    return undefined;
  }
  try {
    return { [text.field]: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes) };
  } catch (error) {
    throw invalidArgument('Body should be UTF-8', { cause: error });
  }
}

function parsed(bytes: Buffer): unknown {
  try {
    return parseJson(bytes, limits.requestJsonDepthMax);
  } catch (error) {
    if (error instanceof EngineError && !(error instanceof UnreadBodyError)) {
      throw invalidArgument('Problems parsing JSON', { cause: error });
    }
    throw error;
  }
}

/** Checks bodies. A schema is compiled when its route is first used. */
export class BodyValidator {
  #ajv: Ajv | undefined;
  readonly #compiled = new Map<BodySchema, ValidateFunction>();

  /** Throws InvalidFieldsError that names each field. */
  check(schema: BodySchema, body: object): void {
    let validate = this.#compiled.get(schema);
    if (validate === undefined) {
      this.#ajv ??= new Ajv({
        strict: true,
        allErrors: true,
        verbose: true,
        allowUnionTypes: true,
        keywords: ['secret'],
        meta: false,
        validateSchema: false,
        code: { optimize: false },
      });
      // What is of ours alone stays out.
      const { text: _, bytesMax: __, valuesMax: ___, ...own } = schema;
      validate = this.#ajv.compile(own);
      this.#compiled.set(schema, validate);
    }
    if (!validate(body)) {
      throw new InvalidFieldsError((validate.errors ?? []).map((error) => describe(schema, error)));
    }
  }
}

function describe({ title, properties }: BodySchema, error: ErrorObject): InvalidField {
  const inside = error.instancePath.split('/').slice(1);
  const own = ownField(error);
  const field = [...inside, ...(own === undefined ? [] : [own])].join('.');
  const [top = ''] = field.split('.');
  const isSecret = 'secret' in (properties[top] ?? {});
  if (error.keyword === 'required') {
    return { resource: title, field, code: 'missing_field', message: 'is missing' };
  }
  if (error.keyword === 'additionalProperties') {
    return { resource: title, field, code: 'invalid', message: 'is not a field of this request' };
  }
  return {
    resource: title,
    field,
    code: 'invalid',
    message: error.message ?? 'is wrong',
    ...(!isSecret && { value: error.data }),
  };
}

function ownField({ keyword, params }: ErrorObject): string | undefined {
  const found: unknown =
    keyword === 'required'
      ? params['missingProperty']
      : keyword === 'additionalProperties'
        ? params['additionalProperty']
        : undefined;
  return typeof found === 'string' ? found : undefined;
}
