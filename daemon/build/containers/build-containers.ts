import type {
  BuildContainersPort,
  BuildProcess,
  ContainerPlace,
  NewBuildContainer,
  NewBuildProcess,
} from '../../../api/types/build/containers.ts';
import type { BuildWorker } from '../../../api/types/build/ports.ts';
import type { SentStat } from '../../../api/types/build/session.ts';
import type { RunningBuild } from '../control/running/running-build.ts';
import type { ReadFiles, TreeReader } from '../ops/tree-reader.ts';
import { readContainer } from './asked-container.ts';
import { readProcess } from './asked-process.ts';
import { GatewayContainer, type GatewayContainerDeps } from './gateway-container.ts';

interface BuildContainersDeps {
  find(build: string, signal: AbortSignal): Promise<RunningBuild>;
  ops: GatewayContainerDeps;
  trees: TreeReader;
  worker: () => BuildWorker;
  /** What builds may ask for. */
  entitlements: ReadonlySet<string>;
}

/** Containers of builds under way, for clients that look into results and into steps that failed. */
export class BuildContainers implements BuildContainersPort {
  readonly #deps: BuildContainersDeps;

  constructor(deps: BuildContainersDeps) {
    this.#deps = deps;
  }

  async create(build: string, asked: NewBuildContainer, signal: AbortSignal): Promise<void> {
    const running = await this.#deps.find(build, signal);
    const entitlements = this.#entitlements(running);
    const read = readContainer(asked, { entitlements, worker: this.#deps.worker() });
    const make = async (released: AbortSignal): Promise<GatewayContainer> => {
      const found = await Promise.all(
        read.results.map(async (ref) => (ref === undefined ? undefined : await running.tree(ref))),
      );
      const trees = found.map((tree) => tree?.hold());
      const { session } = running;
      const either = AbortSignal.any([running.signal, released]);
      return await GatewayContainer.make(this.#deps.ops, read, { trees, session, signal: either });
    };
    await running.containers.add(asked.id, make, signal);
  }

  async start(build: string, asked: NewBuildProcess, signal: AbortSignal): Promise<BuildProcess> {
    const running = await this.#deps.find(build, signal);
    const container = await running.containers.find(asked.container);
    return await container.start(readProcess(asked, this.#entitlements(running)));
  }

  async release(build: string, container: string, signal: AbortSignal): Promise<void> {
    await (await this.#deps.find(build, signal)).containers.release(container);
  }

  async readFile(
    build: string,
    at: ContainerPlace & { offset: number; length: number },
    signal: AbortSignal,
  ): Promise<Buffer> {
    return await this.#deps.trees.file(await this.#filesAt(build, at, signal), at);
  }

  async stat(build: string, at: ContainerPlace, signal: AbortSignal): Promise<SentStat> {
    return await this.#deps.trees.stat(await this.#filesAt(build, at, signal), at.path);
  }

  async list(
    build: string,
    at: ContainerPlace & { pattern: string },
    signal: AbortSignal,
  ): Promise<SentStat[]> {
    return await this.#deps.trees.list(await this.#filesAt(build, at, signal), at);
  }

  async #filesAt(
    build: string,
    { container, mount }: ContainerPlace,
    signal: AbortSignal,
  ): Promise<ReadFiles> {
    const running = await this.#deps.find(build, signal);
    return await (await running.containers.find(container)).filesAt(mount);
  }

  #entitlements({ entitlements }: RunningBuild): string[] {
    return entitlements.filter((name) => this.#deps.entitlements.has(name));
  }
}
