import type { BuildDefinition } from '../../../../api/types/build/definition.ts';
import type {
  FrontendRequest,
  FrontendResult,
  NamedCache,
  ResultRef,
  ReturnedOutcome,
} from '../../../../api/types/build/ports.ts';
import type { SourcePolicy } from '../../../../api/types/build/source-policy.ts';
import { BuildError } from '../../../base/build-error.ts';
import type { Clock } from '../../../base/clock.ts';
import { withResolvers } from '../../../base/concurrency/with-resolvers.ts';
import { EngineError, invalidArgument, notFound } from '../../../base/errors.ts';
import { formatPlatform } from '../../../../storage/image/platform.ts';
import { allOf, platformOf } from '../../export/exported-image.ts';
import type { AskedAttestations, AskedScan } from '../../attest/asked.ts';
import { attestationsOf } from '../../attest/attestations.ts';
import type { Attestation } from '../../../../storage/image-archives/statement.ts';
import { shownAttributes } from '../../history/shown-attributes.ts';
import type { BuiltImage } from '../../ports.ts';
import type { AskedPolicy } from '../../policy/asked-policy.ts';
import { conversionBy } from '../../policy/conversion.ts';
import type { SourceConversion } from '../../policy/named-source.ts';
import { FailedSteps, isOfFailedStep } from '../../containers/failed-steps.ts';
import { ContainersOfBuild } from '../../containers/containers-of-build.ts';
import type { BuildTree } from '../../snapshots/tree.ts';
import type { CacheExport } from '../cache-options.ts';
import { resultMetadata } from '../../llb/result-metadata.ts';
import { Vertices } from '../vertices.ts';

/** Caches elsewhere that a build was asked to fill and to look into. */
export interface BuildCaches {
  exports: readonly CacheExport[];
  imports: readonly NamedCache[];
}

export interface BuildFacts {
  /** Chosen by the client. */
  ref: string;
  session: string;
  entitlements: readonly string[];
  caches: BuildCaches;
  policies: readonly SourcePolicy[];
  /** Graphs that a client has given itself, as the frontend of its build; undefined = none. */
  inputs?: ReadonlyMap<string, BuildDefinition>;
  /** What is asked for at its beginning: clients that are frontends ask for the same again. */
  begun: Pick<FrontendRequest, 'frontend' | 'options'>;
  /** What is to be said of its result. */
  attestations: AskedAttestations;
}

/** One build from its beginning to its end: what it reports, what it has made so far, and how it is stopped. */
export class RunningBuild {
  readonly vertices: Vertices;
  readonly containers = new ContainersOfBuild();
  readonly failed = new FailedSteps();
  /** The client's, by its id. */
  readonly session: string;
  /** What the client allows: `network.host`. */
  readonly entitlements: readonly string[];
  readonly caches: BuildCaches;
  readonly inputs: ReadonlyMap<string, BuildDefinition>;
  readonly #policies: readonly SourcePolicy[];
  readonly #facts: BuildFacts;
  readonly #clock: Pick<Clock, 'nowNano'>;
  readonly #createdNano: bigint;
  readonly #stop = new AbortController();
  readonly #results = new Map<string, BuiltImage>();
  /** What graphs have failed with, by references of theirs. */
  readonly #failures = new Map<string, BuildError>();
  readonly #held: Disposable[] = [];
  /** That of a session, which is asked for each source. */
  policy: AskedPolicy | undefined;
  /** What its frontend was asked for last. */
  asked: Pick<FrontendRequest, 'frontend' | 'options'> | undefined;
  /** What exporters told the client. */
  response: ReadonlyMap<string, string> = new Map();
  /** What the client gets: its images for all platforms. */
  made: readonly BuiltImage[] = [];
  #latest: BuiltImage | undefined;
  readonly #returned = withResolvers<BuiltImage | undefined>();

  constructor(facts: BuildFacts, clock: Clock) {
    const { session, entitlements, caches, inputs, policies } = facts;
    this.#facts = facts;
    this.#clock = clock;
    this.#createdNano = clock.nowNano();
    this.session = session;
    this.caches = caches;
    this.#policies = policies;
    this.inputs = inputs ?? new Map();
    this.entitlements = entitlements;
    this.vertices = new Vertices(clock);
    // Rejected where nobody waits for it, too.
    this.#returned.promise.catch(() => undefined /* see above */);
  }

  /** Fires when the build is to end, for whatever reason. */
  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  cancel(why: string): void {
    this.#stop.abort(new EngineError('canceled', why));
  }

  /** What policies of the build, and further ones, make of sources. Throws invalid_argument for one that is none. */
  converting(more: readonly SourcePolicy[] = []): SourceConversion {
    const convert = conversionBy([...this.#policies, ...more]);
    return this.policy?.after(convert) ?? convert;
  }

  /** Keeps an image until the build ends, for a client that will return it. */
  keep(
    image: BuiltImage,
    definitionOf: (tree: BuiltImage['tree']) => ResultRef['definition'],
  ): FrontendResult {
    this.#held.push(image);
    this.#latest = image;
    const all = allOf(image);
    const kept = all.map((each): [string, ResultRef] => {
      const ref = `${this.#results.size}:${each.id}`;
      this.#results.set(ref, each);
      const definition = definitionOf(each.tree);
      return [formatPlatform(platformOf(each.config)), { ref, ...(definition && { definition }) }];
    });
    const [first] = kept;
    if (first !== undefined && image.others === undefined) {
      return { ...first[1], metadata: resultMetadata(image) };
    }
    return { ref: '', platforms: new Map(kept), metadata: resultMetadata(image) };
  }

  /** What is made; or that it has failed, kept as a result for a client that may never read it. */
  async orFailure(
    make: () => Promise<FrontendResult>,
    { failsWhenRead, signal }: { failsWhenRead: boolean; signal: AbortSignal },
  ): Promise<FrontendResult> {
    try {
      return await make();
    } catch (error) {
      if (!failsWhenRead || !(error instanceof BuildError) || signal.aborted) {
        throw error;
      }
      const ref = `failed:${this.#failures.size}`;
      this.#failures.set(ref, error);
      return { ref, metadata: new Map() };
    }
  }

  /** What the client is told. */
  respond(told: Iterable<readonly [string, string]>): ReadonlyMap<string, string> {
    this.response = new Map(told);
    return this.response;
  }

  /** How its images are looked through; undefined = they are not. */
  get scan(): AskedScan | undefined {
    return this.#facts.attestations.scan;
  }

  /** What is to be said of an image that it has made, on this platform. */
  attestationsOf(image: BuiltImage, platform: string): Attestation[] {
    const { ref, begun, attestations } = this.#facts;
    const { frontend, options } = this.asked ?? begun;
    return attestationsOf(image, attestations, {
      ref,
      frontend,
      attributes: shownAttributes(options),
      platform,
      createdNano: this.#createdNano,
      completedNano: this.#clock.nowNano(),
    });
  }

  /** What was kept last. */
  get latest(): BuiltImage | undefined {
    return this.#latest;
  }

  /** The client has decided what the build's result is. Throws invalid_argument for what is none. */
  return(outcome: ReturnedOutcome): void {
    if ('error' in outcome) {
      this.#returned.reject(outcome.error);
      return;
    }
    const failure = outcome.results.map(({ ref }) => this.#failures.get(ref)).find((error) => error);
    if (failure !== undefined) {
      this.#returned.reject(failure);
      return;
    }
    const images = outcome.results.map(({ ref, config }) => {
      const image = this.#results.get(ref);
      if (image === undefined) {
        throw invalidArgument(`no such reference: ${ref}`);
      }
      return config === undefined ? image : (image.configured?.(config) ?? image);
    });
    const [first, ...others] = images;
    if (first === undefined) {
      this.#returned.resolve(undefined);
      return;
    }
    // What it was made with need not be returned.
    const { others: _, ...alone } = first;
    this.#returned.resolve(outcome.isByPlatform ? { ...alone, others } : alone);
  }

  /** What was kept by this reference. Throws not_found, and what it has failed with. */
  result(reference: string): BuiltImage {
    const failure = this.#failures.get(reference);
    if (failure !== undefined) {
      throw failure;
    }
    const image = this.#results.get(reference);
    if (image === undefined) {
      throw notFound(`no such reference: ${reference}`);
    }
    return image;
  }

  /** Its files, or those of a step that failed; undefined = none. Throws not_found, and what it has failed with. */
  async tree(reference: string): Promise<BuildTree | undefined> {
    return isOfFailedStep(reference)
      ? await this.failed.tree(reference, this.signal)
      : this.result(reference).tree;
  }

  /** Holds something until the build ends. */
  hold(held: Disposable): void {
    this.#held.push(held);
  }

  /** Waits until the client has returned something. Undefined: nothing. */
  async returned(): Promise<BuiltImage | undefined> {
    const { signal } = this;
    const abort = (): void => this.#returned.reject(signal.reason as Error); // See `cancel`.
    signal.addEventListener('abort', abort, { once: true });
    try {
      signal.throwIfAborted();
      return await this.#returned.promise;
    } finally {
      signal.removeEventListener('abort', abort);
    }
  }

  /** Ends what still goes on, lets go of images, and closes what it reports. */
  end(): void {
    this.cancel('the build is over');
    this.#held.forEach((held) => held[Symbol.dispose]());
    this.vertices.end();
  }
}
