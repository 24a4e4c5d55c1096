import type { HubToken } from '../../../api/types/hub/token.ts';
import type { PersonalToken } from '../identity/tokens/token.ts';
import { timeOrNull, timeText } from './times.ts';

export function tokenView(token: PersonalToken): HubToken {
  return {
    id: token.id,
    kind: token.kind,
    note: token.note,
    token_last_eight: token.lastEight,
    hashed_token: token.hash,
    ...(token.kind === 'classic'
      ? { scopes: token.scopes }
      : {
          scopes: [],
          permissions: token.permissions,
          resource_owner: token.resourceOwner.name,
          repository_selection: token.repositories === 'all' ? 'all' : 'selected',
        }),
    created_at: timeText(token.createdMs),
    expires_at: timeOrNull(token.expiresMs),
    last_used_at: timeOrNull(token.lastUsedMs),
  };
}
