import { parsePlatform } from '../../../storage/image/platform.ts';
import { findLayout, type LayoutImage } from '../context/image-layout.ts';
import type { LayoutSource } from '../graph/op.ts';
import type { PinnedLayers } from '../ports.ts';
import type { RunContext } from '../solver/ports.ts';
import type { OpDeps } from './ports.ts';

/** What an image in a layout of the client consists of; none of its layers comes. */
export async function findLayoutOf(
  { sessions }: Pick<OpDeps, 'sessions'>,
  { store, digest, session: id, platform, layerLimit }: LayoutSource,
  { signal }: RunContext,
): Promise<LayoutImage> {
  const session = await sessions.get(id, signal);
  const asked = parsePlatform(platform, 'platform');
  const found = await findLayout(session, { store, digest }, { platform: asked, signal });
  return { ...found, layers: found.layers.slice(0, layerLimit) };
}

/** Brings its layers here, sizes and digests checked. */
export async function receiveLayout(
  deps: Pick<OpDeps, 'sessions' | 'remoteLayers'>,
  op: LayoutSource,
  context: RunContext,
): Promise<PinnedLayers> {
  const { layers, source } = await findLayoutOf(deps, op, context);
  return await deps.remoteLayers.receive(layers, source, context.signal);
}
