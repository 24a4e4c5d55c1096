import type { Readable } from 'node:stream';
import type {
  BuildkitPort,
  BuildWorker,
  CachePruning,
  FrontendRequest,
  FrontendResult,
  ReturnedOutcome,
  SessionBuildRequest,
  SolveRequest,
  UsageEntry,
} from '../../../api/types/build/ports.ts';
import type {
  AnsweredImage,
  AnsweredSource,
  ImageQuestion,
  SourceQuestion,
} from '../../../api/types/build/sources.ts';
import type { BuildSession, SentStat } from '../../../api/types/build/session.ts';
import type { BuildDefinition } from '../../../api/types/build/definition.ts';
import type { BuildContainersPort } from '../../../api/types/build/containers.ts';
import type { HistoryPort } from '../../../api/types/build/history.ts';
import type { BuildUpdate, BuildWarning } from '../../../api/types/build/status.ts';
import { formatPlatform, hostPlatform } from '../../../storage/image/platform.ts';
import type { Clock } from '../../base/clock.ts';
import { withResolvers } from '../../base/concurrency/with-resolvers.ts';
import { EngineError } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import { measured } from '../../base/measured.ts';
import type { BuildLayers, BuiltImage, ClassicSteps } from '../ports.ts';
import type { Contexts } from '../session/contexts.ts';
import type { Sessions } from '../session/sessions.ts';
import type { BuildTree } from '../snapshots/tree.ts';
import type { Solver } from '../solver/solver.ts';
import { BuildContainers } from '../containers/build-containers.ts';
import type { FailedSteps } from '../containers/failed-steps.ts';
import type { GatewayContainerDeps } from '../containers/gateway-container.ts';
import type { CacheKeeper } from '../cache/keeper.ts';
import type { Checkouts } from '../cache/checkouts.ts';
import { AllKept } from '../cache/all-kept.ts';
import type { RecordCache } from '../cache/records.ts';
import type { CacheLayers } from '../cache/exchange/ports.ts';
import type { TreeReader } from '../ops/tree-reader.ts';
import { askImage, type Asking } from './ask-image.ts';
import type { ArchiveSpools } from '../context/archive.ts';
import { Uploads, type UploadedBody } from '../context/uploads.ts';
import { policyOf } from '../llb/ask-policy.ts';
import { askSource } from '../llb/ask-source.ts';
import { resultDefinition } from '../llb/result-definition.ts';
import type { BuildHistory } from '../history/history.ts';
import type { HeldTrees } from '../snapshots/held-trees.ts';
import { buildDockerfile } from './dockerfile.ts';
import { readCacheExports } from './cache-options.ts';
import { builtInOptions } from './options.ts';
import { exportCaches } from './export-caches.ts';
import { readAttestations } from '../attest/asked.ts';
import type { Attestation } from '../../../storage/image-archives/statement.ts';
import { exportAll } from '../export/export.ts';
import { allOf, exportedImages, platformsOf } from '../export/exported-image.ts';
import type { ExportDeps } from '../export/ports.ts';
import { readOutputs, type Output } from '../export/read-outputs.ts';
import { refuseOtherEntitlements } from './entitlements.ts';
import { buildGraph } from '../llb/graph-build.ts';
import { refusePlatforms } from '../export/refuse-platforms.ts';
import { scanImage } from '../attest/scan-image.ts';
import { resultMetadata } from '../llb/result-metadata.ts';
import type { RunningBuild } from './running/running-build.ts';
import { RunningBuilds } from './running/running-builds.ts';

export interface BuildsDeps {
  classic: ClassicSteps;
  sessions: Sessions;
  contexts: Contexts;
  checkouts: Checkouts;
  solver: Solver<BuildTree>;
  spools: ArchiveSpools;
  held: HeldTrees;
  layers: BuildLayers;
  keeper: CacheKeeper;
  records: RecordCache;
  caches: CacheLayers;
  trees: TreeReader;
  ops: GatewayContainerDeps;
  exports: ExportDeps;
  history: BuildHistory;
  clock: Clock;
  log: Logger;
  worker: () => BuildWorker;
  /** What builds may ask for. */
  entitlements: ReadonlySet<string>;
}

/** The builds that clients of BuildKit have under way, by the names that they gave them. */
export class Builds implements BuildkitPort {
  readonly #deps: BuildsDeps;
  readonly #kept: AllKept;
  readonly #running: RunningBuilds;
  readonly #uploads: Uploads;
  readonly containers: BuildContainersPort;

  constructor(deps: BuildsDeps) {
    this.#deps = deps;
    this.#kept = new AllKept(deps);
    this.#running = new RunningBuilds(deps);
    this.#uploads = new Uploads(deps.clock);
    const find = this.#running.find.bind(this.#running);
    this.containers = new BuildContainers({ ...deps, find });
  }

  get history(): HistoryPort {
    return this.#deps.history;
  }

  worker(): BuildWorker {
    return this.#deps.worker();
  }

  refuseSession(id: string): void {
    this.#deps.sessions.refuse(id);
  }

  attachSession(session: BuildSession & { end(): void }): Promise<void> {
    return this.#deps.sessions.attach(session);
  }

  async solve(request: SolveRequest, signal: AbortSignal): Promise<ReadonlyMap<string, string>> {
    refuseOtherEntitlements(request.entitlements);
    const outputs = readOutputs(request.exporters);
    const caches = { exports: readCacheExports(request.cacheExports), imports: request.cacheImports };
    this.#refuseNames(outputs);
    const { frontend, attributes, definition } = request;
    refusePlatforms(attributes.get('platform'), outputs, caches.exports);
    const attestations = readAttestations(attributes);
    const isReturned = frontend === '' && definition === undefined;
    const { ref, session, entitlements, inputs, isInternal, policies, hasSessionExporters, policySession } =
      request;
    const begun = { frontend, options: attributes };
    const facts = { ref, session, entitlements, caches, inputs, policies, begun, attestations };
    return await this.#running.during(facts, isInternal ? undefined : request, signal, async (running) => {
      if (policySession !== '') {
        running.policy = policyOf({ ...this.#deps, running }, policySession);
      }
      if (!isReturned) {
        await this.#frontend(running, {
          frontend,
          options: attributes,
          ...(definition && { definition }),
          inputs,
        });
      }
      const image = isReturned ? await running.returned() : running.latest;
      const further = hasSessionExporters ? await this.#furtherOutputs(running, image) : [];
      const all = [...outputs, ...further];
      refusePlatforms(platformsOf(image), all, caches.exports);
      const told = running.respond([
        ...(await this.#export(running, image, all)),
        ...(await this.#exportCaches(running, image)),
      ]);
      if (hasSessionExporters) {
        await (await this.#deps.sessions.get(session, running.signal)).exported(told, running.signal);
      }
      return told;
    });
  }

  async *status(ref: string, signal: AbortSignal): AsyncGenerator<BuildUpdate | Buffer> {
    const known = this.#running.logOf(ref);
    const stored = known === undefined ? this.#deps.history.log(ref) : undefined;
    if (stored !== undefined) {
      yield* await stored;
      return;
    }
    const log = known ?? (await this.#running.find(ref, signal)).vertices.log;
    yield* log.read(signal);
  }

  async ping(ref: string, signal: AbortSignal): Promise<void> {
    await this.#running.find(ref, signal);
  }

  async solveFrontend(ref: string, request: FrontendRequest, signal: AbortSignal): Promise<FrontendResult> {
    const running = await this.#running.find(ref, signal);
    // A question that is given up ends alone.
    const either = AbortSignal.any([running.signal, signal]);
    return await this.#frontend(running, request, { signal: either, failed: running.failed });
  }

  async returnResult(ref: string, outcome: ReturnedOutcome, signal: AbortSignal): Promise<void> {
    (await this.#running.find(ref, signal)).return(outcome);
  }

  async warn(ref: string, warning: BuildWarning, signal: AbortSignal): Promise<void> {
    (await this.#running.find(ref, signal)).vertices.warn(warning);
  }

  async inputs(ref: string, signal: AbortSignal): Promise<ReadonlyMap<string, BuildDefinition>> {
    return (await this.#running.find(ref, signal)).inputs;
  }

  async resolveImage(ref: string, question: ImageQuestion, signal: AbortSignal): Promise<AnsweredImage> {
    return await askImage(await this.#asking(ref, signal), question);
  }

  async resolveSource(ref: string, question: SourceQuestion, signal: AbortSignal): Promise<AnsweredSource> {
    return await askSource(await this.#asking(ref, signal), question);
  }

  async readResult(
    ref: string,
    at: { result: string; path: string; offset: number; length: number },
    signal: AbortSignal,
  ): Promise<Buffer> {
    return await this.#deps.trees.file((await this.#running.find(ref, signal)).result(at.result).tree, at);
  }

  async statResult(
    ref: string,
    { result, path }: { result: string; path: string },
    signal: AbortSignal,
  ): Promise<SentStat> {
    return await this.#deps.trees.stat((await this.#running.find(ref, signal)).result(result).tree, path);
  }

  async listResult(
    ref: string,
    at: { result: string; path: string; pattern: string },
    signal: AbortSignal,
  ): Promise<SentStat[]> {
    const found = await this.#running.find(ref, signal);
    return await this.#deps.trees.list(found.result(at.result).tree, at);
  }

  usage(filters: readonly string[] = []): Promise<UsageEntry[]> {
    return Promise.resolve(this.#kept.usage(filters));
  }

  async prune(pruning: CachePruning): Promise<UsageEntry[]> {
    return await this.#kept.prune(pruning);
  }

  build(
    { id, session, attributes, outputs: asked, context }: SessionBuildRequest,
    signal: AbortSignal,
  ): { updates: AsyncIterable<BuildUpdate>; image: Promise<string> } {
    const outputs = readOutputs(asked);
    this.#refuseNames(outputs);
    refusePlatforms(attributes.get('platform'), outputs, []);
    const attestations = readAttestations(attributes);
    const ref = id === '' ? `${session}:${this.#deps.clock.nowNano()}` : id;
    const begun = withResolvers<RunningBuild>();
    const request = { frontend: 'dockerfile.v0', options: attributes, inputs: new Map() };
    const caches = { exports: [], imports: [] };
    const facts = { ref, session, entitlements: [], policies: [], caches, begun: request, attestations };
    const recorded = { ref, frontend: request.frontend, attributes, exporters: asked, trace: undefined };
    const image = this.#running.during(facts, recorded, signal, async (running) => {
      begun.resolve(running);
      const upload = async (): Promise<UploadedBody> =>
        context === undefined || context === 'upload'
          ? await this.#uploads.take(ref, running.signal)
          : { body: context, [Symbol.dispose]: () => undefined };
      await this.#frontend(running, request, context === undefined ? {} : { upload });
      const { latest } = running;
      const told = running.respond(await this.#export(running, latest, outputs));
      return told.get('containerimage.digest') ?? '';
    });
    // Who reads its updates is told of its failure there.
    image.catch((error: Error) => begun.reject(error));
    async function* updates(): AsyncGenerator<BuildUpdate> {
      const running = await begun.promise;
      yield* running.vertices.log.read(signal);
    }
    return { updates: updates(), image };
  }

  async upload(id: string, body: Readable, signal: AbortSignal): Promise<void> {
    await this.#uploads.offer(id, body, signal);
  }

  cancel(id: string): void {
    this.#running.get(id)?.cancel('the client canceled the build');
  }

  async #frontend(
    running: RunningBuild,
    request: FrontendRequest,
    {
      upload,
      signal = running.signal,
      failed,
    }: { upload?: () => Promise<UploadedBody>; signal?: AbortSignal; failed?: FailedSteps } = {},
  ): Promise<FrontendResult> {
    const { frontend, definition, inputs, cacheImports = [] } = request;
    if (frontend === '' && definition === undefined) {
      return { ref: '', metadata: new Map() };
    }
    const options = frontend === '' ? request.options : builtInOptions(frontend, request.options);
    running.asked = request;
    const { vertices } = running;
    const { sessions } = this.#deps;
    const session = await sessions.get(running.session, signal);
    cancelWith(session, running);
    const { entitlements, caches } = running;
    refuseEntitlements(this.#deps.entitlements, entitlements, options);
    const named = { cacheExports: caches.exports, cacheImports: [...caches.imports, ...cacheImports] };
    const build = {
      ...this.#deps,
      session,
      vertices,
      entitlements,
      signal,
      inputs,
      convert: running.converting(request.policies),
      ...named,
      ...(upload && { upload }),
      ...(failed && { failed }),
    };
    if (frontend === '' && definition !== undefined) {
      const make = async (): Promise<FrontendResult> =>
        this.#keep(running, await buildGraph(build, definition));
      const { failsWhenRead = false } = request;
      const made = await measured('builder', 'build', () =>
        running.orFailure(make, { failsWhenRead, signal }),
      );
      return { ...made, metadata: new Map() };
    }
    const made = await measured('builder', 'build', async () => await buildDockerfile(build, options));
    return 'image' in made ? this.#keep(running, made.image) : { ref: '', metadata: made.answer };
  }

  async #asking(ref: string, signal: AbortSignal): Promise<Asking & BuildsDeps> {
    const running = await this.#running.find(ref, signal);
    const either = AbortSignal.any([running.signal, signal]);
    const session = await this.#deps.sessions.get(running.session, either);
    return { ...this.#deps, session, running, signal: either };
  }

  /** Until the build ends, for its client and for other builds of it. */
  #keep(running: RunningBuild, image: BuiltImage): FrontendResult {
    return running.keep(image, (tree) => {
      const kept = this.#deps.held.keep(tree);
      running.hold(kept);
      return resultDefinition(kept.id);
    });
  }

  #refuseNames(outputs: readonly Output[]): void {
    outputs.forEach((output) => this.#deps.classic.refuseNames('names' in output ? output.names : []));
  }

  /** Those that the client wants only now. */
  async #furtherOutputs(running: RunningBuild, image: BuiltImage | undefined): Promise<Output[]> {
    const { session: id, signal } = running;
    const session = await this.#deps.sessions.get(id, signal);
    const made =
      image === undefined
        ? { metadata: new Map(), refs: [] }
        : { metadata: resultMetadata(image), refs: allOf(image).map((each) => each.id) };
    const outputs = readOutputs(await session.outputs(made, signal));
    this.#refuseNames(outputs);
    return outputs;
  }

  async #export(
    running: RunningBuild,
    image: BuiltImage | undefined,
    outputs: readonly Output[],
  ): Promise<ReadonlyMap<string, string>> {
    const { vertices, signal, session: id } = running;
    signal.throwIfAborted();
    running.made = image === undefined ? [] : [image, ...(image.others ?? [])];
    if (image === undefined || outputs.length === 0) {
      return new Map();
    }
    const { exports, sessions } = this.#deps;
    const session = await sessions.get(id, signal);
    const platform = formatPlatform(hostPlatform());
    const scans = new Map<BuiltImage, readonly Attestation[]>();
    const { scan } = running;
    if (scan !== undefined) {
      for (const each of running.made) {
        scans.set(each, await scanImage({ ...this.#deps, session, running }, each, scan));
      }
    }
    const images = exportedImages(image, (each) => [
      ...(scans.get(each) ?? []),
      ...running.attestationsOf(each, platform),
    ]);
    return await exportAll(exports, images, outputs, { session, vertices, signal });
  }

  async #exportCaches(
    { session: id, caches, vertices, signal }: RunningBuild,
    image: BuiltImage | undefined,
  ): Promise<ReadonlyMap<string, string>> {
    const asked = caches.exports;
    if (image?.cache === undefined || asked.length === 0) {
      return new Map();
    }
    const session = await this.#deps.sessions.get(id, signal);
    return await exportCaches({ ...this.#deps, session, vertices, signal }, image.cache, asked);
  }
}

/** Throws forbidden for what the daemon's configuration does not let builds have. */
function refuseEntitlements(
  allowed: ReadonlySet<string>,
  asked: readonly string[],
  options: ReadonlyMap<string, string>,
): void {
  const all = options.get('force-network-mode') === 'host' ? [...asked, 'network.host'] : asked;
  const refused = all.find((name) => !allowed.has(name.replace(/^device=.*/s, 'device')));
  if (refused !== undefined) {
    throw new EngineError('forbidden', `entitlement ${refused} is not allowed (builder.entitlements)`);
  }
}

/** A client that has gone takes its build with it. */
function cancelWith({ closed }: BuildSession, running: RunningBuild): void {
  closed.then(
    () => running.cancel('the session of the client is over'),
    () => running.cancel('the session of the client broke'),
  );
}
