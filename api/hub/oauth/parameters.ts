import type { IncomingMessage } from 'node:http';
import { invalidArgument } from '../../../daemon/base/errors.ts';
import { limits } from '../../../daemon/base/limits.ts';
import { readBytes } from '../../pipeline/body.ts';
import { parseJson } from '../../pipeline/json-body.ts';

/** Where the parameters of a request may stand. */
export type ParameterPlaces =
  /** In the query, in a form or in JSON (seed 002 A: query; upstream: JSON). */
  | 'anywhere'
  /** In the body alone: addresses get into logs (RFC 6749, 2.3.1). */
  | 'body';

/** The parameters of a request for a token, by name. Throws invalid_argument, also for one that is sent twice. */
export async function readParameters(
  req: IncomingMessage,
  query: URLSearchParams,
  places: ParameterPlaces,
): Promise<Record<string, string>> {
  const bytes = await readBytes(req);
  if (
    places === 'body' &&
    ['client_secret', 'code', 'refresh_token', 'token'].some((name) => query.has(name))
  ) {
    throw invalidArgument('secrets must stand in the body, not in the address');
  }
  const body = bytes.length === 0 ? [] : bodyPairs(bytes, req.headers['content-type'] ?? '');
  const pairs = [...(places === 'anywhere' ? query : []), ...body];
  const found = new Map<string, string>();
  for (const [name, value] of pairs) {
    if (found.has(name) && found.get(name) !== value) {
      throw invalidArgument(`${name} was sent twice`);
    }
    found.set(name, value);
  }
  return Object.fromEntries(found);
}

function bodyPairs(bytes: Buffer, type: string): [string, string][] {
  if (/^application\/json\b/i.test(type)) {
    return jsonPairs(parseJson(bytes, limits.requestJsonDepthMax));
  }
  if (type !== '' && !/^application\/x-www-form-urlencoded\b/i.test(type)) {
    throw invalidArgument(
      `Content-Type must be application/x-www-form-urlencoded or application/json, not ${type.slice(0, 100)}`,
    );
  }
  const pairs = [...new URLSearchParams(bytes.toString('utf8'))];
  const twice = pairs.find(([name], index) => pairs.findIndex(([other]) => other === name) !== index);
  if (twice !== undefined) {
    throw invalidArgument(`${twice[0].slice(0, 100)} was sent twice`);
  }
  return pairs;
}

function jsonPairs(body: unknown): [string, string][] {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw invalidArgument('Body should be a JSON object');
  }
  return Object.entries(body).flatMap(([name, value]): [string, string][] => {
    if (value === null) {
      return [];
    }
    if (typeof value !== 'string') {
      throw invalidArgument(`${name} must be a string`);
    }
    return [[name, value]];
  });
}
