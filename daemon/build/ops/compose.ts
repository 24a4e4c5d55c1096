import { requestOf } from '../../../storage/contexts/place-source.ts';
import { openReadRoot } from '../../../storage/contexts/roots.ts';
import type { PlaceRequest } from '../../../storage/files/place.ts';
import type { ComposedFiles } from '../../../storage/layers/compose/plan.ts';
import { failpoint } from '../../base/failpoint.ts';
import type { CopyFiles, FilesOp } from '../graph/op.ts';
import type { PinnedLayers } from '../ports.ts';
import { layersOfTree } from '../snapshots/tree.ts';
import { openTree } from './open-tree.ts';
import type { FilesWork } from './file-actions/owners.ts';
import { ownerOf } from './owner.ts';
import type { OpDeps } from './ports.ts';
import { findSources } from './sources.ts';

/**
 * The layer of one COPY of a client's files, without an overlay: what they come over is only looked at. Undefined where
 * there is more to do than that.
 */
export async function composeFiles(
  deps: OpDeps,
  { actions }: FilesOp,
  { inputs, signal, warn }: Pick<FilesWork, 'inputs' | 'signal' | 'warn'>,
): Promise<PinnedLayers | undefined> {
  const [action] = actions;
  if (actions.length !== 1 || action?.action !== 'copy' || action.keepsParents || !isOfDockerfile(action)) {
    return undefined;
  }
  const from = inputs[action.from];
  if (from?.content.kind !== 'files') {
    return undefined;
  }
  const found = await findSources(deps, from, { sources: action.sources, signal });
  const source = found.length === 1 ? found[0]?.source : undefined;
  if (source?.kind !== 'member' || (action.unpacks && source.unpacks)) {
    return undefined;
  }
  const [base] = inputs;
  await using root = await openReadRoot(deps, openTree(deps, base));
  const files = requestOf(root.view, {
    what: action.unpacks ? 'ADD' : 'COPY',
    source,
    target: action.destination,
    unpacks: false,
    owner: ownerOf(deps, root.view, action.owner, { warn, ...(action.isClassic && { isClassic: true }) }),
    keepsKinds: action.isClassic !== true,
    adjust: { exclude: action.exclude, chmod: action.chmod },
  });
  failpoint('build.ops.files');
  return isComposed(files) ? await deps.layers.compose(layersOfTree(base), files, signal) : undefined;
}

/** As COPY leaves it: a client's graph may ask for more. */
function isOfDockerfile({ exact, mtime, accounts }: CopyFiles): boolean {
  return exact === undefined && mtime === undefined && accounts === undefined;
}

function isComposed(request: PlaceRequest): request is ComposedFiles {
  return request.source.kind === 'members';
}
