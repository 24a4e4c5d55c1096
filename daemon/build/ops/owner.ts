import type { FilesView } from '../../../storage/files/view.ts';
import type { OpDeps } from './ports.ts';

export const ROOT = { uid: 0, gid: 0 };

/** How a name without an account is taken. */
export interface OwnerReading {
  /** As dockerd's classic builder does: it is refused. */
  isClassic?: boolean;
  /** As BuildKit does: it is root, and this is told of it. */
  warn: (text: string) => void;
}

/** Names are looked up in the tree; `''` is root. */
export function ownerOf(
  deps: Pick<OpDeps, 'resolveUser' | 'resolveOwner'>,
  view: FilesView,
  owner: string,
  { isClassic = false, warn }: OwnerReading,
): { uid: number; gid: number } {
  if (owner === '') {
    return ROOT;
  }
  if (isClassic) {
    const [user = '', group = ''] = owner.split(':', 2);
    return deps.resolveUser(view.root, `${user}:${group || user}`);
  }
  const { uid, gid, unknown } = deps.resolveOwner(view.root, owner);
  if (unknown.length > 0) {
    const names = unknown.join(' and ');
    warn(`[Warning] chown ${owner}: the image has no ${names}: the files belong to ${uid}:${gid}\n`);
  }
  return { uid, gid };
}
