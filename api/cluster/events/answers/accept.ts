import { EngineError } from '../../../../daemon/base/errors.ts';

/** How a client wants objects: as they are, or as rows of a table (Kubernetes: `as=Table`). */
export type Form = 'object' | 'table';

const JSON_TYPES = new Set(['application/json', 'application/*', '*/*']);

/** The first of the header's types that is served. Throws for a client that takes none of them (406). */
export function formOf(accept: string | undefined): Form {
  if (accept === undefined || accept.trim() === '') {
    return 'object';
  }
  for (const entry of accept.split(',')) {
    const [type = '', ...parameters] = entry.split(';').map((part) => part.trim());
    if (!JSON_TYPES.has(type.toLowerCase())) {
      continue;
    }
    const given = new Map(parameters.map((parameter) => [...split(parameter)]));
    const as = given.get('as');
    if (as === undefined) {
      return 'object';
    }
    if (as === 'Table' && given.get('g') === 'meta.k8s.io' && given.get('v') === 'v1') {
      return 'table';
    }
  }
  throw new EngineError(
    'invalid_argument',
    'only the following media types are accepted: application/json, application/json;as=Table;v=v1;g=meta.k8s.io',
    { details: { reason: 'NotAcceptable' } },
  );
}

function split(parameter: string): [string, string] {
  const at = parameter.indexOf('=');
  return at < 0 ? [parameter, ''] : [parameter.slice(0, at), parameter.slice(at + 1)];
}
