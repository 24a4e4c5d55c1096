import { invariant } from '../../daemon/base/errors.ts';
import { encodeHeader } from '../tar/encode.ts';

/** One member of a tarball that we write. Names are ours: short, ASCII. */
export interface WrittenMember {
  name: string;
  kind: 'file' | 'directory';
  size?: number;
  /** Seconds since the epoch. */
  mtime: number;
}

const MODES = { file: 0o644, directory: 0o755 };

/** A header of root's. */
export function writeHeader({ name, kind, size = 0, mtime }: WrittenMember): Buffer {
  invariant(name.length <= 100, `tar member name ${name}`);
  return encodeHeader({
    name,
    type: kind,
    size,
    mode: MODES[kind],
    uid: 0,
    gid: 0,
    mtime: { seconds: Math.max(0, Math.floor(mtime)), nanoseconds: 0 },
  });
}
