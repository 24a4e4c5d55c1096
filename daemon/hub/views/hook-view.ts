import type { HubHook, HubHookConfig, HubLastResponse } from '../../../api/types/hub/hooks.ts';
import type { Outcome } from '../deliveries/delivery.ts';
import { MASKED_SECRET } from '../hooks/hook-edits.ts';
import type { Hook, HookConfig } from '../hooks/hook.ts';
import type { Repository } from '../repositories/repository.ts';
import type { Addresses } from './addresses.ts';
import { timeText } from './times.ts';

/** `last`: of its newest delivery; null = none within the time that they are kept. */
export function hookView(
  hook: Hook,
  { owner, name }: Pick<Repository, 'owner' | 'name'>,
  last: Outcome | null,
  addresses: Addresses,
): HubHook {
  const url = `${addresses.base}/repos/${owner.name}/${name}/hooks/${hook.id}`;
  return {
    type: 'Repository',
    id: hook.id,
    name: 'web',
    active: hook.isActive,
    events: hook.events,
    config: configView(hook.config),
    updated_at: timeText(hook.updatedMs),
    created_at: timeText(hook.createdMs),
    url,
    test_url: `${url}/test`,
    ping_url: `${url}/pings`,
    deliveries_url: `${url}/deliveries`,
    last_response: lastResponse(last),
  };
}

export function configView({ url, contentType, secret, insecureSsl }: HookConfig): HubHookConfig {
  return {
    content_type: contentType,
    insecure_ssl: insecureSsl,
    url,
    ...(secret !== null && { secret: MASKED_SECRET }),
  };
}

function lastResponse(last: Outcome | null): HubLastResponse {
  return last === null
    ? { code: null, status: 'unused', message: null }
    : { code: last.code, status: last.hookStatus, message: last.status };
}
