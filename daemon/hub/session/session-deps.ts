import type { Accounts } from '../identity/accounts.ts';
import type { Tokens } from '../identity/tokens/tokens.ts';
import type { RateLimits } from '../limits/rate-limits.ts';
import type { Collaborators } from '../repositories/collaborators.ts';
import type { Repositories } from '../repositories/repositories.ts';
import type { Addresses } from '../views/addresses.ts';
import type { Grants } from './grants.ts';

/** What the operations of all sessions stand on. */
export interface SessionDeps {
  accounts: Accounts;
  repositories: Repositories;
  collaborators: Collaborators;
  grants: Grants;
  tokens: Tokens;
  rates: RateLimits;
  addresses: Addresses;
}
