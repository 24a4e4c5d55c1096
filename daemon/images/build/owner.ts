import type { FilesView } from '../../../storage/files/view.ts';
import type { Build } from './state.ts';

/** Who owns what `--chown` copies: names are looked up in the image; without a group it is that of the user's name. */
export function findOwner({ deps }: Build, view: FilesView, chown: string): { uid: number; gid: number } {
  const [user = '', group = ''] = chown.split(':', 2);
  return deps.resolveUser(view.root, `${user}:${group || user}`);
}
