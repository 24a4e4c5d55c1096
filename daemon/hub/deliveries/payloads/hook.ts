import type { Hook } from '../../hooks/hook.ts';
import type { Actor } from '../../occurrences/occurrence.ts';
import type { Repository } from '../../repositories/repository.ts';
import type { Addresses } from '../../views/addresses.ts';
import { hookView } from '../../views/hook-view.ts';
import { origin, type Payload } from './common.ts';

interface News {
  hook: Hook;
  repository: Repository;
  actor: Actor;
}

/** GitHub's `ping`: what it says is for people who look whether it came. */
export function pingPayload({ hook, repository, actor }: News, addresses: Addresses): Payload {
  return {
    zen: 'Keep it logically awesome.',
    hook_id: hook.id,
    hook: hookView(hook, repository, null, addresses),
    ...origin(repository, actor, addresses),
  };
}

/** GitHub's `meta` of a hook that was deleted. */
export function metaPayload({ hook, repository, actor }: News, addresses: Addresses): Payload {
  return {
    action: 'deleted',
    hook_id: hook.id,
    hook: hookView(hook, repository, null, addresses),
    ...origin(repository, actor, addresses),
  };
}
