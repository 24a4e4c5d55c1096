import type { FilesView } from '../../../storage/files/view.ts';
import type { OpDeps } from './ports.ts';

export const ROOT = { uid: 0, gid: 0 };

/** Names are looked up in the tree; without a group it is that of the user's name; `''` is root. */
export function ownerOf(
  deps: Pick<OpDeps, 'resolveUser'>,
  view: FilesView,
  owner: string,
): { uid: number; gid: number } {
  if (owner === '') {
    return ROOT;
  }
  const [user = '', group = ''] = owner.split(':', 2);
  return deps.resolveUser(view.root, `${user}:${group || user}`);
}
