import { createHash, randomInt } from 'node:crypto';

/** Who resources belong to. The original has an account's number there; an engine is one account. */
const ARN_START = 'arn:berth:vpc-lattice:local:000000000000:';

const LETTERS = '0123456789abcdefghijklmnopqrstuvwxyz';

/** A fresh id: `tg-`, `svc-` or `listener-`, and 17 characters. */
export function newResourceId(prefix: string): string {
  return prefix + Array.from({ length: 17 }, () => LETTERS[randomInt(LETTERS.length)]).join('');
}

export function groupArn(id: string): string {
  return `${ARN_START}targetgroup/${id}`;
}

export function serviceArn(id: string): string {
  return `${ARN_START}service/${id}`;
}

export function listenerArn(service: string, id: string): string {
  return `${ARN_START}service/${service}/listener/${id}`;
}

/** The id that an identifier means: an id as it is, or the last part of an ARN of ours. */
export function idOf(identifier: string): string {
  return identifier.startsWith(ARN_START) ? identifier.slice(identifier.lastIndexOf('/') + 1) : identifier;
}

/** SHA-256 of what a request asked for: whether a retry asks for the same. Order of properties counts for nothing. */
export function fingerprintOf(value: unknown): string {
  return createHash('sha256')
    .update(JSON.stringify(sorted(value)))
    .digest('hex');
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) {
    return value.map(sorted);
  }
  if (typeof value !== 'object' || value === null) {
    return value;
  }
  return Object.entries(value)
    .filter(([, part]) => part !== undefined && part !== null)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, part]) => [key, sorted(part)]);
}
