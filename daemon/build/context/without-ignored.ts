import type { ContextEntry } from '../../../storage/contexts/entries.ts';
import type { SentContext } from '../../../storage/contexts/sources.ts';
import { ContextTree } from '../../../storage/contexts/tree.ts';
import { toText } from '../../../storage/files/view.ts';
import { ignoreTest } from '../../base/dockerfile/ignore.ts';
import { BuildTree } from '../snapshots/tree.ts';

/**
 * Files of a context without those that the patterns of a `.dockerignore` leave out; directories stay where something
 * in them does. `tree` is given back with the answer. Throws invalid_argument for a pattern that cannot be read.
 */
export function withoutIgnored(
  tree: BuildTree,
  { tree: files, fd, isBare }: SentContext,
  patterns: readonly string[],
): BuildTree {
  const isIgnored = ignoreTest(patterns.join('\n'));
  const all = [...files.below('')];
  const kept = new Map<string, ContextEntry>();
  // From the last to the first: what a directory holds stands behind it.
  const needed = new Set<string>();
  for (const entry of all.toReversed()) {
    if (needed.has(entry.path) || !isIgnored(toText(entry.path))) {
      kept.set(entry.path, entry);
      needed.add(entry.path.slice(0, Math.max(0, entry.path.lastIndexOf('/'))));
    }
  }
  const left = new Map([...kept].toReversed());
  const context = { tree: new ContextTree(left), fd, isBare };
  return new BuildTree({ kind: 'files', context }, () => tree[Symbol.dispose]());
}
