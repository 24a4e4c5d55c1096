import { createHash } from 'node:crypto';
import { unreachable } from '../../../base/errors.ts';
import { limits } from '../../../base/limits.ts';
import { occurrenceOf } from '../../../base/occurrence.ts';
import type { Happening } from '../../../cluster/events/emit/happening.ts';
import type { AuditRecord } from '../../../hub/audit/audit-record.ts';
import type { HubNews } from '../../../hub/occurrences/news.ts';
import type { Repository } from '../../../hub/repositories/repository.ts';

const NANOS_PER_MS = 1_000_000n;
const NAMESPACE = 'default';

/** What the cluster is told of repositories: all else is told by the part that does it. */
const TEXTS: Readonly<Record<string, (details: AuditRecord['details'], name: string) => string>> = {
  Pushed: ({ tag, after }, name) => `${tag} of ${name} is ${after}`,
  TagDeleted: ({ tag }, name) => `${tag} of ${name} was deleted`,
  ManifestDeleted: ({ digest }, name) => `${digest} of ${name} was deleted`,
  RepositoryCreated: (_details, name) => `repository ${name} was created`,
  RepositoryDeleted: (_details, name) => `repository ${name} was deleted`,
  RepositoryPrivatized: (_details, name) => `repository ${name} is private now`,
  RepositoryPublicized: (_details, name) => `repository ${name} is public now`,
};

/**
 * What happened to a repository of the hub, as the cluster is told of it: one event, whichever managers tell it;
 * undefined for what it is not told of, and for an old record, which came with those of another place. Whoever may look
 * at events may not look at a private repository: it has no name there. Pure.
 */
export function repositoryHappening(
  { id, atMs, action, target, details }: AuditRecord,
  nowMs: number,
): Happening | undefined {
  const text = TEXTS[action];
  if (target.kind !== 'Repository' || text === undefined || nowMs - atMs > limits.hubAuditToldAgainMs) {
    return undefined;
  }
  const isPrivate = target.isPrivate === true;
  const name = isPrivate ? `repository-${target.id}` : target.name;
  return {
    atNano: BigInt(atMs) * NANOS_PER_MS,
    once: id.slice(0, 16),
    id,
    namespace: NAMESPACE,
    regarding: { kind: 'Repository', namespace: NAMESPACE, name, uid: target.id },
    type: 'Normal',
    reason: action,
    action: ACTIONS[action] ?? 'Change',
    note: isPrivate ? `a private repository: ${action}` : text(details, name),
    part: 'registry',
  };
}

const ACTIONS: Readonly<Record<string, string>> = {
  Pushed: 'Push',
  TagDeleted: 'Delete',
  ManifestDeleted: 'Delete',
  RepositoryCreated: 'Create',
  RepositoryDeleted: 'Delete',
};

/** What else the hub tells. Addresses are for root alone, who finds them in the audit. Pure. */
export function newsHappening(news: HubNews, atNano: bigint): Happening {
  return { atNano, namespace: NAMESPACE, type: 'Warning', id: newsId(news, atNano), ...toldOf(news) };
}

function newsId(news: HubNews, atNano: bigint): string {
  return news.kind === 'delivery-failed'
    ? occurrenceOf(news.kind, news.guid, String(atNano))
    : occurrenceOf(JSON.stringify(news), String(atNano));
}

type Told = Pick<
  Happening,
  'regarding' | 'related' | 'reason' | 'action' | 'note' | 'part' | 'audited' | 'cause'
>;

function toldOf(news: HubNews): Told {
  switch (news.kind) {
    case 'delivery-failed': {
      const { hook, repository, event, guid, status, occurrence } = news;
      const name = repositoryName(repository);
      return {
        ...(occurrence !== undefined && { cause: occurrence }),
        regarding: webhook(hook, name),
        reason: 'WebhookDeliveryFailed',
        action: 'Deliver',
        note: `${event} was not delivered by webhook ${hook} of ${name}: ${status}`,
        part: 'hooks',
        audited: { guid, event, status },
      };
    }
    case 'hook-switched-off': {
      const { hook, repository, failures } = news;
      const name = repositoryName(repository);
      return {
        regarding: webhook(hook, name),
        reason: 'WebhookSwitchedOff',
        action: 'SwitchOff',
        note: `webhook ${hook} of ${name} is switched off: ${failures} deliveries have failed, one after the other`,
        part: 'hooks',
      };
    }
    case 'limited': {
      const { caller, limit } = news;
      const name = shownCaller(caller);
      return {
        regarding: { kind: 'Caller', namespace: NAMESPACE, name, uid: digestOf(caller) },
        related: { kind: 'Limit', name: limit, uid: limit },
        reason: 'RateLimited',
        action: 'Refuse',
        note: `requests of ${name} are refused: too many (${limit})`,
        part: 'limits',
        audited: { caller },
      };
    }
    case 'locked-out': {
      const { name: caller } = news;
      const name = shownCaller(caller.replace(' ', '/'));
      return {
        regarding: { kind: 'Caller', namespace: NAMESPACE, name, uid: digestOf(caller) },
        reason: 'AuthLockout',
        action: 'Refuse',
        note: `${name} is locked out: too many wrong credentials`,
        part: 'limits',
        audited: { caller: caller.slice(0, AUDITED_MAX) },
      };
    }
    default:
      return unreachable(news);
  }
}

/** What clients send as a name may be anything. */
const AUDITED_MAX = 200;

function webhook(hook: number, repository: string): Happening['regarding'] {
  return { kind: 'Webhook', namespace: NAMESPACE, name: `${repository}/hooks/${hook}`, uid: `hook/${hook}` };
}

function repositoryName(repository: Repository | undefined): string {
  return repository === undefined || repository.isPrivate
    ? `repository-${repository?.id ?? 'gone'}`
    : `${repository.owner.name}/${repository.name}`;
}

/** `user/3` as it is; an address, and a name that is nobody's perhaps, only so that it is known again. */
function shownCaller(key: string): string {
  return /^(user|installation|app|workflow|service)\/\d+$/.test(key)
    ? key
    : `${/^[a-z]+/.exec(key)?.[0] ?? 'caller'}-${digestOf(key).slice(0, 12)}`;
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 32);
}
