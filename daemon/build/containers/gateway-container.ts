import { stat } from 'node:fs/promises';
import type { BuildProcess } from '../../../api/types/build/containers.ts';
import { EngineError, invariant, notFound, notImplemented } from '../../base/errors.ts';
import { failpoint } from '../../base/failpoint.ts';
import { openRoot } from '../../base/kernel/files/safepath.ts';
import { limits } from '../../base/limits.ts';
import type { Logger } from '../../base/logger.ts';
import { prepareMounts, type ExecMounts } from '../ops/exec-mounts.ts';
import { asLayer } from '../ops/ops.ts';
import type { OpDeps } from '../ops/ports.ts';
import type { ReadFiles } from '../ops/tree-reader.ts';
import type { LayerContainer } from '../ports.ts';
import { layersOfTree, type BuildTree } from '../snapshots/tree.ts';
import { release, type RunContext } from '../solver/ports.ts';
import type { AskedContainer } from './asked-container.ts';
import type { AskedProcess } from './asked-process.ts';
import { execRequest, firstBody } from './process-requests.ts';
import { secretVariables } from './secret-variables.ts';

export type GatewayContainerDeps = OpDeps & { log: Logger };

interface Made {
  asked: AskedContainer;
  /** Of its results, held for it. */
  trees: (BuildTree | undefined)[];
  mounts: ExecMounts;
  /** Fires when it is released, or its build ends. */
  stop: AbortController;
  context: RunContext;
}

/** A container that the client of a build has asked for. It comes into being with its first process. */
export class GatewayContainer {
  readonly #deps: GatewayContainerDeps;
  readonly #made: Made;
  #opened: Promise<LayerContainer> | undefined;
  #first: AskedProcess | undefined;
  #processes = 0;
  #released: Promise<void> | undefined;

  /** Takes the trees over. Throws with nothing left. */
  static async make(
    deps: GatewayContainerDeps,
    asked: AskedContainer,
    { trees, session, signal }: { trees: (BuildTree | undefined)[]; session: string; signal: AbortSignal },
  ): Promise<GatewayContainer> {
    const stop = new AbortController();
    const context: RunContext = {
      signal: AbortSignal.any([signal, stop.signal]),
      sessions: () => [session],
      log: (_stream, bytes) => deps.log.debug({ said: String(bytes) }, 'a container of a build'),
      work: () => undefined,
      used: () => undefined,
    };
    try {
      failpoint('build.containers.make');
      const [root] = trees;
      if (root?.content.kind === 'files') {
        trees[0] = await asLayer(deps, root, context);
        root[Symbol.dispose]();
      }
      const mounts = await prepareMounts(deps, asked, { inputs: trees, context });
      return new GatewayContainer(deps, { asked, trees, mounts, stop, context });
    } catch (error) {
      release(trees);
      throw error;
    }
  }

  private constructor(deps: GatewayContainerDeps, made: Made) {
    this.#deps = deps;
    this.#made = made;
  }

  /** The first is its init. Throws what keeps it from its start. */
  async start(asked: AskedProcess): Promise<BuildProcess> {
    this.#made.context.signal.throwIfAborted();
    if (this.#processes >= limits.buildContainerProcessesMax) {
      throw new EngineError(
        'resource_exhausted',
        `more than ${limits.buildContainerProcessesMax} processes in a container`,
      );
    }
    this.#processes += 1;
    const started = this.#opened === undefined ? this.#startFirst(asked) : this.#startFurther(asked);
    try {
      const process = await started;
      const ended = (): void => {
        this.#processes -= 1;
      };
      process.exited.then(ended, ended);
      return process;
    } catch (error) {
      this.#processes -= 1;
      throw error;
    }
  }

  async #startFirst(asked: AskedProcess): Promise<BuildProcess> {
    this.#first = asked;
    this.#opened = this.#open(asked);
    return (await this.#opened).first;
  }

  async #open(process: AskedProcess): Promise<LayerContainer> {
    const { asked, trees, mounts, context } = this.#made;
    const variables = await secretVariables(this.#deps, process.secrets, context);
    const env = [...mounts.env, ...variables];
    return await this.#deps.layers.open({
      layerIds: layersOfTree(trees[0]),
      body: firstBody(asked, process, { ...mounts, env }),
      command: process.argv,
      files: mounts.files,
      variables: env,
      signal: context.signal,
    });
  }

  async #startFurther(asked: AskedProcess): Promise<BuildProcess> {
    const first = this.#first;
    invariant(first !== undefined, 'a container without its first process');
    if (asked.isPrivileged !== first.isPrivileged) {
      throw notImplemented('security of a process: it is that of the first process of its container');
    }
    const container = await this.#opened;
    invariant(container !== undefined, 'a container that is not opened');
    const variables = await secretVariables(this.#deps, asked.secrets, this.#made.context);
    const { mounts } = this.#made;
    return await container.exec(execRequest(asked, { first, mounts: mounts.env, variables }));
  }

  /** What is at a mount now, by its position. Throws not_found, and not_implemented for what is no directory. */
  async filesAt(position: number): Promise<ReadFiles> {
    const { asked, trees, mounts } = this.#made;
    const place = asked.places[position];
    if (place === undefined) {
      throw notFound(`mount index ${position} is out of bounds (${asked.places.length} available)`);
    }
    if (place.kind === 'root') {
      const container = await this.#opened?.catch(() => undefined /* its first process was told */);
      return container === undefined ? trees[0] : { open: () => container.root() };
    }
    const source = mounts.files.find(({ target }) => target === place.target)?.source;
    const refuse = (why: string): never => {
      throw notImplemented(`files of mount ${position} at ${place.target} cannot be read: ${why}`);
    };
    if (source === undefined) {
      return refuse('they are in memory, or not there');
    }
    return (await stat(source)).isDirectory()
      ? { open: () => Promise.resolve(openRoot(source)) }
      : refuse('it is no directory');
  }

  /** Ends its processes. Resolves when nothing is left of it. */
  release(): Promise<void> {
    this.#released ??= this.#release();
    return this.#released;
  }

  async #release(): Promise<void> {
    const { stop, mounts, trees } = this.#made;
    stop.abort(new EngineError('canceled', 'the container is released'));
    const container = await this.#opened?.catch(() => undefined /* its first process was told */);
    try {
      failpoint('build.containers.release');
    } finally {
      await container?.remove();
      await mounts[Symbol.asyncDispose]();
      release(trees);
    }
  }
}
