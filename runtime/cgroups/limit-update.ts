import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { errnoOf, errorText, internal } from '../../daemon/base/errors.ts';
import { failpoint } from '../../daemon/base/failpoint.ts';
import { RefusedWrite, applyWrites } from './apply-writes.ts';
import type { FileWrite } from './apply-writes.ts';
import { isGone, readControl } from './control-files.ts';
import type { CgroupLayout } from './detect.ts';
import { limitWrites } from './limits.ts';
import type { ControlWrite, LimitChanges } from './limits.ts';

/** Where one container's limits are. */
export interface LimitLocation {
  layout: CgroupLayout;
  /** The cgroup's path below the mount points. */
  relative: string;
  /** File that exists while an update is neither kept nor undone: a daemon that dies meanwhile finds it. */
  marker: string;
}

/** Limits that are in force, and not yet in the database. */
export interface LimitUpdate {
  /** The database has them. */
  keep(): void;
  /** Puts the old ones back. */
  undo(): Promise<void>;
}

interface Marker {
  tag: string;
  old: FileWrite[];
}

/**
 * Puts limits in force, all or none. Throws internal naming the limit and what the kernel said to it. Until `keep` or
 * `undo` of the answer, the old values lie in the marker.
 */
export async function changeLimits(
  place: LimitLocation,
  changes: LimitChanges,
  tag: string,
): Promise<LimitUpdate> {
  refuseTooLittleMemory(place, changes);
  const writes = limitWrites(place.layout.version, changes).flatMap((write) => resolve(place, write));
  const old = writes.map(({ file, line }) => ({ file, value: oldValue(file, line) }));
  const undo = async (): Promise<void> => {
    await writeUnlessGone(old);
    rmSync(place.marker, { force: true });
  };
  try {
    failpoint('runtime.limits.mark');
    writeMarker(place.marker, { tag, old });
    failpoint('runtime.limits.marked');
    await applyWrites(writes, () => failpoint('runtime.limits.written'));
  } catch (error) {
    await undo();
    if (!hasEnded(place, error)) {
      throw refusal(place, error);
    }
  }
  return {
    keep: () => {
      failpoint('runtime.limits.keep');
      rmSync(place.marker, { force: true });
    },
    undo,
  };
}

/** Undoes the update that a daemon left in the middle, unless what it was for (`tag`) is in the database by now. */
export async function settleLimits({ marker }: LimitLocation, tag: string): Promise<void> {
  if (!existsSync(marker)) {
    return;
  }
  // Replaced at a stroke, by changeLimits of the same version.
  const left = JSON.parse(readFileSync(marker, 'utf8')) as Marker;
  if (left.tag !== tag) {
    await writeUnlessGone(left.old);
  }
  rmSync(marker, { force: true });
}

/** At a stroke: half a marker could not be undone. */
function writeMarker(file: string, marker: Marker): void {
  writeFileSync(`${file}.new`, JSON.stringify(marker), { mode: 0o600 });
  renameSync(`${file}.new`, file);
}

function oldValue(file: string, line: ControlWrite['line']): string {
  const lines = (readControl(file) ?? '').split('\n').map((text) => text.trim());
  return line === undefined
    ? (lines[0] ?? '')
    : (lines.find((text) => text.startsWith(`${line.key} `)) ?? line.none);
}

function resolve(
  { layout, relative }: LimitLocation,
  write: ControlWrite,
): (FileWrite & Pick<ControlWrite, 'line'>)[] {
  const mountPoint = layout.version === 2 ? layout.unified : layout.controllers.get(write.controller);
  const directory = join(mountPoint ?? '', relative);
  const files = write.files.map((name) => join(directory, name));
  const file = files.find((path) => existsSync(path));
  if (file === undefined && existsSync(directory) && !write.mayLack) {
    throw internal(`this kernel has no ${write.files[0]}`);
  }
  return file === undefined ? [] : [{ file, value: write.value, ...(write.line && { line: write.line }) }];
}

async function writeUnlessGone(writes: readonly FileWrite[]): Promise<void> {
  try {
    await applyWrites(writes);
  } catch (error) {
    if (!(error instanceof RefusedWrite && isGone(error.cause))) {
      throw error;
    }
  }
}

/** The container has ended, and its cgroup with it: what it may use matters from its next start on. */
function hasEnded({ layout, relative }: LimitLocation, error: unknown): boolean {
  const cause = error instanceof RefusedWrite ? error.cause : error;
  return (
    isGone(cause) && !existsSync(join(layout.controllers.get('memory') ?? layout.unified ?? '', relative))
  );
}

/** Version 2 kills to get below a new limit; version 1 refuses it, as is better. */
function refuseTooLittleMemory({ layout, relative }: LimitLocation, { memory }: LimitChanges): void {
  if (layout.version !== 2 || layout.unified === null || memory === undefined || memory.limitBytes < 0) {
    return;
  }
  const directory = join(layout.unified, relative);
  if (unreclaimableBytes(directory) > memory.limitBytes) {
    throw internal(tooLittleMemory(memory.limitBytes, [join(directory, 'memory.current')]));
  }
}

/** runc's words for a memory limit below what is used; for others, the file and what the kernel said to it. */
function refusal({ layout, relative }: LimitLocation, error: unknown): Error {
  if (!(error instanceof RefusedWrite)) {
    return error instanceof Error ? error : internal(errorText(error));
  }
  const { file, value } = error.write;
  const memory = join(layout.controllers.get('memory') ?? '', relative);
  if (errnoOf(error.cause) === 'EBUSY' && file === join(memory, 'memory.limit_in_bytes')) {
    const uses = ['memory.usage_in_bytes', 'memory.max_usage_in_bytes'].map((name) => join(memory, name));
    return internal(tooLittleMemory(Number(value), uses), { cause: error });
  }
  return internal(`write ${value} to ${file}: ${error.message}`, { cause: error });
}

function tooLittleMemory(limitBytes: number, uses: readonly string[]): string {
  const [current = '?', peak] = uses.map((file) => readControl(file)?.trim());
  const peakText = peak === undefined ? '' : `, peak usage: ${peak}`;
  return `unable to set memory limit to ${limitBytes} (current usage: ${current}${peakText})`;
}

/** What a version 2 cgroup uses and the kernel cannot take away without killing or swapping. 0 when it is gone. */
function unreclaimableBytes(directory: string): number {
  const current = Number(readControl(join(directory, 'memory.current')) ?? 0);
  const stat = readControl(join(directory, 'memory.stat')) ?? '';
  const of = (key: string): number => Number(new RegExp(`^${key} (\\d+)$`, 'm').exec(stat)?.[1] ?? 0);
  return Math.max(0, current - of('active_file') - of('inactive_file') - of('slab_reclaimable'));
}
