import { posix } from 'node:path';
import { invalidArgument, invariant } from '../../../base/errors.ts';
import type { LocalSource, Vertex } from '../../graph/op.ts';
import type { Build, Stage } from '../stages/stage.ts';

/** The build's context; these paths of it are wanted. */
export function contextTree({ context, locals }: Build, paths: readonly string[]): Vertex {
  const wanted = context.op.kind === 'local' ? locals.get(context.op) : undefined;
  paths.forEach((path) => wanted?.add(posix.join('/', path)));
  return context;
}

/** Result of what a stage copies from. Throws invalid_argument with `problem` where it comes later. */
export function sourceTree(
  stage: Stage,
  from: string,
  { paths, problem }: { paths: readonly string[]; problem: string },
): Vertex | undefined {
  const source = stage.sources.get(from);
  invariant(source !== undefined, `no source ${from} was planned`);
  if (source.state === undefined || !source.isDone) {
    throw invalidArgument(problem);
  }
  const { state } = source;
  paths.forEach((path) => state.paths.add(posix.join('/', path)));
  return state.tree;
}

/** A client's directory, of which only what is wanted is asked for: its paths are set when all is read. */
export function localVertex(locals: Build['locals'], op: LocalSource, name: string): Vertex {
  const own = { ...op, followPaths: [...op.followPaths] };
  locals.set(own, new Set());
  return { op: own, inputs: [], name };
}

/** Sets them. A directory of which `/` is wanted is sent whole. */
export function setWantedPaths(locals: Build['locals']): void {
  for (const [op, wanted] of locals) {
    if (wanted.size > 0 && !wanted.has('/')) {
      op.followPaths = [...wanted].map((path) => path.slice(1)).toSorted();
    }
  }
}
