import { invariant } from '../../daemon/base/errors.ts';
import { encodeHeader } from '../tar/encode.ts';

/** One member of a tarball that we write. Names are ours: short, ASCII. */
export interface WrittenMember {
  name: string;
  kind: 'file' | 'directory' | 'symlink';
  size?: number;
  target?: string;
  /** Seconds since the epoch. */
  mtime: number;
}

const MODES = { file: 0o644, symlink: 0o777, directory: 0o755 };

/** A header of root's. */
export function writeHeader({ name, kind, size = 0, target = '', mtime }: WrittenMember): Buffer {
  invariant(name.length <= 100 && target.length <= 100, `tar member name ${name}`);
  return encodeHeader({
    name,
    type: kind,
    linkName: target,
    size,
    mode: MODES[kind],
    uid: 0,
    gid: 0,
    mtime: { seconds: Math.max(0, Math.floor(mtime)), nanoseconds: 0 },
  });
}
