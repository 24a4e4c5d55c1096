import type { Occurrence } from '../../occurrences/occurrence.ts';
import type { Addresses } from '../../views/addresses.ts';
import { origin, senderView, type Payload } from './common.ts';
import { packagePayload } from './package.ts';

type TagOccurrence = Extract<Occurrence, { kind: 'tag' }>;

/** What stands for no image, as for no commit in git. */
const NONE = '0'.repeat(40);

/** A tag that was pushed or removed, as one of its events. */
export function tagPayload(event: string, occurrence: TagOccurrence, addresses: Addresses): Payload {
  switch (event) {
    case 'push':
      return pushPayload(occurrence, addresses);
    case 'create':
      return {
        ...referenceOf(occurrence),
        master_branch: 'latest',
        description: occurrence.repository.description,
        ...origin(occurrence.repository, occurrence.actor, addresses),
      };
    case 'delete':
      return {
        ...referenceOf(occurrence),
        ...origin(occurrence.repository, occurrence.actor, addresses),
      };
    default:
      return packagePayload(event === 'package' ? 'package' : 'registry_package', occurrence, addresses);
  }
}

function referenceOf({ tag }: TagOccurrence) {
  return { ref: tag, ref_type: 'tag', pusher_type: 'user' };
}

/** GitHub's `push` of a tag, with digests where git has commits. */
function pushPayload(occurrence: TagOccurrence, addresses: Addresses): Payload {
  const { repository, actor, tag } = occurrence;
  const before = occurrence.before?.digest ?? NONE;
  const after = occurrence.after?.digest ?? NONE;
  const { login } = senderView(actor, addresses);
  return {
    ref: `refs/tags/${tag}`,
    before,
    after,
    created: occurrence.before === null,
    deleted: occurrence.after === null,
    forced: occurrence.before !== null && occurrence.after !== null,
    base_ref: null,
    compare: `${addresses.base}/${repository.owner.name}/${repository.name}/compare/${before}...${after}`,
    commits: [],
    head_commit: null,
    pusher: { name: login },
    ...origin(repository, actor, addresses),
  };
}
