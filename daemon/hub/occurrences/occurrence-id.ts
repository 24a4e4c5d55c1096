import { createHash } from 'node:crypto';
import type { Occurrence } from './occurrence.ts';

/** An occurrence is never changed, and each delivery names it. */
const known = new WeakMap<Occurrence, string>();

/** The name of what has happened in all that tells of it, the same on all hosts: 32 hexadecimal digits. Pure. */
export function occurrenceId(occurrence: Occurrence): string {
  const id = known.get(occurrence) ?? made(occurrence);
  known.set(occurrence, id);
  return id;
}

function made({ actor: _actor, ...occurrence }: Occurrence): string {
  const { atMs, kind, repository } = occurrence;
  const what =
    occurrence.kind === 'tag'
      ? [occurrence.tag, occurrence.before?.digest ?? '', occurrence.after?.digest ?? '']
      : [JSON.stringify(occurrence)];
  const text = JSON.stringify([kind, repository.id, atMs, ...what]);
  return createHash('sha256').update(text).digest('hex').slice(0, 32);
}
