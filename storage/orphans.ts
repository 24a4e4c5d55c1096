import { existsSync, mkdirSync, readdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** A mark in the directory of a container whose removal could not be finished: its files may be deleted. */
const REMOVED = 'removed';
/** What a creation makes before there is a row. */
const SKELETON = new Set(['upper', 'work', 'merged']);

/**
 * Whether the directory of a container that no row names may hold data worth keeping: anything that it wrote, or that
 * was kept for it. A creation that was interrupted has left an empty skeleton; a removal takes the directory away
 * before the row goes, and leaves a mark where it cannot.
 */
export function isWorthKeeping(directory: string): boolean {
  const names = namesIn(directory);
  if (names.includes(REMOVED)) {
    return false;
  }
  return names.some((name) => !SKELETON.has(name)) || namesIn(join(directory, 'upper')).length > 0;
}

/** Marks a directory that may be deleted. Throws when its disk takes no file; nothing is done when it is not there. */
export function markRemoved(directory: string): void {
  if (existsSync(directory)) {
    writeFileSync(join(directory, REMOVED), '');
  }
}

/**
 * Whether the directory says that its container was removed, even if a row is still there: it bears the mark, or is the
 * empty one that `leaveEmpty` has left. A directory that is not there says nothing: its disk may not be mounted.
 */
export function isRemoved(directory: string): boolean {
  return isEmpty(directory) || namesIn(directory).includes(REMOVED);
}

/** Whether a directory is there, and nothing in it. */
export function isEmpty(directory: string): boolean {
  return existsSync(directory) && readdirSync(directory).length === 0;
}

/**
 * Takes a container's directory away to `hidden`, and leaves an empty one in its place: one of its own, as a full disk
 * takes no new one. It says that the container was removed until its row can.
 */
export function leaveEmpty(directory: string, hidden: string): void {
  renameSync(directory, hidden);
  const empty = join(hidden, 'merged');
  if (existsSync(empty)) {
    renameSync(empty, directory);
  }
}

/** Takes something out of the way without losing it, to `quarantine/<kind>/<name>`; answers where it is now. */
export function setAside(
  dataRoot: string,
  path: string,
  { kind, name }: { kind: 'layers' | 'containers'; name: string },
): string {
  const folder = join(dataRoot, 'quarantine', kind);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  let target = join(folder, name);
  for (let number = 2; existsSync(target); number += 1) {
    target = join(folder, `${name}.${number}`);
  }
  renameSync(path, target);
  return target;
}

/** Names in a directory; none when it is not there. */
export function namesIn(path: string): string[] {
  return existsSync(path) ? readdirSync(path) : [];
}
