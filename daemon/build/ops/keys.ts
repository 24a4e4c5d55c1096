import { createHash, randomUUID } from 'node:crypto';
import { posix } from 'node:path';
import { IMAGE_KEY } from '../cache/records.ts';
import { operationKey } from '../graph/key.ts';
import type { HeldSource, Op, Vertex } from '../graph/op.ts';
import { invariant, InvariantError, unreachable } from '../../base/errors.ts';
import { BuildTree } from '../snapshots/tree.ts';
import type { HeldTree, RunContext, SolverKeys, SourceKey } from '../solver/ports.ts';
import { positionsRead } from '../solver/reads.ts';
import { chainIds } from '../../../storage/layers/chain.ts';
import { findImage } from './image.ts';
import { findLayoutOf } from './layout.ts';
import { gitKey } from './git.ts';
import { httpKey } from './http.ts';
import type { OpDeps } from './ports.ts';
import { literal } from '../graph/literal.ts';
import { findSources, readingOf, type Wanted } from './sources.ts';

/** Keys of operations on real trees. */
export class BuildKeys implements SolverKeys {
  readonly #deps: OpDeps;

  constructor(deps: OpDeps) {
    this.#deps = deps;
  }

  async ofSource(vertex: Vertex, context: RunContext): Promise<SourceKey> {
    const { op } = vertex;
    switch (op.kind) {
      case 'image': {
        const { layerIds, pin, id, digest } = await findImage(this.#deps, op, context);
        using _held = pin;
        const { reference, platform } = op;
        context.used({ kind: 'image', reference, platform, digest: digest || id });
        return { key: this.#keyOfLayers(layerIds), isLasting: true };
      }
      case 'layout': {
        const { layers } = await findLayoutOf(this.#deps, op, context);
        const { store, digest, platform } = op;
        context.used({ kind: 'layout', store, digest, platform });
        const chainId = chainIds(layers.map(({ diffId }) => diffId)).at(-1) ?? '';
        return { key: `${IMAGE_KEY}${chainId}`, isLasting: true };
      }
      case 'local':
      case 'sent':
        context.used({ kind: 'local', name: op.kind === 'local' ? op.name : 'context' });
        return { key: `${op.kind} ${randomUUID()}`, isLasting: false };
      case 'http':
        return await httpKey(this.#deps, op, context);
      case 'git':
        return await gitKey(this.#deps, op, context);
      case 'held':
        context.used({ kind: 'held', id: op.id });
        return this.#held(op);
      case 'files':
      case 'exec':
      case 'merge':
      case 'diff':
      case 'result':
        throw new InvariantError(`${op.kind} is no source`);
      default:
        return unreachable(op);
    }
  }

  /** Layers by what they are; other files are this tree's alone. */
  #held({ id }: HeldSource): SourceKey {
    const content = this.#deps.held.content(id);
    return content.kind === 'layers'
      ? { key: this.#keyOfLayers(content.layerIds), isLasting: true }
      : { key: `held ${id}`, isLasting: false };
  }

  ofOperation(vertex: Vertex, inputs: readonly (string | undefined)[]): string {
    return operationKey(vertex.op, inputs);
  }

  ofResults(
    vertex: Vertex,
    known: readonly (string | undefined)[],
    inputs: readonly (HeldTree | undefined)[],
  ): string | undefined {
    const read = positionsRead(vertex.op);
    const keys = inputs.map((tree, position) => {
      if (tree === undefined || read.includes(position)) {
        return { key: known[position] };
      }
      invariant(tree instanceof BuildTree, 'a tree of another solver');
      const { content } = tree;
      return content.kind === 'layers' ? { key: this.#keyOfLayers(content.layerIds) } : undefined;
    });
    return keys.includes(undefined)
      ? undefined
      : operationKey(
          vertex.op,
          keys.map((each) => each?.key),
        );
  }

  /** As an image of them has it. */
  #keyOfLayers(layerIds: readonly number[]): string {
    return `${IMAGE_KEY}${this.#deps.layers.chainId(layerIds)}`;
  }

  /** By the files that are named, in the order of their names: what else is in the tree does not count. */
  async ofContent(vertex: Vertex, position: number, tree: HeldTree, signal: AbortSignal): Promise<string> {
    invariant(tree instanceof BuildTree, 'a tree of another solver');
    const { content } = tree;
    const read = sourcesRead(vertex.op, position);
    if (
      content.kind === 'layers' &&
      read.flatMap(({ sources }) => sources).some((path) => posix.resolve('/', path) === '/')
    ) {
      // All of it: its layers say what that is, and nothing need be read.
      return `layers ${this.#deps.layers.chainId(content.layerIds)}`;
    }
    const hash = createHash('sha256');
    for (const wanted of read) {
      const found = await findSources(this.#deps, tree, { ...wanted, signal });
      const facts = found.map(({ source, asked }) => [
        asked,
        // `--parents` makes all of it below the destination.
        wanted.isDeep === true ? source.path : source.name,
        source.isDirectory,
        source.digest,
      ]);
      hash.update(`${JSON.stringify(facts)}\n`);
    }
    return `content ${hash.digest('hex')}`;
  }
}

/** Account files that may not be there. */
const ACCOUNTS = ['/etc/passw[d]', '/etc/grou[p]'];

/** What an operation reads of an input: patterns, action by action. */
function sourcesRead(op: Op, position: number): Wanted[] {
  switch (op.kind) {
    case 'files':
      return op.actions.flatMap((action) => [
        ...(action.action === 'copy' && action.from === position
          ? [{ sources: action.sources, ...readingOf(action) }]
          : []),
        ...(action.action !== 'rm' && action.accounts === position ? [{ sources: ACCOUNTS }] : []),
      ]);
    case 'exec':
      return op.mounts.flatMap((mount) =>
        mount.type === 'bind' && mount.from === position ? [{ sources: [literal(mount.source)] }] : [],
      );
    case 'image':
    case 'layout':
    case 'local':
    case 'sent':
    case 'http':
    case 'git':
    case 'held':
    case 'merge':
    case 'diff':
    case 'result':
      return [];
    default:
      return unreachable(op);
  }
}
