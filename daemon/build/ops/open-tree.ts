import { layersOfTree, type BuildTree } from '../snapshots/tree.ts';
import type { BuildLayers } from '../ports.ts';

/** Directories of a tree's layers, topmost first. */
export function openTree({ layers }: { layers: BuildLayers }, tree: BuildTree | undefined): string[] {
  return layers.lowers(layersOfTree(tree));
}
