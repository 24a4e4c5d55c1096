import type { Occurrence } from './occurrence.ts';

/** A tag that was made or moved. Records `last-push/<repository's id>`: the last one of each repository. */
export type Push = Extract<Occurrence, { kind: 'tag' }>;

export const PUSHES = 'last-push/';
