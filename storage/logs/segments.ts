import { existsSync, readdirSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { ifThere } from '../../daemon/base/errors.ts';

/**
 * A container's log is a row of files, oldest first:
 *
 *   container.log.7.gz   rotated and compressed
 *   container.log.8      rotated
 *   container.log        what the monitor writes now: generation 9, one more than the newest rotated
 *
 * A rotation renames the last of them and nothing else, so a place in the log (generation and offset) stays true for as
 * long as the file is kept, under any name. The newest rotated file is always kept: it is what the generations are
 * counted from.
 */
export interface LogSegment {
  generation: number;
  path: string;
  kind: 'current' | 'rotated' | 'compressed';
}

/** A place in a log: bytes of the (uncompressed) file of this generation. */
export interface LogPosition {
  generation: number;
  offset: number;
}

/** All files of the log at `path`, oldest first; the last is the current one, which may not exist (yet). */
export function listSegments(path: string): LogSegment[] {
  const rotated = new Map<number, LogSegment>();
  for (const name of namesBeside(path)) {
    const match = /^(\d+)(\.gz)?$/.exec(name);
    const generation = Number(match?.[1]);
    if (match === null || !Number.isSafeInteger(generation)) {
      continue;
    }
    const kind = match[2] === undefined ? 'rotated' : 'compressed';
    // Both are there while a file is being replaced by its compressed self: the original is whole.
    if (kind === 'rotated' || !rotated.has(generation)) {
      rotated.set(generation, { generation, kind, path: `${path}.${name}` });
    }
  }
  const sorted = [...rotated.values()].toSorted((a, b) => a.generation - b.generation);
  const generation = (sorted.at(-1)?.generation ?? 0) + 1;
  return [...sorted, { generation, path, kind: 'current' }];
}

/** The path of a rotated file. */
export function rotatedPath(path: string, generation: number): string {
  return `${path}.${generation}`;
}

/** Where the next file of the monitor is prepared; the monitor renames it to the log's own name. */
export function draftPath(path: string): string {
  return `${path}.tmp`;
}

/** Removes that preparation when no rotation will use it. */
export function removeDraft(path: string): void {
  rmSync(draftPath(path), { force: true });
}

/** False between a rotation and the monitor's first look at its new file, and before the first start. */
export function hasCurrent(path: string): boolean {
  return existsSync(path);
}

/** Where the next record will be written. */
export function endOfLog(path: string): LogPosition {
  const segments = listSegments(path);
  // Between a rotation and the monitor's new file it still writes to the one that was rotated.
  const last = segments.findLast(({ path: file }) => existsSync(file));
  const generation = last?.generation ?? segments.at(-1)?.generation ?? 0;
  return { generation, offset: last === undefined ? 0 : statSync(last.path).size };
}

/** Removes what a daemon that was killed left half-made: compressed files, and those made to be read. */
export function removeDrafts(path: string): void {
  const names = namesBeside(path);
  for (const name of names) {
    const isReplaced = /^\d+\.gz$/.test(name) && names.includes(name.slice(0, -'.gz'.length));
    if (isReplaced || /^\d+\.(gz\.tmp|reading-\w+)$/.test(name)) {
      rmSync(`${path}.${name}`, { force: true });
    }
  }
}

/** What follows `<path>.` in the names of the directory. */
function namesBeside(path: string): string[] {
  const prefix = `${basename(path)}.`;
  const names = ifThere(() => readdirSync(dirname(path))) ?? [];
  return names.filter((name) => name.startsWith(prefix)).map((name) => name.slice(prefix.length));
}

/** Bytes of a log's directory entry that readers unpack compressed files to. */
export function readingPath(segment: LogSegment, unique: string): string {
  return join(dirname(segment.path), `${basename(segment.path, '.gz')}.reading-${unique}`);
}
