import type { Logger } from '../../base/logger.ts';
import { invariant, unreachable } from '../../base/errors.ts';
import { treeOf } from '../cache/records.ts';
import type { ImageSource, LocalSource, MergeOp, SentSource, Vertex } from '../graph/op.ts';
import { WHOLE } from '../graph/whole.ts';
import { BuildTree, layersOfTree } from '../snapshots/tree.ts';
import type { RunContext, SolverOps } from '../solver/ports.ts';
import { ContextTree } from '../../../storage/contexts/tree.ts';
import { runExec } from './exec.ts';
import { runFiles } from './files.ts';
import { runHttp } from './http.ts';
import { runGit } from './git.ts';
import { findImage } from './image.ts';
import type { OpDeps } from './ports.ts';

/** Does the operations of graphs, each by its kind. */
export class BuildOps implements SolverOps<BuildTree> {
  readonly #deps: OpDeps & { log: Logger };

  constructor(deps: OpDeps & { log: Logger }) {
    this.#deps = deps;
  }

  async run(
    vertex: Vertex,
    inputs: readonly (BuildTree | undefined)[],
    context: RunContext,
  ): Promise<BuildTree> {
    const { kind } = vertex.op;
    const position = inputs.findIndex(
      (input, at) => input?.content.kind === 'files' && (at === 0 || kind === 'merge'),
    );
    if (position === -1) {
      return await this.#run(vertex, inputs, context);
    }
    // Files that are no layers become one, where something stands on them.
    const whole = { inputs: [undefined, inputs[position]], signal: context.signal };
    using layer = treeOf(await runFiles(this.#deps, { kind: 'files', actions: [WHOLE] }, whole));
    return await this.run(vertex, inputs.with(position, layer), context);
  }

  async #run(
    { op, container }: Vertex,
    inputs: readonly (BuildTree | undefined)[],
    context: RunContext,
  ): Promise<BuildTree> {
    const { signal } = context;
    switch (op.kind) {
      case 'image':
        return await this.#image(op, context);
      case 'local':
        return await this.#local(op, context);
      case 'sent':
        return heldTree(op);
      case 'http':
        return await runHttp(this.#deps, op, context);
      case 'git':
        return await runGit(this.#deps, op, context);
      case 'held':
        return this.#deps.held.find(op.id).hold();
      case 'files':
        return treeOf(await runFiles(this.#deps, op, { inputs, signal }));
      case 'exec':
        return treeOf(await runExec(this.#deps, op, { inputs, context, container }));
      case 'merge':
        return await this.#merge(op, inputs, signal);
      default:
        return unreachable(op);
    }
  }

  async #image(op: ImageSource, context: RunContext): Promise<BuildTree> {
    return treeOf(await findImage(this.#deps, op, context));
  }

  /** The files stay with the client's session until the last build gives them back. */
  async #local(op: LocalSource, context: RunContext): Promise<BuildTree> {
    const { sessions, contexts, log } = this.#deps;
    const session = await sessions.get(op.session, context.signal);
    const { name, sharedKey, includePatterns, excludePatterns, followPaths } = op;
    const work = `transferring ${name}:`;
    let current = 0;
    const received = await contexts.receive(
      session,
      {
        directory: name,
        includePatterns,
        excludePatterns,
        followPaths,
        // Other patterns make another list: each is kept on its own.
        key:
          sharedKey === ''
            ? ''
            : JSON.stringify([name, sharedKey, includePatterns, excludePatterns, followPaths]),
        came: (bytes) => {
          current += bytes;
          context.work({ name: work, current, isDone: false });
        },
      },
      context.signal,
    );
    context.work({ name: work, current, isDone: true });
    const files = new Map([...received.files].map(([path, { entry }]) => [path, entry]));
    const content = { tree: new ContextTree(files), fd: received.spool.fd, isBare: false };
    return new BuildTree({ kind: 'files', context: content }, () => {
      void giveBack(received).catch((error: unknown) => {
        log.error({ err: error }, 'files of a client were not given back');
      });
    });
  }

  async #merge(
    _op: MergeOp,
    [below, above]: readonly (BuildTree | undefined)[],
    signal: AbortSignal,
  ): Promise<BuildTree> {
    return treeOf(await this.#deps.layers.stack(layersOfTree(below), layersOfTree(above), signal));
  }
}

function heldTree({ files }: SentSource): BuildTree {
  invariant(files instanceof BuildTree, 'files of another solver');
  return files.hold();
}

/** As a promise that can be caught. */
async function giveBack(received: AsyncDisposable): Promise<void> {
  await received[Symbol.asyncDispose]();
}
