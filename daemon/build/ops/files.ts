import { openWriteRoot } from '../../../storage/contexts/roots.ts';
import { failpoint } from '../../base/failpoint.ts';
import type { FilesOp } from '../graph/op.ts';
import type { PinnedLayers } from '../ports.ts';
import { layersOfTree } from '../snapshots/tree.ts';
import { composeFiles } from './compose.ts';
import { copy } from './file-actions/copy.ts';
import { copyExactly } from './file-actions/exact-copy.ts';
import { makeDirectory, makeFile, makeLink } from './file-actions/make.ts';
import type { FilesWork } from './file-actions/owners.ts';
import { removeFiles } from './file-actions/remove.ts';
import { openTree } from './open-tree.ts';
import type { OpDeps } from './ports.ts';

/** Changes to a tree without a process: all of them become one layer. */
export async function runFiles(
  deps: OpDeps,
  op: FilesOp,
  { inputs, signal, warn }: Pick<FilesWork, 'inputs' | 'signal' | 'warn'>,
): Promise<PinnedLayers> {
  const composed = await composeFiles(deps, op, { inputs, signal, warn });
  if (composed.layers !== undefined) {
    return composed.layers;
  }
  const { found } = composed;
  const { actions } = op;
  const [base] = inputs;
  await using root = await openWriteRoot(deps, openTree(deps, base));
  const work: FilesWork = { deps, view: root.view, inputs, signal, warn, ...(found && { found }) };
  for (const action of actions) {
    signal.throwIfAborted();
    switch (action.action) {
      case 'mkdir':
        await makeDirectory(work, action);
        break;
      case 'mkfile':
        await makeFile(work, action);
        break;
      case 'symlink':
        await makeLink(work, action);
        break;
      case 'rm':
        await removeFiles(work, action);
        break;
      case 'copy':
        await (action.exact === undefined ? copy(work, action) : copyExactly(work, action, action.exact));
        break;
    }
  }
  failpoint('build.ops.files');
  await using tar = await root.layer(signal);
  // On a full disk there is no room for them twice: they become the layer, or go before it is unpacked.
  const files = await root.close();
  return await deps.layers.commit(layersOfTree(base), { tar, files }, signal);
}
