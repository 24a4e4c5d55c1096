import type { Logger } from '../../base/logger.ts';
import { invariant, unreachable } from '../../base/errors.ts';
import { treeOf } from '../cache/records.ts';
import { freshCaches } from '../graph/fresh-caches.ts';
import type { ImageSource, LocalSource, MergeOp, MountResult, Op, SentSource, Vertex } from '../graph/op.ts';
import { WHOLE } from '../graph/whole.ts';
import { BuildTree, layersOfTree } from '../snapshots/tree.ts';
import type { RunContext, SolverOps } from '../solver/ports.ts';
import { ContextTree } from '../../../storage/contexts/tree.ts';
import { runDiff } from './diff.ts';
import { runExec } from './exec.ts';
import { runFiles } from './files.ts';
import { runHttp } from './http.ts';
import { runGit } from './git.ts';
import { findImage } from './image.ts';
import { receiveLayout } from './layout.ts';
import type { OpDeps } from './ports.ts';

/** Does the operations of graphs, each by its kind. */
export class BuildOps implements SolverOps<BuildTree> {
  readonly #deps: OpDeps & { log: Logger };

  constructor(deps: OpDeps & { log: Logger }) {
    this.#deps = deps;
  }

  async begin(targets: readonly (Vertex | undefined)[]): Promise<void> {
    await this.#deps.caches.renew(freshCaches(targets));
  }

  async run(
    vertex: Vertex,
    inputs: readonly (BuildTree | undefined)[],
    context: RunContext,
  ): Promise<BuildTree> {
    const standsOn = wholePositions(vertex.op);
    const position = inputs.findIndex((input, at) => input?.content.kind === 'files' && standsOn.has(at));
    if (position === -1) {
      return await this.#run(vertex, inputs, context);
    }
    using layer = await asLayer(this.#deps, inputs[position], context);
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
      case 'layout':
        return treeOf(await receiveLayout(this.#deps, op, context));
      case 'local':
        return await this.#local(op, context);
      case 'sent':
        return heldTree(op);
      case 'http':
        return await runHttp(this.#deps, op, context);
      case 'git':
        return await runGit(this.#deps, op, context);
      case 'held':
        return this.#deps.held.hold(op.id);
      case 'files':
        return treeOf(await runFiles(this.#deps, op, filesWork(inputs, context)));
      case 'exec':
        return await runExec(this.#deps, op, { inputs, context, container });
      case 'merge':
        return await this.#merge(op, inputs, signal);
      case 'diff':
        return treeOf(await runDiff(this.#deps, op, { inputs, signal }));
      case 'result':
        return resultOf(inputs[0], op);
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
    const { name, sharedKey, includePatterns, excludePatterns, followPaths, isSentAnew } = op;
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
        key: isSentAnew
          ? ''
          : JSON.stringify([
              name,
              // Without a key of its own a session shares with nobody else.
              sharedKey === '' ? { session: session.id } : sharedKey,
              includePatterns,
              excludePatterns,
              followPaths,
            ]),
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

/** Files that are no layers, as one: where something stands on them. */
export async function asLayer(
  deps: OpDeps,
  files: BuildTree | undefined,
  context: RunContext,
): Promise<BuildTree> {
  const work = filesWork([undefined, files], context);
  return treeOf(await runFiles(deps, { kind: 'files', actions: [WHOLE] }, work));
}

/** What changes of files are told with; they warn where a command would. */
function filesWork(
  inputs: readonly (BuildTree | undefined)[],
  context: RunContext,
): Parameters<typeof runFiles>[2] {
  return { inputs, signal: context.signal, warn: (text) => context.log(2, Buffer.from(text)) };
}

/** Positions of inputs that results stand on: files that are no layers become one there. */
function wholePositions(op: Op): ReadonlySet<number> {
  if (op.kind === 'exec') {
    const mounted = op.mounts.flatMap((mount) =>
      mount.type === 'bind' && mount.result !== undefined ? [mount.from] : [],
    );
    return new Set([0, ...mounted]);
  }
  // What copies read is read where it lies; a result is one of its input's.
  return new Set(op.kind === 'merge' || op.kind === 'diff' ? [0, 1] : op.kind === 'result' ? [] : [0]);
}

function resultOf(tree: BuildTree | undefined, { number }: MountResult): BuildTree {
  const result = tree?.results.get(number);
  invariant(result !== undefined, `a command without result ${number}`);
  return result.hold();
}

function heldTree({ files }: SentSource): BuildTree {
  invariant(files instanceof BuildTree, 'files of another solver');
  return files.hold();
}

/** As a promise that can be caught. */
async function giveBack(received: AsyncDisposable): Promise<void> {
  await received[Symbol.asyncDispose]();
}
