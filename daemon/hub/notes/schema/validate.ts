import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import type { InvalidField } from '../../../base/invalid-fields.ts';
import { limits } from '../../../base/limits.ts';
import type { NoteMetadata } from './metadata.ts';
import { NOTE_SCHEMA } from './note-schema.ts';

export type JudgedMetadata =
  | { metadata: NoteMetadata; problems?: undefined }
  | { problems: readonly InvalidField[] };

/** What the schema says of a note's metadata: right, or everything that is wrong with it, a problem for each field. */
export function judgeMetadata(value: unknown): JudgedMetadata {
  const validate = validator();
  if (validate(value)) {
    // The schema has said that it is.
    return { metadata: value as NoteMetadata };
  }
  const byField = new Map<string, InvalidField>();
  for (const error of validate.errors ?? []) {
    const problem = describe(error);
    // The first is about its type, those behind it follow from that.
    if (!byField.has(problem.field)) {
      byField.set(problem.field, problem);
    }
  }
  return { problems: [...byField.values()].slice(0, limits.hubNoteProblemsMax) };
}

let compiled: ValidateFunction | undefined;

/** Compiled when the first note is looked at. */
function validator(): ValidateFunction {
  if (compiled === undefined) {
    const ajv = new Ajv2020({
      strict: true,
      allErrors: true,
      verbose: true,
      allowUnionTypes: true,
      meta: false,
      validateSchema: false,
      code: { optimize: false },
    });
    // The module is CommonJS, whose default is what it exports.
    formats.default(ajv, ['uri', 'date']);
    compiled = ajv.compile(NOTE_SCHEMA);
  }
  return compiled;
}

function describe(error: ErrorObject): InvalidField {
  const inside = error.instancePath.split('/').slice(1).map(unescape);
  switch (error.keyword) {
    case 'required': {
      const field = [...inside, String(error.params['missingProperty'])].join('.');
      return { resource: 'Note', field, code: 'missing_field', message: 'is missing' };
    }
    case 'additionalProperties': {
      const name = String(error.params['additionalProperty']);
      const message = 'is not a field of the metadata of a note';
      const value = valueOf(error.data, name);
      return { resource: 'Note', field: [...inside, name].join('.'), code: 'invalid', message, value };
    }
    default:
      return {
        resource: 'Note',
        field: inside.length === 0 ? 'metadata' : inside.join('.'),
        code: 'invalid',
        message: messageOf(error),
        value: error.data,
      };
  }
}

function messageOf({ keyword, params, message }: ErrorObject): string {
  const allowed: unknown = keyword === 'enum' ? params['allowedValues'] : undefined;
  return Array.isArray(allowed)
    ? `must be one of ${allowed.map((value) => value ?? 'null').join(', ')}`
    : (message ?? 'is wrong');
}

function valueOf(data: unknown, name: string): unknown {
  return typeof data === 'object' && data !== null
    ? Object.getOwnPropertyDescriptor(data, name)?.value
    : undefined;
}

/** A part of a JSON pointer (RFC 6901). */
function unescape(part: string): string {
  return part.replaceAll('~1', '/').replaceAll('~0', '~');
}
