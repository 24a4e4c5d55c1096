import type { DeliveryHistory } from '../deliveries/delivery.ts';
import type { Intents } from '../deliveries/intents.ts';
import type { Hooks } from '../hooks/hooks.ts';
import type { Accounts } from '../identity/accounts.ts';
import type { Apps } from '../identity/apps/apps.ts';
import type { DelegatedTokens } from '../identity/apps/delegated-tokens.ts';
import type { InstallationTokens } from '../identity/apps/installation-tokens.ts';
import type { Installations } from '../identity/apps/installations.ts';
import type { SignOnLinks } from '../identity/sso/sign-on-links.ts';
import type { Tokens } from '../identity/tokens/tokens.ts';
import type { Lockout } from '../identity/lockout.ts';
import type { RateLimits } from '../limits/rate-limits.ts';
import type { RegistryLimits } from '../limits/registry-limits.ts';
import type { WebsiteStatus } from '../notes/schema/website-status.ts';
import type { Notes } from '../notes/notes.ts';
import type { NoteReader } from '../notes/reader/port.ts';
import type { NoteIndex } from '../notes/search/note-index.ts';
import type { OAuthApplications } from '../oauth/applications/applications.ts';
import type { Authorizations } from '../oauth/authorizations/authorizations.ts';
import type { ServiceTokens } from '../oauth/service-tokens/service-tokens.ts';
import type { Mirror } from '../records/mirror.ts';
import type { AsideSource } from '../aside/restore.ts';
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
  deliveries: DeliveryHistory;
  tokens: Tokens;
  apps: Apps;
  installations: Installations;
  installationTokens: InstallationTokens;
  delegatedTokens: DelegatedTokens;
  oauthApplications: OAuthApplications;
  serviceTokens: ServiceTokens;
  authorizations: Authorizations;
  lockout: Lockout;
  links: SignOnLinks;
  rates: RateLimits;
  registryLimits: RegistryLimits;
  registry: Registry;
  notes: Notes;
  noteIndex: NoteIndex;
  noteReader: NoteReader;
  addresses: Addresses;
  mirror: Mirror;
  /** What is kept aside on this host. */
  aside: () => readonly AsideSource[];
  websiteStatus: WebsiteStatus;
}
