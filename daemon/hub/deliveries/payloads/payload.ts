import { unreachable } from '../../../base/errors.ts';
import type { Hook } from '../../hooks/hook.ts';
import type { Occurrence } from '../../occurrences/occurrence.ts';
import type { Addresses } from '../../views/addresses.ts';
import type { Intent, News } from '../intent.ts';
import { origin, type Payload } from './common.ts';
import { deploymentPayload } from './deployment.ts';
import { metaPayload, pingPayload } from './hook.ts';
import { packageDeletedPayload } from './package.ts';
import { tagPayload } from './tag.ts';

/** What is sent of something that has happened. */
export function payloadOf(
  { event, news }: { event: Intent['event']; news: Exclude<News, { kind: 'again' }> },
  hook: Hook,
  addresses: Addresses,
): Payload {
  switch (news.kind) {
    case 'ping':
      return pingPayload({ hook, ...news }, addresses);
    case 'hook-deleted':
      return metaPayload(news, addresses);
    case 'occurrence':
      return occurrencePayload(event, news.occurrence, addresses);
    default:
      return unreachable(news);
  }
}

function occurrencePayload(event: string, occurrence: Occurrence, addresses: Addresses): Payload {
  const { repository, actor } = occurrence;
  switch (occurrence.kind) {
    case 'tag':
      return tagPayload(event, occurrence, addresses);
    case 'manifest-deleted':
      return packageDeletedPayload(occurrence, addresses);
    case 'pulled': {
      const { digest, mediaType, size, artifactType } = occurrence.manifest;
      return {
        action: 'pulled',
        tag: occurrence.tag,
        manifest: { digest, media_type: mediaType, size, artifact_type: artifactType },
        ...origin(repository, actor, addresses),
      };
    }
    case 'repository':
      return {
        action: occurrence.action,
        ...(occurrence.action === 'edited' && { changes: {} }),
        ...origin(repository, actor, addresses),
      };
    case 'note': {
      const { action, note } = occurrence;
      return { action, note, ...origin(repository, actor, addresses) };
    }
    case 'deployment':
    case 'deployment-status':
      return deploymentPayload(occurrence, addresses);
    default:
      return unreachable(occurrence);
  }
}
