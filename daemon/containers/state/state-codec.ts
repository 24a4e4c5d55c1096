import { EngineError } from '../../base/errors.ts';
import type { ContainerState } from './state.ts';

/** Fields that are bigints in memory; JSON has none, so the database holds them as decimal strings. */
const BIGINT_FIELDS = new Set(['startedAtNano', 'finishedAtNano', 'lastFinishedAtNano', 'nextAttemptNano']);

const STORED_STATUSES = new Set<unknown>([
  'created',
  'running',
  'paused',
  'restarting',
  'exited',
  'removing',
  'dead',
] satisfies ContainerState['status'][]);

/** A state as it goes into the database: plain JSON. */
export function encodeState(state: ContainerState): unknown {
  return mapFields(state, (value) => (typeof value === 'bigint' ? value.toString() : value));
}

/** A state as it came from the database. Throws internal when the row does not hold one. */
export function decodeState(stored: unknown): ContainerState {
  const state = mapFields(stored, (value, key) => {
    if (BIGINT_FIELDS.has(key) && typeof value === 'string' && /^-?\d+$/.test(value)) {
      return BigInt(value);
    }
    return value;
  });
  if (typeof state !== 'object' || state === null || !('status' in state) || !isWhole(state)) {
    throw new EngineError('internal', `the database holds no container state: ${JSON.stringify(stored)}`);
  }
  // Every field the union promises was checked by isWhole or written by encodeState of the same union.
  return state as ContainerState;
}

function isWhole(state: object): boolean {
  const fields = new Map(Object.entries(state));
  switch (fields.get('status')) {
    case 'running':
    case 'paused':
      return typeof fields.get('startedAtNano') === 'bigint' && typeof fields.get('process') === 'object';
    case 'restarting':
    case 'exited':
      return typeof fields.get('finishedAtNano') === 'bigint' && typeof fields.get('exitCode') === 'number';
    case 'removing':
    case 'dead': {
      const from = fields.get('from');
      return typeof from === 'object' && from !== null && isWhole(from);
    }
    default:
      return STORED_STATUSES.has(fields.get('status'));
  }
}

/** Rebuilds objects along the `from` chain only: a sandbox inside is JSON already and stays as it is. */
function mapFields(value: unknown, change: (value: unknown, key: string) => unknown): unknown {
  if (typeof value !== 'object' || value === null) {
    return value;
  }
  const result: Record<string, unknown> = {};
  for (const [key, field] of Object.entries(value)) {
    result[key] = key === 'from' ? mapFields(field, change) : change(field, key);
  }
  return result;
}
