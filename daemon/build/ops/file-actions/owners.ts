import { openReadRoot } from '../../../../storage/contexts/roots.ts';
import type { FilesView } from '../../../../storage/files/view.ts';
import type { Made } from '../../graph/op.ts';
import type { BuildTree } from '../../snapshots/tree.ts';
import { openTree } from '../open-tree.ts';
import { ownerOf as ownerIn } from '../owner.ts';
import type { OpDeps } from '../ports.ts';

/** Actions on a tree. */
export interface FilesWork {
  deps: OpDeps;
  /** The tree that is changed. */
  view: FilesView;
  inputs: readonly (BuildTree | undefined)[];
  signal: AbortSignal;
}

/** Names are looked up in account files; without a group it is that of the user's name, or number. */
export async function ownerOf(
  { deps, view, inputs }: FilesWork,
  { owner, accounts }: Pick<Made, 'owner' | 'accounts'>,
): Promise<{ uid: number; gid: number }> {
  if (owner === '' || accounts === undefined) {
    return ownerIn(deps, view, owner);
  }
  await using read = await openReadRoot(deps, openTree(deps, inputs[accounts]));
  return ownerIn(deps, read.view, owner);
}
