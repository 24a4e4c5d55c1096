import { isDeepStrictEqual } from 'node:util';
import { badRequest } from '../problems.ts';

/** One operation of RFC 6902, as it was sent. */
interface Operation {
  op: string;
  path: string;
  from: string;
  value: unknown;
  hasValue: boolean;
}

/** Names that lead out of what JSON can say. */
const UNSAFE = new Set(['__proto__', 'constructor', 'prototype']);

/** RFC 6902. Changes a copy of the document and answers it. Throws invalid_argument that names the operation. */
export function applyJsonPatch(document: unknown, patch: unknown): unknown {
  if (!Array.isArray(patch)) {
    throw badRequest('a JSON patch must be an array of operations');
  }
  const root = { document: structuredClone(document) };
  patch.forEach((entry: unknown, index) => perform(root, operationOf(entry, index)));
  return root.document;
}

function operationOf(entry: unknown, index: number): Operation {
  const fields = new Map<string, unknown>(Object.entries(Object(entry)));
  const [op, path, from] = [fields.get('op'), fields.get('path'), fields.get('from')];
  if (typeof op !== 'string' || typeof path !== 'string') {
    throw badRequest(`operation ${index} of the JSON patch needs "op" and "path"`);
  }
  const needsFrom = op === 'move' || op === 'copy';
  if (needsFrom && typeof from !== 'string') {
    throw badRequest(`operation ${index} of the JSON patch needs "from"`);
  }
  return {
    op,
    path,
    from: typeof from === 'string' ? from : '',
    value: fields.get('value'),
    hasValue: fields.has('value'),
  };
}

function perform(root: { document: unknown }, { op, path, from, value, hasValue }: Operation): void {
  if (!hasValue && (op === 'add' || op === 'replace' || op === 'test')) {
    throw badRequest(`${op} operation of the JSON patch at ${path} needs "value"`);
  }
  switch (op) {
    case 'add':
      put(root, path, structuredClone(value));
      break;
    case 'replace':
      get(root, path);
      put(root, path, structuredClone(value), true);
      break;
    case 'remove':
      remove(root, path);
      break;
    case 'copy':
      put(root, path, structuredClone(get(root, from)));
      break;
    case 'move': {
      const moved = get(root, from);
      remove(root, from);
      put(root, path, moved);
      break;
    }
    case 'test':
      if (!isDeepStrictEqual(get(root, path), value)) {
        throw badRequest(`testing value ${path} failed`);
      }
      break;
    default:
      throw badRequest(`unexpected operation kind of a JSON patch: ${op}`);
  }
}

function tokensOf(path: string): string[] {
  if (path !== '' && !path.startsWith('/')) {
    throw badRequest(`the path of a JSON patch must begin with /: ${path}`);
  }
  const tokens = path
    .split('/')
    .slice(1)
    .map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'));
  const unsafe = tokens.find((token) => UNSAFE.has(token));
  if (unsafe !== undefined) {
    throw badRequest(`the path of a JSON patch must not have ${unsafe}: ${path}`);
  }
  return tokens;
}

function get(root: { document: unknown }, path: string): unknown {
  let value = root.document;
  for (const token of tokensOf(path)) {
    value = child(value, token, path);
  }
  return value;
}

function child(value: unknown, token: string, path: string): unknown {
  if (Array.isArray(value)) {
    const item: unknown = value[indexOf(value, token, path)];
    return item;
  }
  if (typeof value === 'object' && value !== null && Object.hasOwn(value, token)) {
    return fieldsOf(value)[token];
  }
  throw missing(path);
}

function put(root: { document: unknown }, path: string, value: unknown, isReplacing = false): void {
  const tokens = tokensOf(path);
  const last = tokens.pop();
  if (last === undefined) {
    root.document = value;
    return;
  }
  const parent = parentOf(root, tokens, path);
  if (!Array.isArray(parent)) {
    parent[last] = value;
  } else if (isReplacing) {
    parent[indexOf(parent, last, path)] = value;
  } else if (last === '-') {
    parent.push(value);
  } else {
    parent.splice(indexOf(parent, last, path, parent.length), 0, value);
  }
}

function remove(root: { document: unknown }, path: string): void {
  get(root, path);
  const tokens = tokensOf(path);
  const last = tokens.pop() ?? '';
  const parent = parentOf(root, tokens, path);
  if (Array.isArray(parent)) {
    parent.splice(indexOf(parent, last, path), 1);
  } else {
    delete parent[last];
  }
}

function parentOf(
  root: { document: unknown },
  tokens: readonly string[],
  path: string,
): unknown[] | Record<string, unknown> {
  let value = root.document;
  for (const token of tokens) {
    value = child(value, token, path);
  }
  if (Array.isArray(value)) {
    return value;
  }
  if (typeof value !== 'object' || value === null) {
    throw missing(path);
  }
  return fieldsOf(value);
}

function fieldsOf(value: object): Record<string, unknown> {
  // An object of parsed JSON has nothing but such fields.
  return value as Record<string, unknown>;
}

function indexOf(array: readonly unknown[], token: string, path: string, max = array.length - 1): number {
  const index = /^(0|[1-9]\d{0,8})$/.test(token) ? Number(token) : NaN;
  if (!(index <= max)) {
    throw badRequest(`invalid index in the path of a JSON patch: ${path}`);
  }
  return index;
}

function missing(path: string): Error {
  return badRequest(`the path of a JSON patch does not exist: ${path}`);
}
