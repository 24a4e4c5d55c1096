import type { ProgressMessage, RegistryAuth } from '../../../api/types/image.ts';
import type { PullOptions } from '../../../api/types/ports.ts';
import type { ImageDigestRow, TagRow } from '../../../storage/database/rows.ts';
import { chainIds } from '../../../storage/layers/chain.ts';
import {
  canonicalRepository,
  familiarName,
  familiarRepository,
  nameable,
  parseReference,
  tryParseReference,
  withTag,
  type Reference,
} from '../../../storage/references/reference.ts';
import { parseImageConfig, type ImageConfig } from '../../../storage/image/image-config.ts';
import { formatPlatform, parsePlatform, type Platform } from '../../../storage/image/platform.ts';
import { EngineError, invalidArgument, notFound } from '../../base/errors.ts';
import { failpoint } from '../../base/failpoint.ts';
import { shortId } from '../../base/ids.ts';
import type { NewImage } from '../load/commit-image.ts';
import { commitFetched, existingLayers, Shares, type PullContext } from './fetched-layers.ts';
import type { LayerShare } from './layer-fetches.ts';
import { registrySource } from './layer-source.ts';
import { waitingFor } from '../watch.ts';
import { PullProgress } from './pull-progress.ts';
import { pulledIndex, StatementFetch } from './pulled-index.ts';
import { listTags, resolveImage, type Resolved } from './resolve.ts';

interface OnePull {
  reference: Reference;
  /** Undefined when the client named none: then an image that has no index is taken as it is. */
  asked: Platform | undefined;
  platform: Platform;
  unnamed?: PullOptions['unnamed'];
  auth: RegistryAuth;
  signal: AbortSignal;
}

/**
 * Fetches an image by the distribution specification, or all tags of a repository. Nothing of an image is visible
 * before all of it is on the disk with its digests checked.
 */
export async function* pullImages(
  context: PullContext,
  options: PullOptions,
): AsyncGenerator<ProgressMessage> {
  const { auth, signal, unnamed } = options;
  const reference = pullTarget(options.name, options.tag ?? '');
  const platform = parsePlatform(options.platform ?? '', `pull ${options.name}`);
  const asked = options.platform && unnamed === undefined ? platform : undefined;
  const common = { platform, asked, auth, signal, ...(unnamed && { unnamed }) };
  if (reference.tag !== undefined || reference.digest !== undefined) {
    const isNew = yield* pullOne(context, { ...common, reference });
    yield { status: statusText(familiarName(reference), isNew) };
    return;
  }
  const listing = listTags(context.registry(), reference, { auth, signal });
  const tags = yield* waitingFor(reference.domain, listing, () => {});
  if (tags.length === 0) {
    throw notFound(`repository ${familiarName(reference)} has no tags`);
  }
  let anyNew = false;
  for (const tag of tags) {
    const isNew = yield* pullOne(context, { ...common, reference: withTag(reference, tag) });
    anyNew ||= isNew;
  }
  yield { status: statusText(familiarName(reference), anyNew) };
}

/**
 * What `fromImage` and `tag` mean together; a digest may stand in either. Neither of them means all tags. Throws
 * invalid_argument, forbidden for the name of the empty image. Pure.
 */
export function pullTarget(name: string, tag: string): Reference {
  const reference = parsePullTarget(name, tag);
  if (canonicalRepository(reference) === 'docker.io/library/scratch') {
    throw new EngineError('forbidden', "'scratch' is a reserved name");
  }
  return reference.digest === undefined ? nameable(reference) : reference;
}

function parsePullTarget(name: string, tag: string): Reference {
  const { domain, path, ...rest } = parseReference(name);
  if (tag === '') {
    // The tag beside a digest says nothing more.
    return rest.digest === undefined ? { domain, path, ...rest } : { domain, path, digest: rest.digest };
  }
  if (tag.includes(':')) {
    const { digest } = tryParseReference(`x@${tag}`) ?? {};
    if (digest === undefined) {
      throw invalidArgument(`invalid tag format: ${JSON.stringify(tag)}`);
    }
    return { domain, path, digest };
  }
  return withTag({ domain, path }, tag);
}

/** Answers whether the name means something else than before. */
async function* pullOne(context: PullContext, pull: OnePull): AsyncGenerator<ProgressMessage, boolean> {
  const { index } = context;
  const { reference, signal } = pull;
  const resolving = resolveImage(context.registry(), reference, pull);
  const resolved = yield* waitingFor(reference.domain, resolving, ({ repository }) =>
    repository.session[Symbol.dispose](),
  );
  using _session = resolved.repository.session;
  failpoint('images.pull.manifest');
  const now = (): TagRow | ImageDigestRow | undefined =>
    reference.digest === undefined ? index.tag(reference) : index.digest(reference);
  const before = now();
  const wanted = pull.unnamed === undefined ? resolved : { ...resolved, index: undefined };
  await using statements = new StatementFetch(context, wanted, signal);
  const imageId = resolved.manifest.config.digest;
  const known = index.get(imageId);
  const configBytes = known?.row.config ?? (await resolved.repository.blob(resolved.manifest.config, signal));
  const config = known?.config ?? parseImageConfig(configBytes, imageId);
  checkImage(pull, resolved, config);
  yield { status: `Pulling from ${shownRepository(reference)}`, id: reference.tag ?? reference.digest ?? '' };
  try {
    yield* fetchAndCommit(context, { pull, resolved: wanted, config, configBytes, statements });
  } finally {
    await context.collector.collect();
  }
  yield { status: `Digest: ${resolved.digest}` };
  pull.unnamed?.(imageId, resolved.imageDigest);
  const isSameList = before?.list !== undefined && before.list === now()?.list;
  return before?.imageId !== imageId && !isSameList;
}

interface Fetching {
  pull: OnePull;
  resolved: Resolved;
  config: ImageConfig;
  configBytes: Buffer;
  statements: StatementFetch;
}

async function* fetchAndCommit(
  context: PullContext,
  { pull, resolved, config, configBytes, statements }: Fetching,
): AsyncGenerator<ProgressMessage> {
  const { index, pins, fetches } = context;
  const { layers } = resolved.manifest;
  const chain = chainIds(config.diffIds);
  const existing = existingLayers(index, chain);
  using _pin = pins.pin(existing.map(({ id }) => id));
  const isKnown = index.get(resolved.manifest.config.digest) !== undefined;
  for (const descriptor of isKnown ? [] : layers.slice(0, existing.length)) {
    yield { status: 'Already exists', progressDetail: {}, id: shortId(descriptor.digest) };
  }
  const missing = layers.flatMap((descriptor, position) => {
    const [chainId, diffId] = [chain[position], config.diffIds[position]];
    const isMissing = position >= existing.length && chainId !== undefined && diffId !== undefined;
    return isMissing ? [{ chainId, diffId, descriptor }] : [];
  });
  const ownHub = context.ownHub();
  const hub = ownHub?.isOwn(pull.reference.domain) === true ? ownHub : undefined;
  await using shares = new Shares(
    missing.map((wanted) =>
      fetches.join(wanted, registrySource(resolved.repository, wanted.descriptor, hub)),
    ),
  );
  for (const { descriptor } of missing) {
    yield { status: 'Pulling fs layer', progressDetail: {}, id: shortId(descriptor.digest) };
  }
  const fetched = shares.all(pull.signal);
  yield* new PullProgress(shares.list.map(({ fetch }) => fetch)).during(fetched);
  await fetched;
  const { reference } = pull;
  const repository = canonicalRepository(reference);
  const image = {
    configBytes,
    config,
    names: reference.digest === undefined && pull.unnamed === undefined ? [reference] : [],
    digests: [{ repository, digest: pull.unnamed === undefined ? resolved.digest : resolved.imageDigest }],
    index: pulledIndex(resolved, reference, await statements.result),
    blobs: verifiedBlobs(resolved, shares.list, existing.length, repository),
    action: 'pull',
    event: { actorId: familiarName(reference), name: familiarRepository(repository) },
  } as const;
  await commitFetched(context, image, { existing, shares: shares.list });
}

/** Blobs that were seen to hold their layer; one that another pull has brought from elsewhere was not. */
function verifiedBlobs(
  { manifest }: Resolved,
  shares: readonly LayerShare[],
  from: number,
  repository: string,
): Exclude<NewImage['blobs'], undefined> {
  return shares.flatMap(({ fetch }, index) => {
    const position = from + index;
    const { digest, size, mediaType } = manifest.layers[position] ?? fetch.wanted.descriptor;
    const isVerified = digest === fetch.wanted.descriptor.digest && digest !== fetch.wanted.diffId;
    return isVerified && mediaType.endsWith('gzip')
      ? [{ position, repository, digest, sizeBytes: size }]
      : [];
  });
}

function checkImage({ reference, asked }: OnePull, { manifest }: Resolved, config: ImageConfig): void {
  const name = familiarName(reference);
  if (manifest.layers.length !== config.diffIds.length) {
    throw invalidArgument(
      `${name}: layers length mismatch: expected ${config.diffIds.length}, got ${manifest.layers.length}`,
    );
  }
  if (config.os !== '' && config.os !== 'linux') {
    throw invalidArgument(`${name}: image operating system "${config.os}" cannot be used on this platform`);
  }
  const { os, architecture, variant } = config;
  const isOther =
    asked !== undefined &&
    (asked.architecture !== architecture ||
      (asked.variant !== undefined && variant !== '' && asked.variant !== variant));
  if (isOther) {
    const actual = formatPlatform({ os, architecture, ...(variant !== '' && { variant }) });
    throw notFound(
      `image with reference ${name} was found but does not match the specified platform: ` +
        `wanted ${formatPlatform(asked)}, actual: ${actual}`,
    );
  }
}

/** The path alone, as dockerd shows it: `library/busybox`. */
function shownRepository({ path }: Reference): string {
  return path;
}

function statusText(name: string, isNew: boolean): string {
  return isNew ? `Status: Downloaded newer image for ${name}` : `Status: Image is up to date for ${name}`;
}
