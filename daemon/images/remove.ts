import { conflict, type EngineError } from '../base/errors.ts';
import { shortId } from '../base/ids.ts';
import type { TagRow } from '../../storage/database/rows.ts';
import { familiarName, parseReference, withDefaultTag } from '../../storage/references/reference.ts';
import { tagName } from './image-index.ts';
import type { ImageUser } from './deps.ts';

/** What is known about an image when it is asked to go. */
export interface RemovalFacts {
  imageId: string;
  /** As the client wrote it. */
  asked: string;
  tags: readonly TagRow[];
  users: readonly ImageUser[];
  force: boolean;
}

/** Tags to take away, and whether the image goes too. */
export interface RemovalPlan {
  untag: TagRow[];
  removeImage: boolean;
}

/**
 * Decides what DELETE /images/{name} does, by the rules of moby's ImageDelete: a name takes away one tag, and the image
 * only with its last one; an id takes away all, if they are in one repository. Throws conflict with the texts that
 * clients know. Pure.
 */
export function decideRemoval(facts: RemovalFacts): RemovalPlan {
  return isIdOf(facts.asked, facts.imageId) ? byId(facts) : byName(facts);
}

function byName(facts: RemovalFacts): RemovalPlan {
  const { asked, tags, users, force, imageId } = facts;
  const [user] = users;
  if (!force && tags.length === 1 && user !== undefined) {
    throw conflict(
      `conflict: unable to remove repository reference "${asked}" (must force) - ` +
        `container ${shortId(user.id)} is using its referenced image ${shortId(imageId)}`,
    );
  }
  const name = familiarName(withDefaultTag(parseReference(asked)));
  const untag = tags.filter((tag) => tagName(tag) === name);
  if (tags.length > untag.length) {
    return { untag, removeImage: false };
  }
  // The last name is gone. An image that containers use stays without a name, as the client asked for the name only.
  return { untag, removeImage: useConflict(facts) === undefined };
}

function byId(facts: RemovalFacts): RemovalPlan {
  const { tags, force, imageId } = facts;
  const inUse = useConflict(facts);
  if (inUse?.isHard === true) {
    throw inUse.error;
  }
  if (!force && tags.length > 1) {
    throw cannotDelete(imageId, 'must be forced', 'image is referenced in multiple repositories');
  }
  if (inUse !== undefined) {
    throw inUse.error;
  }
  return { untag: [...tags], removeImage: true };
}

/** A running container can never be overruled, a stopped one by force. */
function useConflict(facts: RemovalFacts): { isHard: boolean; error: EngineError } | undefined {
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
