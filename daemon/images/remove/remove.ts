import { conflict, type EngineError } from '../../base/errors.ts';
import { shortId } from '../../base/ids.ts';
import type { ImageDigestRow, TagRow } from '../../../storage/database/rows.ts';
import {
  canonicalRepository,
  parseReference,
  withDefaultTag,
} from '../../../storage/references/reference.ts';
import type { ImageUser } from '../deps.ts';

/** The facts about an image that is to be removed. */
export interface RemovalFacts {
  imageId: string;
  /** As the client wrote it. */
  asked: string;
  tags: readonly TagRow[];
  digests: readonly ImageDigestRow[];
  users: readonly ImageUser[];
  /** Other images were made from it here. */
  hasChildren: boolean;
  /** The name of an image that it stands beside, for another platform. */
  listedIn: string | undefined;
  force: boolean;
}

/** Names to remove, and whether the image is removed too. */
export interface RemovalPlan {
  untag: TagRow[];
  untagDigests: ImageDigestRow[];
  removeImage: boolean;
}

/**
 * Decides what DELETE /images/{name} does, by the rules of moby's ImageDelete: a name removes one tag, and the image
 * only with its last one; an id removes all, if they are in one repository. Throws conflict with the texts that clients
 * know. Pure.
 */
export function decideRemoval(facts: RemovalFacts): RemovalPlan {
  return isIdOf(facts.asked, facts.imageId) ? byId(facts) : byName(facts);
}

function byName(facts: RemovalFacts): RemovalPlan {
  const { asked, tags, digests, users, force, imageId } = facts;
  const [user] = users;
  if (!force && isSingleName(facts) && user !== undefined) {
    throw conflict(
      `conflict: unable to remove repository reference "${asked}" (must force) - ` +
        `container ${shortId(user.id)} is using its referenced image ${shortId(imageId)}`,
    );
  }
  const reference = withDefaultTag(parseReference(asked));
  const repository = canonicalRepository(reference);
  const untag =
    reference.digest === undefined
      ? tags.filter((tag) => tag.repository === repository && tag.tag === reference.tag)
      : [];
  // A repository's digests go with its last tag.
  const isLastTag =
    untag.length > 0 && !tags.some((tag) => tag.repository === repository && !untag.includes(tag));
  const untagDigests = digests.filter(
    (item) => item.repository === repository && (isLastTag || item.digest === reference.digest),
  );
  if (tags.length + digests.length > untag.length + untagDigests.length) {
    return { untag, untagDigests, removeImage: false };
  }
  // The last name is gone. An image that containers use stays without a name, as the client asked for the name only.
  return { untag, untagDigests, removeImage: useConflict(facts) === undefined };
}

function byId(facts: RemovalFacts): RemovalPlan {
  const { tags, digests, force, imageId } = facts;
  const inUse = useConflict(facts);
  if (inUse?.isHard === true) {
    throw inUse.error;
  }
  if (!force && !isSingleName(facts)) {
    throw cannotDelete(imageId, 'must be forced', 'image is referenced in multiple repositories');
  }
  if (inUse !== undefined) {
    throw inUse.error;
  }
  return { untag: [...tags], untagDigests: [...digests], removeImage: true };
}

/** At most one tag, and all digests in its repository (moby daemon/images/image_delete.go, isSingleReference). */
function isSingleName({ tags, digests }: RemovalFacts): boolean {
  const repositories = new Set([...tags, ...digests].map(({ repository }) => repository));
  return tags.length + digests.length <= 1 || (tags.length <= 1 && repositories.size === 1);
}

/** A running container can never be overruled, a stopped one by force. */
function useConflict(facts: RemovalFacts): { isHard: boolean; error: EngineError } | undefined {
  if (facts.hasChildren) {
    return {
      isHard: true,
      error: cannotDelete(facts.imageId, 'cannot be forced', 'image has dependent child images'),
    };
  }
  if (facts.listedIn !== undefined) {
    const why = `image is one of the platforms of ${facts.listedIn}: remove that, or its platform`;
    return { isHard: true, error: cannotDelete(facts.imageId, 'cannot be forced', why) };
  }
  return usedConflict(facts);
}

/** Throws the conflict of an image that containers were made from. Pure. */
export function refuseUsed(imageId: string, facts: Pick<RemovalFacts, 'users' | 'force'>): void {
  const used = usedConflict({ ...facts, imageId });
  if (used !== undefined) {
    throw used.error;
  }
}

function usedConflict(
  facts: Pick<RemovalFacts, 'imageId' | 'users' | 'force'>,
): ReturnType<typeof useConflict> {
  const running = facts.users.find((user) => user.running);
  if (running !== undefined) {
    const why = `image is being used by running container ${shortId(running.id)}`;
    return { isHard: true, error: cannotDelete(facts.imageId, 'cannot be forced', why) };
  }
  const stopped = facts.users[0];
  if (stopped !== undefined && !facts.force) {
    const why = `image is being used by stopped container ${shortId(stopped.id)}`;
    return { isHard: false, error: cannotDelete(facts.imageId, 'must be forced', why) };
  }
  return undefined;
}

function cannotDelete(imageId: string, force: string, why: string): EngineError {
  return conflict(`conflict: unable to delete ${shortId(imageId)} (${force}) - ${why}`);
}

function isIdOf(asked: string, imageId: string): boolean {
  return imageId.startsWith(asked) || imageId.startsWith(`sha256:${asked}`);
}
