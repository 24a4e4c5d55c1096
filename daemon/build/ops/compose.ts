import { requestOf } from '../../../storage/contexts/place-source.ts';
import { openReadRoot } from '../../../storage/contexts/roots.ts';
import { failpoint } from '../../base/failpoint.ts';
import type { CopyFiles, FilesOp } from '../graph/op.ts';
import type { PinnedLayers } from '../ports.ts';
import { layersOfTree } from '../snapshots/tree.ts';
import { openTree } from './open-tree.ts';
import type { FilesWork } from './file-actions/owners.ts';
import { ownerOf } from './owner.ts';
import type { OpDeps } from './ports.ts';
import { findSources, type FoundSource } from './sources.ts';

/** `found`: its sources, where there is more to do. */
type ComposedOrNot = { layers: PinnedLayers } | { layers?: undefined; found?: readonly FoundSource[] };

/**
 * The layer of one COPY, without an overlay: what the files come over is only looked at. None where there is more to
 * do than that.
 */
export async function composeFiles(
  deps: OpDeps,
  { actions }: FilesOp,
  { inputs, signal, warn }: Pick<FilesWork, 'inputs' | 'signal' | 'warn'>,
): Promise<ComposedOrNot> {
  const [action] = actions;
  if (actions.length !== 1 || action?.action !== 'copy' || action.keepsParents || !isOfDockerfile(action)) {
    return {};
  }
  const from = inputs[action.from];
  const found = await findSources(deps, from, { sources: action.sources, signal });
  const source = found.length === 1 ? found[0]?.source : undefined;
  if (source === undefined || (action.unpacks && source.kind === 'member' && source.unpacks)) {
    return { found };
  }
  const [base] = inputs;
  await using root = await openReadRoot(deps, openTree(deps, base));
  await using read = source.kind === 'tree' ? await openReadRoot(deps, openTree(deps, from)) : undefined;
  const isClassic = action.isClassic === true;
  const owner = ownerOf(deps, root.view, action.owner, { warn, ...(isClassic && { isClassic }) });
  const files = requestOf(root.view, {
    what: action.unpacks ? 'ADD' : 'COPY',
    source,
    target: action.destination,
    unpacks: false,
    // Files of another tree keep whose they are.
    ...((read === undefined || action.owner !== '') && { owner }),
    ...(read && { sourceView: read.view }),
    keepsKinds: !isClassic,
    adjust: { exclude: action.exclude, chmod: action.chmod },
  });
  failpoint('build.ops.files');
  const layers = await deps.layers.compose(layersOfTree(base), files, signal);
  return layers === undefined ? { found } : { layers };
}

/** As COPY leaves it: a client's graph may ask for more. */
function isOfDockerfile({ exact, mtime, accounts }: CopyFiles): boolean {
  return exact === undefined && mtime === undefined && accounts === undefined;
}
