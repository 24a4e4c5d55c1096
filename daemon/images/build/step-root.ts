import { createHash } from 'node:crypto';
import type { LayerCommand } from '../../build/ports.ts';
import type { ImageContext } from '../context.ts';
import type { StepRoot } from './ports.ts';

/** What the container of a build stands on: layers, by the name that its image would have. */
export function stepRoot(
  { index }: Pick<ImageContext, 'index'>,
  { layerIds, files, variables }: Pick<LayerCommand, 'layerIds' | 'files' | 'variables'>,
): StepRoot {
  const chainId = layerIds.map((id) => index.layer(id)).at(-1)?.chainId ?? '';
  const id = chainId === '' ? `sha256:${createHash('sha256').digest('hex')}` : chainId;
  const root = { id, layerIds: [...layerIds], config: {}, os: 'linux', architecture: '' };
  return { root, files, variables };
}
