import type { Sparse } from '../../../daemon/base/wire/protobuf.ts';
import type { SentStat } from '../../types/build/session.ts';
import type { StatMessage } from '../proto/session.ts';
import { goMode } from '../session/go-mode.ts';

/** What is told of a file. */
export function statMessage(stat: SentStat): Sparse<StatMessage> {
  const { path, uid, gid, size, mtime, linkName } = stat;
  return {
    path: Buffer.from(path, 'latin1'),
    mode: goMode(stat),
    uid,
    gid,
    size,
    modTime: mtime,
    linkName: Buffer.from(linkName, 'latin1'),
  };
}
