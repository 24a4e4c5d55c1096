import { EngineError, invalidArgument } from '../../../daemon/base/errors.ts';
import type { EventSelection } from '../../types/cluster/events.ts';
import type { ClusterRequest } from '../family.ts';
import type { EventVersion } from './version.ts';

/** Throws invalid_argument that names the parameter. */
export function refuse(parameter: string, value: string, text: string): never {
  throw new EngineError(
    'invalid_argument',
    `${parameter}: Invalid value: ${JSON.stringify(value)}: ${text}`,
    {
      details: { reason: 'BadRequest' },
    },
  );
}

export function badRequest(message: string): EngineError {
  return invalidArgument(message, { details: { reason: 'BadRequest' } });
}

/** As Go's `strconv.ParseBool`; absent and empty = false. */
export function flag(query: URLSearchParams, name: string): boolean {
  const text = query.get(name) ?? '';
  if (/^(1|t|T|true|TRUE|True)$/.test(text)) {
    return true;
  }
  return text === '' || /^(0|f|F|false|FALSE|False)$/.test(text)
    ? false
    : refuse(name, text, 'must be true or false');
}

/** Undefined = absent. */
export function wholeNumber(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  if (text === null || text === '') {
    return undefined;
  }
  return /^\d{1,15}$/.test(text) ? Number(text) : refuse(name, text, 'must be a whole number');
}

/** `All`: nothing is kept. */
export function isDryRun(query: URLSearchParams): boolean {
  const values = query.getAll('dryRun').filter((value) => value !== '');
  const strange = values.find((value) => value !== 'All');
  return strange === undefined ? values.length > 0 : refuse('dryRun', strange, 'must be All');
}

export type FieldValidation = 'Ignore' | 'Warn' | 'Strict';

export function fieldValidation(query: URLSearchParams): FieldValidation {
  const text = query.get('fieldValidation') ?? '';
  switch (text) {
    case '':
      return 'Warn';
    case 'Ignore':
    case 'Warn':
    case 'Strict':
      return text;
    default:
      return refuse('fieldValidation', text, 'must be Ignore, Warn or Strict');
  }
}

/** Undefined = nobody is named. */
export function fieldManager(query: URLSearchParams): string | undefined {
  const text = query.get('fieldManager') ?? '';
  if (text.length > 128 || /[^\x20-\x7e\u{a1}-\u{10ffff}]/u.test(text)) {
    refuse('fieldManager', text, 'must be printable and at most 128 characters');
  }
  return text === '' ? undefined : text;
}

export function selectionOf({ params, query }: ClusterRequest, version: EventVersion): EventSelection {
  return {
    namespace: params['namespace'],
    fieldSelector: query.get('fieldSelector') ?? '',
    labelSelector: query.get('labelSelector') ?? '',
    fields: version.fields,
  };
}

/** A resource version as clients send it back; undefined = none. Throws invalid_argument. */
export function resourceVersion(query: URLSearchParams): number | undefined {
  const text = query.get('resourceVersion') ?? '';
  if (text === '') {
    return undefined;
  }
  return /^\d{1,16}$/.test(text)
    ? Number(text)
    : refuse('resourceVersion', text, 'must be a resource version');
}
