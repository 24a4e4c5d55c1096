import type { BuildDefinition } from '../../../api/types/build/definition.ts';
import type {
  FrontendRequest,
  FrontendResult,
  NamedCache,
  ResultRef,
  ReturnedResult,
} from '../../../api/types/build/ports.ts';
import type { Clock } from '../../base/clock.ts';
import { withResolvers } from '../../base/concurrency/with-resolvers.ts';
import { EngineError, invalidArgument, notFound } from '../../base/errors.ts';
import { formatPlatform } from '../../../storage/image/platform.ts';
import { allOf, platformOf } from '../export/exported-image.ts';
import type { BuiltImage } from '../ports.ts';
import type { CacheExport } from './cache-options.ts';
import { Vertices } from './vertices.ts';

/** Names of what goes with results, in BuildKit's words (exporter/containerimage/exptypes). */
const CONFIG = 'containerimage.config';
const PLATFORMS = 'refs.platforms';
const NONE = Buffer.alloc(0);

/** Caches elsewhere that a build was asked to fill and to look into. */
export interface BuildCaches {
  exports: readonly CacheExport[];
  imports: readonly NamedCache[];
}

export interface BuildFacts {
  session: string;
  entitlements: readonly string[];
  caches: BuildCaches;
  /** Graphs that a client has given itself, as the frontend of its build; undefined = none. */
  inputs?: ReadonlyMap<string, BuildDefinition>;
}

/** One build from its beginning to its end: what it reports, what it has made so far, and how it is stopped. */
export class RunningBuild {
  readonly vertices: Vertices;
  /** The client's, by its id. */
  readonly session: string;
  /** What the client allows: `network.host`. */
  readonly entitlements: readonly string[];
  readonly caches: BuildCaches;
  readonly inputs: ReadonlyMap<string, BuildDefinition>;
  readonly #stop = new AbortController();
  readonly #results = new Map<string, BuiltImage>();
  readonly #held: Disposable[] = [];
  /** What its frontend was asked for last. */
  asked: Pick<FrontendRequest, 'frontend' | 'options'> | undefined;
  /** What exporters told the client. */
  response: ReadonlyMap<string, string> = new Map();
  /** What the client gets: its images for all platforms. */
  made: readonly BuiltImage[] = [];
  #latest: BuiltImage | undefined;
  readonly #returned = withResolvers<BuiltImage | undefined>();

  constructor({ session, entitlements, caches, inputs }: BuildFacts, clock: Clock) {
    this.session = session;
    this.caches = caches;
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
    if (first !== undefined && kept.length === 1) {
      return { ...first[1], metadata: new Map([[CONFIG, image.config]]) };
    }
    const configs = kept.map(([name], at) => [`${CONFIG}/${name}`, all[at]?.config ?? NONE] as const);
    const metadata = new Map([[PLATFORMS, platformList(all)], ...configs]);
    return { ref: '', platforms: new Map(kept), metadata };
  }

  /** What the client is told. */
  respond(told: Iterable<readonly [string, string]>): ReadonlyMap<string, string> {
    this.response = new Map(told);
    return this.response;
  }

  /** What was kept last. */
  get latest(): BuiltImage | undefined {
    return this.#latest;
  }

  /** The client has decided what the build's result is. Throws invalid_argument for what is none. */
  return(outcome: { results: readonly ReturnedResult[] } | { error: Error }): void {
    if ('error' in outcome) {
      this.#returned.reject(outcome.error);
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
    this.#returned.resolve(first && (others.length === 0 ? first : { ...first, others }));
  }

  /** What was kept by this reference. Throws not_found. */
  result(reference: string): BuiltImage {
    const image = this.#results.get(reference);
    if (image === undefined) {
      throw notFound(`no such reference: ${reference}`);
    }
    return image;
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

/** Which result is for which platform, in their order. Pure. */
function platformList(images: readonly BuiltImage[]): Buffer {
  const Platforms = images.map(({ config }) => {
    const { os, architecture, variant } = platformOf(config);
    return {
      ID: formatPlatform(platformOf(config)),
      Platform: { architecture, os, ...(variant !== undefined && { variant }) },
    };
  });
  return Buffer.from(JSON.stringify({ Platforms }));
}
