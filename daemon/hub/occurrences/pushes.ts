import { createHash } from 'node:crypto';
import type { Mirror } from '../records/mirror.ts';
import type { Occurrence } from './occurrence.ts';

/** A tag that was made or moved. Records `last-push/<repository's id>`: the last one of each repository. */
export type Push = Extract<Occurrence, { kind: 'tag' }>;

export const PUSHES = 'last-push/';

/** The name of what has happened in all that tells of it, the same on all hosts: 32 hexadecimal digits. Pure. */
export function occurrenceId({ actor: _actor, ...occurrence }: Occurrence): string {
  const { atMs, kind, repository } = occurrence;
  const what =
    occurrence.kind === 'tag'
      ? [occurrence.tag, occurrence.before?.digest ?? '', occurrence.after?.digest ?? '']
      : [JSON.stringify(occurrence)];
  const text = JSON.stringify([kind, repository.id, atMs, ...what]);
  return createHash('sha256').update(text).digest('hex').slice(0, 32);
}

/** Tells each push once it is among the records, on all hosts that share them; a restart tells none again. */
export function followPushes(mirror: Mirror, told: (push: Push, id: string) => void): void {
  mirror.follow(PUSHES, (value) => {
    // `Intents` alone writes them.
    const push = value as Push;
    told(push, occurrenceId(push));
  });
}
