import { openReadRoot } from '../../../../storage/contexts/roots.ts';
import type { FilesView } from '../../../../storage/files/view.ts';
import type { CopyFiles, Made } from '../../graph/op.ts';
import type { BuildTree } from '../../snapshots/tree.ts';
import { openTree } from '../open-tree.ts';
import { ownerOf as ownerIn } from '../owner.ts';
import type { OpDeps } from '../ports.ts';
import type { FoundSource } from '../sources.ts';

/** Actions on a tree. */
export interface FilesWork {
  deps: OpDeps;
  /** The tree that is changed. */
  view: FilesView;
  inputs: readonly (BuildTree | undefined)[];
  signal: AbortSignal;
  /** The sources of the only action, where they were looked for already: that reads them all. */
  found?: readonly FoundSource[];
  /** Shown with the step. */
  warn: (text: string) => void;
}

/** Names are looked up in account files. */
export async function ownerOf(
  { deps, view, inputs, warn }: FilesWork,
  { owner, accounts, isClassic }: Pick<Made, 'owner' | 'accounts'> & Pick<CopyFiles, 'isClassic'>,
): Promise<{ uid: number; gid: number }> {
  const reading = { warn, ...(isClassic && { isClassic }) };
  if (owner === '' || accounts === undefined) {
    return ownerIn(deps, view, owner, reading);
  }
  await using read = await openReadRoot(deps, openTree(deps, inputs[accounts]));
  return ownerIn(deps, read.view, owner, reading);
}
