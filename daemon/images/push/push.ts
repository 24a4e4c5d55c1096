import type { ImagePlatform, ProgressMessage } from '../../../api/types/image.ts';
import type { PushOptions } from '../../../api/types/ports.ts';
import type { ManifestListRow } from '../../../storage/database/manifest-list-rows.ts';
import { hostPlatform } from '../../../storage/image/platform.ts';
import type { TagRow } from '../../../storage/database/rows.ts';
import { connectRegistry } from '../../../storage/registry/connect.ts';
import { RemoteRepository } from '../../../storage/registry/repository.ts';
import {
  canonicalRepository,
  familiarName,
  familiarRepository,
  parseReference,
  withTag,
  type Reference,
} from '../../../storage/references/reference.ts';
import { conflict, EngineError, invalidArgument, isEngineError, notFound } from '../../base/errors.ts';
import { tagName, type ImageIndex } from '../image-index.ts';
import { listDescriptor } from '../lists/describe.ts';
import { isWhole } from '../lists/originals.ts';
import { ofPlatform, otherPlatform } from '../platform-asked.ts';
import { waitingFor } from '../watch.ts';
import { pushImage } from './push-image.ts';
import { pushList } from './push-list.ts';
import type { OnePush, PushContext } from './pushed.ts';

/** Gives a name's image, or all tags of a repository, to the registry that the name names. */
export async function* pushImages(
  context: PushContext,
  name: string,
  { tag, platform, auth, signal }: PushOptions,
): AsyncGenerator<ProgressMessage> {
  const reference = pushTarget(name, tag ?? '');
  // First of all, as dockerd does: failures from here on are told in the stream.
  yield { status: `The push refers to repository [${canonicalRepository(reference)}]` };
  const { domain } = reference;
  const tags = tagsOf(context.index, reference);
  const connecting = connectRegistry(context.registry(), domain, auth, signal);
  using session = yield* waitingFor(domain, connecting, (late) => late[Symbol.dispose]());
  const repository = new RemoteRepository(session, reference.path, 'pull,push');
  try {
    for (const row of tags) {
      yield* pushTag(context, { platform, row, repository, domain, signal });
    }
  } catch (error) {
    throw pushError(error);
  }
}

/** All that a name means, or its image for a platform alone. */
async function* pushTag(
  context: PushContext,
  { platform, ...push }: Omit<OnePush, 'image'> & { platform: ImagePlatform | undefined },
): AsyncGenerator<ProgressMessage> {
  const { index } = context;
  const { row } = push;
  // It may have been removed while the ones before it were pushed.
  const image = index.findWhole(row.imageId);
  const list = row.list === undefined ? undefined : index.lists.get(row.list);
  if (platform === undefined) {
    if (list === undefined) {
      yield* pushImage(context, { ...push, image });
    } else if (list.index === undefined || isWhole(context, list)) {
      yield* pushList(context, { ...push, image }, list);
    } else {
      yield* pushPart(context, { ...push, image }, list);
    }
    return;
  }
  const meant = ofPlatform(index, { image, list }, platform);
  if (meant === undefined) {
    throw otherPlatform(tagName(row), platform, image.config);
  }
  yield* pushImage(context, { ...push, image: index.whole(meant, tagName(row)) }, list);
}

/**
 * The image alone of an index that is not all here, and says so, as dockerd does with containerd's store. Throws
 * conflict where several are here and none is for this host.
 */
async function* pushPart(
  context: PushContext,
  push: OnePush,
  list: ManifestListRow,
): AsyncGenerator<ProgressMessage> {
  const { os, architecture } = hostPlatform();
  const { config } = push.image;
  if (list.images.length > 1 && (config.os !== os || config.architecture !== architecture)) {
    throw conflict('multiple matching manifests found but no specific platform requested');
  }
  const pushed = yield* pushImage(context, push, list);
  yield {
    progressDetail: {},
    aux: {
      ManifestPushedInsteadOfIndex: true,
      OriginalIndex: listDescriptor(context, list),
      SelectedManifest: pushed,
    },
  };
}

/** What was refused for want of credentials is told without the request that found out, as dockerd does. */
function pushError(error: unknown): unknown {
  const words = isEngineError(error, 'remote') ? error.details['words'] : undefined;
  return typeof words === 'string' ? new EngineError('remote', words, { cause: error }) : error;
}

/** What the name in the path and `tag` mean together; no tag means all. Pure. */
export function pushTarget(name: string, tag: string): Reference {
  const reference = parseReference(name);
  if (reference.digest !== undefined) {
    throw invalidArgument('cannot push a digest reference');
  }
  return tag === '' ? reference : withTag(reference, tag);
}

function tagsOf(index: ImageIndex, reference: Reference): TagRow[] {
  const tags =
    reference.tag === undefined
      ? index.tagsIn(canonicalRepository(reference))
      : [index.tag(reference)].filter((row) => row !== undefined);
  if (tags.length === 0) {
    const repository = canonicalRepository(reference);
    throw index.tagsIn(repository).length === 0
      ? notFound(`An image does not exist locally with the tag: ${familiarRepository(repository)}`)
      : notFound(`tag does not exist: ${familiarName(reference)}`);
  }
  return tags;
}
