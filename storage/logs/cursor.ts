import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { errnoOf } from '../../daemon/base/errors.ts';
import type { LogPosition } from './segments.ts';

/** How far a log was delivered, and what was not. */
export interface DeliveryCursor extends LogPosition {
  /** Lines given up because the receiver did not take them. */
  dropped: number;
}

const START: DeliveryCursor = { generation: 0, offset: 0, dropped: 0 };

/** The cursor beside the log; the start of the log when there is none, or none that can be read after a power cut. */
export function readCursor(path: string): DeliveryCursor {
  try {
    const value: unknown = JSON.parse(readFileSync(cursorPath(path), 'utf8'));
    return isCursor(value) ? value : START;
  } catch (error) {
    if (errnoOf(error) === 'ENOENT' || error instanceof SyntaxError) {
      return START;
    }
    throw error;
  }
}

/** Atomic, not synced: after a power cut some lines are delivered twice, none is left out. */
export function writeCursor(path: string, cursor: DeliveryCursor): void {
  const draft = `${cursorPath(path)}.new`;
  writeFileSync(draft, JSON.stringify(cursor), { mode: 0o600 });
  renameSync(draft, cursorPath(path));
}

function cursorPath(path: string): string {
  return `${path}.cursor`;
}

function isCursor(value: unknown): value is DeliveryCursor {
  return (
    typeof value === 'object' &&
    value !== null &&
    'generation' in value &&
    'offset' in value &&
    'dropped' in value &&
    [value.generation, value.offset, value.dropped].every(Number.isSafeInteger)
  );
}
