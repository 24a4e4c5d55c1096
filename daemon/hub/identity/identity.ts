import type { Clock } from '../../base/clock.ts';
import { notFound } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import type { Mirror } from '../records/mirror.ts';
import type { Repositories } from '../repositories/repositories.ts';
import { OAuthApplications } from '../oauth/applications/applications.ts';
import { Authorizations } from '../oauth/authorizations/authorizations.ts';
import { ServiceTokens } from '../oauth/service-tokens/service-tokens.ts';
import { Accounts } from './accounts.ts';
import { Apps } from './apps/apps.ts';
import { DelegatedTokens } from './apps/delegated-tokens.ts';
import { InstallationTokens } from './apps/installation-tokens.ts';
import { Installations } from './apps/installations.ts';
import { Holders } from './holders.ts';
import { TokenSweep } from './tokens/token-sweep.ts';
import { Tokens } from './tokens/tokens.ts';
import { WorkflowTokens } from './workflow/workflow-tokens.ts';

interface Deps {
  mirror: Mirror;
  clock: Clock;
  log: Logger;
  repositories: () => Repositories;
  /** The hub is at an address without TLS. */
  isPlain: boolean;
}

export interface Identity {
  accounts: Accounts;
  tokens: Tokens;
  apps: Apps;
  installations: Installations;
  installationTokens: InstallationTokens;
  delegatedTokens: DelegatedTokens;
  workflowTokens: WorkflowTokens;
  holders: Holders;
  oauthApplications: OAuthApplications;
  serviceTokens: ServiceTokens;
  authorizations: Authorizations;
  sweep: TokenSweep;
}

/** Accounts, applications and all that they show to be known. */
export function createIdentity({ mirror, clock, log, repositories, isPlain }: Deps): Identity {
  const repositoryId = (owner: string, name: string): number | undefined =>
    repositories().find(owner, name)?.id;
  const accounts: Accounts = new Accounts({
    mirror,
    clock,
    repositoriesOf: (account) => repositories().ofOwner(account).length,
    applicationsOf: (account) => apps.countOf(account) + oauthApplications.ofOrganization(account).length,
  });
  const installations = new Installations({ mirror, clock, accounts, apps: () => apps, repositoryId });
  const apps: Apps = new Apps({
    mirror,
    clock,
    accounts,
    removals: (app) => installations.removals(app),
  });
  const oauthApplications: OAuthApplications = new OAuthApplications({
    mirror,
    clock,
    accounts,
    isHubPlain: isPlain,
  });
  const tokens = new Tokens({ mirror, clock, log, accounts, repositoryId });
  const holders = new Holders({
    accounts,
    apps,
    installations,
    oauthApplications,
    hasRepository: (id) => repositories().byId(id) !== undefined,
  });
  const sweep = new TokenSweep({
    mirror,
    clock,
    log,
    isDead: (token) =>
      holders.callerOf(token) === undefined
        ? !isSuspended(installations, token)
        : token.kind !== 'classic' && token.kind !== 'fine-grained' && tokens.isOver(token),
  });
  return {
    accounts,
    tokens,
    apps,
    installations,
    installationTokens: new InstallationTokens({
      mirror,
      clock,
      installations,
      repositoriesOf: (account) => repositories().ofOwner(account),
    }),
    delegatedTokens: new DelegatedTokens({ mirror, clock, accounts }),
    workflowTokens: new WorkflowTokens({
      mirror,
      clock,
      repositoryId,
      repositoryUnchanged: (id) => repositories().unchanged(id) ?? refuseRepository(id),
    }),
    oauthApplications,
    serviceTokens: new ServiceTokens({ mirror, clock, accounts }),
    authorizations: new Authorizations({ mirror, clock, accounts, applications: oauthApplications }),
    holders,
    sweep,
  };
}

/** A suspended installation comes back with its tokens. */
function isSuspended(installations: Installations, token: Parameters<Tokens['isOver']>[0]): boolean {
  const installation = token.kind === 'installation' ? installations.find(token.installation) : undefined;
  return installation !== undefined && installation.suspendedMs !== null;
}

function refuseRepository(id: number): never {
  throw notFound(`no such repository: ${id}`);
}
