import type { DeliveryLog } from '../deliveries/delivery.ts';
import type { Intents } from '../deliveries/intents.ts';
import type { Hooks } from '../hooks/hooks.ts';
import type { Accounts } from '../identity/accounts.ts';
import type { Apps } from '../identity/apps/apps.ts';
import type { DelegatedTokens } from '../identity/apps/delegated-tokens.ts';
import type { InstallationTokens } from '../identity/apps/installation-tokens.ts';
import type { Installations } from '../identity/apps/installations.ts';
import type { SignOnLinks } from '../identity/sso/sign-on-links.ts';
import type { Tokens } from '../identity/tokens/tokens.ts';
import type { RateLimits } from '../limits/rate-limits.ts';
import type { RegistryLimits } from '../limits/registry-limits.ts';
import type { Notes } from '../notes/notes.ts';
import type { NoteIndex } from '../notes/search/note-index.ts';
import type { Registry } from '../registry/registry.ts';
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
  hooks: Hooks;
  intents: Intents;
  deliveries: DeliveryLog;
  tokens: Tokens;
  apps: Apps;
  installations: Installations;
  installationTokens: InstallationTokens;
  delegatedTokens: DelegatedTokens;
  links: SignOnLinks;
  rates: RateLimits;
  registryLimits: RegistryLimits;
  registry: Registry;
  notes: Notes;
  noteIndex: NoteIndex;
  addresses: Addresses;
}
