import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { errnoOf, errorText } from '../../daemon/base/errors.ts';

/** A file of the kernel and what is to stand in it. */
export interface FileWrite {
  file: string;
  value: string;
}

/** What the kernel said to a write that it takes in no order. */
export class RefusedWrite extends Error {
  readonly write: FileWrite;

  constructor(write: FileWrite, cause: unknown) {
    super(errorText(cause), { cause });
    this.write = write;
  }
}

/** Codes by which the kernel may say "not before another limit has changed". */
const TRY_LATER = new Set(['EINVAL', 'EBUSY', 'ENOSPC', 'ERANGE']);

/**
 * Writes all, in an order that the kernel takes: what it refuses is tried again after something else has changed.
 * Throws RefusedWrite when nothing moves any more; `onWritten` has been told of all that was written until then. On a
 * pool thread: lowering a memory limit reclaims what is above it.
 */
export async function applyWrites(
  writes: readonly FileWrite[],
  onWritten: (write: FileWrite) => void = () => undefined,
): Promise<void> {
  let pending = [...writes];
  while (pending.length > 0) {
    const refused: RefusedWrite[] = [];
    for (const write of pending) {
      try {
        await writeFile(write);
        onWritten(write);
      } catch (error) {
        refused.push(new RefusedWrite(write, error));
      }
    }
    const hopeless = refused.find(({ cause }) => !TRY_LATER.has(errnoOf(cause) ?? ''));
    if (hopeless !== undefined) {
      throw hopeless;
    }
    if (refused.length === pending.length && refused[0] !== undefined) {
      throw refused[0];
    }
    pending = refused.map(({ write }) => write);
  }
}

async function writeFile({ file, value }: FileWrite): Promise<void> {
  // Never create: a missing control file means that this kernel has none.
  const handle = await open(file, constants.O_WRONLY);
  try {
    // An empty list (a cpuset that is inherited) has to be written as an empty line: nothing at all is no write.
    await handle.write(value === '' ? '\n' : value);
  } finally {
    await handle.close();
  }
}
