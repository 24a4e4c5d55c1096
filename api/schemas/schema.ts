/**
 * The part of JSON Schema that request bodies need, as ajv takes it, with builders. One schema drives three things:
 * finding fields whatever their case (as Go's encoding/json does), dropping nulls (which mean "not set" to Go), and
 * validation.
 */
export interface Schema {
  type: 'object' | 'array' | 'string' | 'integer' | 'number' | 'boolean';
  nullable?: boolean;
  properties?: Readonly<Record<string, Schema>>;
  additionalProperties?: Schema;
  items?: Schema;
  minItems?: number;
  maxItems?: number;
  minimum?: number;
  maximum?: number;
  pattern?: string;
  enum?: readonly string[];
  /** The value may be a password: errors and logs do not repeat it. */
  secret?: true;
}

/** No field of the API may hold a NUL: sooner or later it is a path or an argument, where the kernel cuts it. */
export const NO_NUL = '^[^\\u0000]*$';

export const text: Schema = { type: 'string', pattern: NO_NUL };
export const flag: Schema = { type: 'boolean' };
/** With a fraction. */
export const ratio: Schema = { type: 'number' };

/** int64 on the wire; what a JSON number cannot carry exactly is refused rather than rounded. */
export const integer: Schema = {
  type: 'integer',
  minimum: Number.MIN_SAFE_INTEGER,
  maximum: Number.MAX_SAFE_INTEGER,
};
export const unsigned: Schema = { type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER };

export const texts: Schema = listOf(text);

export function listOf(items: Schema): Schema {
  return { type: 'array', items };
}

/** `{Name: value}` with any names. */
export function mapOf(values: Schema): Schema {
  return { type: 'object', additionalProperties: values };
}

/** Known fields only; others are dropped, because an engine ignores the fields of newer clients. */
export function struct(properties: Record<string, Schema>): Schema {
  return { type: 'object', properties };
}

/** For values of maps and lists, where null is a value of its own. */
export function orNull(schema: Schema): Schema {
  return { ...schema, nullable: true };
}

/** For fields whose values may be passwords. */
export function secret(schema: Schema): Schema {
  return { ...schema, secret: true };
}

export function oneOf(...values: string[]): Schema {
  return { type: 'string', enum: values };
}
