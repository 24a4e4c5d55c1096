import type { IncomingMessage } from 'node:http';
import { parseDocument } from 'yaml';
import { EngineError, errorText } from '../../../../daemon/base/errors.ts';
import { limits } from '../../../../daemon/base/limits.ts';
import { readBytes, UnreadBodyError } from '../../../pipeline/body.ts';
import { parseJson } from '../../../pipeline/json-body.ts';
import type { ClusterEvent } from '../../../types/cluster/events.ts';
import { badRequest, type FieldValidation } from '../parameters.ts';
import type { EventVersion } from '../version.ts';
import { conform } from './conform.ts';
import { duplicateFields } from './duplicates.ts';

/** A body as it was sent, parsed. */
export interface ParsedBody {
  value: unknown;
  /** Fields that an object has more than once. */
  duplicates: readonly string[];
}

/** The media type of a body, in lower case. */
export function mediaType(req: IncomingMessage): string {
  return (req.headers['content-type'] ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
}

export function unsupported(type: string, accepted: readonly string[]): EngineError {
  return new EngineError(
    'invalid_argument',
    `the body of the request was in an unknown format - accepted media types include: ${accepted.join(', ')}` +
      (type === '' ? '' : `; not ${type}`),
    { details: { reason: 'UnsupportedMediaType' } },
  );
}

const OBJECT_TYPES = ['application/json', 'application/yaml'];

/** An object in JSON or YAML. Throws for another type (415), one that is too large (413), and what cannot be parsed. */
export async function readObject(req: IncomingMessage, validation: FieldValidation): Promise<ParsedBody> {
  const type = mediaType(req);
  if (type !== '' && type !== '*/*' && !OBJECT_TYPES.includes(type)) {
    throw unsupported(type, OBJECT_TYPES);
  }
  const bytes = await bytesOf(req);
  return type === 'application/yaml' ? parseYaml(bytes) : parsed(bytes, validation);
}

/** A body that may be missing; undefined = it is. */
export async function readOptional(req: IncomingMessage): Promise<unknown> {
  const bytes = await bytesOf(req);
  return bytes.length === 0 ? undefined : parsed(bytes, 'Ignore').value;
}

/** JSON. */
export async function readJsonBody(req: IncomingMessage, validation: FieldValidation): Promise<ParsedBody> {
  return parsed(await bytesOf(req), validation);
}

/** YAML, of which JSON is a part. */
export async function readYamlBody(req: IncomingMessage): Promise<ParsedBody> {
  return parseYaml(await bytesOf(req));
}

/**
 * The event that an object is. What is unknown or there twice is refused or answered as warnings, as the client asks.
 * Throws invalid_argument.
 */
export function eventOf(
  { value, duplicates }: ParsedBody,
  version: EventVersion,
  validation: FieldValidation,
): { event: ClusterEvent; warnings: string[] } {
  const object = conform(value, version.schema);
  const problems = [
    ...duplicates.map((field) => `duplicate field "${field}"`),
    ...object.unknown.map((field) => `unknown field "${field}"`),
  ];
  if (validation === 'Strict' && problems.length > 0) {
    throw badRequest(
      `Event in version "v1" cannot be handled as a Event: strict decoding error: ${problems.join(', ')}`,
    );
  }
  const { apiVersion, kind } = object.value;
  if ((kind ?? 'Event') !== 'Event' || (apiVersion ?? version.apiVersion) !== version.apiVersion) {
    throw badRequest(
      `the API version in the data (${String(apiVersion)}, Kind=${String(kind)}) does not match the expected API ` +
        `version (${version.apiVersion}, Kind=Event)`,
    );
  }
  return { event: version.read(object.value), warnings: validation === 'Warn' ? problems : [] };
}

async function bytesOf(req: IncomingMessage): Promise<Buffer> {
  try {
    return await readBytes(req);
  } catch (error) {
    if (error instanceof UnreadBodyError) {
      throw new UnreadBodyError('invalid_argument', errorText(error), {
        cause: error,
        details: { reason: 'RequestEntityTooLarge' },
      });
    }
    throw error;
  }
}

function parsed(bytes: Buffer, validation: FieldValidation): ParsedBody {
  const value = parseJson(bytes, limits.requestJsonDepthMax);
  return { value, duplicates: validation === 'Ignore' ? [] : duplicateFields(bytes) };
}

function parseYaml(bytes: Buffer): ParsedBody {
  const document = parseDocument(bytes.toString('utf8'), { uniqueKeys: false, version: '1.2' });
  const [error] = document.errors;
  if (error !== undefined) {
    throw badRequest(`error converting YAML to JSON: ${error.message.split('\n', 1)[0]}`);
  }
  try {
    const value: unknown = document.toJS({ maxAliasCount: limits.clusterYamlAliasesMax });
    // YAML may say what JSON cannot: names that are no texts, and numbers without end.
    const json = Buffer.from(JSON.stringify(value) ?? 'null');
    return { value: parseJson(json, limits.requestJsonDepthMax), duplicates: yamlDuplicates(bytes) };
  } catch (problem) {
    throw badRequest(`error converting YAML to JSON: ${errorText(problem)}`);
  }
}

function yamlDuplicates(bytes: Buffer): string[] {
  const { errors } = parseDocument(bytes.toString('utf8'), { uniqueKeys: true, version: '1.2' });
  return errors
    .filter(({ code }) => code === 'DUPLICATE_KEY')
    .map(({ linePos }) => `line ${linePos?.[0].line ?? 0}`);
}
