import { posix } from 'node:path';
import type { ContextEntry } from '../../../storage/contexts/entries.ts';
import type { SentContext } from '../../../storage/contexts/sources.ts';
import { ContextTree } from '../../../storage/contexts/tree.ts';
import { toBytes } from '../../../storage/files/view.ts';
import { invariant, notFound } from '../../base/errors.ts';
import { VertexProgress } from '../control/vertex-progress.ts';
import { literal } from '../graph/literal.ts';
import type { CopyFiles } from '../graph/op.ts';
import { WHOLE } from '../graph/whole.ts';
import { BuildTree } from '../snapshots/tree.ts';
import type { ContextLoading, MainContext } from './main-context.ts';

/** What lies in a directory of a context, as a context. Throws not_found. */
export async function subdirectoryOf(
  build: ContextLoading,
  { tree, used }: MainContext,
  directory: string,
): Promise<MainContext> {
  const { content } = tree;
  const found =
    content.kind === 'files'
      ? below(tree.hold(), content.context, directory)
      : await copied(build, tree, directory);
  return { tree: found, isFile: false, used, [Symbol.dispose]: () => found[Symbol.dispose]() };
}

/** `tree` is given back with the answer. */
function below(tree: BuildTree, { tree: files, fd, isBare }: SentContext, directory: string): BuildTree {
  const found = files.find(toBytes(directory));
  if (found === undefined || (found.entry !== undefined && found.entry.member.type !== 'directory')) {
    tree[Symbol.dispose]();
    throw notFound(`contextsubdir ${JSON.stringify(directory)}: no such directory of the context`);
  }
  const skipped = found.path === '' ? 0 : found.path.length + 1;
  const entries = [...files.below(found.path)].map((entry): [string, ContextEntry] => {
    const path = entry.path.slice(skipped);
    return [path, { ...entry, path }];
  });
  const context = { tree: new ContextTree(new Map(entries)), fd, isBare };
  return new BuildTree({ kind: 'files', context }, () => tree[Symbol.dispose]());
}

async function copied(
  { held, solver, vertices, session, signal }: ContextLoading,
  tree: BuildTree,
  directory: string,
): Promise<BuildTree> {
  using kept = held.keep(tree);
  const source = literal(posix.resolve('/', directory));
  const copy: CopyFiles = { ...WHOLE, sources: [source] };
  const whole = {
    op: { kind: 'held', id: kept.id },
    inputs: [],
    name: '[internal] load build context',
  } as const;
  const vertex = {
    op: { kind: 'files', actions: [copy] },
    inputs: [undefined, whole],
    name: `copy ${directory} /`,
  } as const;
  const progress = new VertexProgress(vertices, [vertex]);
  const [made] = await solver.solve([vertex], { session: session.id, progress, signal });
  invariant(made !== undefined, 'a vertex has a tree');
  return made;
}
