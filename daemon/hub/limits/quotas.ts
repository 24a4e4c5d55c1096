import { unreachable } from '../../base/errors.ts';
import type { User } from '../identity/account.ts';
import type { AccountRef, Installation } from '../identity/apps/app.ts';
import type { Caller, UserCaller } from '../identity/caller.ts';
import type { RateRules } from './rules.ts';

/** What the hour's limit of a caller depends on besides the caller. */
export interface RateFacts {
  /** Whether an account is an organization with the higher limits. */
  isEnterprise(account: AccountRef): boolean;
  isMember(organization: AccountRef, user: User): boolean;
  /** How many repositories an installation has, and users the account that it is at. */
  sizeOf(installation: Installation): { repositories: number; users: number };
  /** Undefined = there is no such repository any more. */
  ownerOf(repository: number): AccountRef | undefined;
}

/** By what a caller's requests are counted: those with one key share a limit. Undefined for root, who has none. */
export function keyOf(caller: Caller): string | undefined {
  switch (caller.kind) {
    case 'root':
      return undefined;
    case 'anonymous':
      return `address/${caller.address}`;
    case 'user':
    case 'page':
    case 'delegate':
      return `user/${caller.user.id}`;
    case 'installation':
      return `installation/${caller.installation.id}`;
    case 'app':
      return `app/${caller.app.id}`;
    case 'client':
      return `client/${caller.application.clientId}`;
    case 'workflow':
      return `workflow/${caller.token.repository}`;
    case 'service':
      return `service/${caller.organization.id}`;
    default:
      return unreachable(caller);
  }
}

/** Requests of an hour (seed 001, section 8: primary limits). 0 = there is no limit. Pure. */
export function quotaOf(caller: Caller, rules: RateRules, facts: RateFacts): number {
  const raised = (quota: number, owner: AccountRef | undefined): number =>
    quota > 0 && owner !== undefined && facts.isEnterprise(owner) ? rules.enterprisePerHour : quota;
  switch (caller.kind) {
    case 'root':
      return 0;
    case 'anonymous':
      return rules.anonymousPerHour;
    case 'page':
      return rules.userPerHour;
    case 'user':
      return raised(rules.userPerHour, raisingOwner(caller, facts));
    case 'installation':
      return raised(ofInstallation(caller.installation, rules, facts), caller.installation.account);
    case 'app':
      return rules.applicationPerHour;
    case 'client':
      return raised(rules.applicationPerHour, caller.application.owner);
    case 'workflow':
      return raised(rules.workflowPerHour, facts.ownerOf(caller.token.repository));
    case 'delegate': {
      const owner = { kind: 'organization', ...caller.application.organization } as const;
      return raised(rules.userPerHour, facts.isMember(owner, caller.user) ? owner : undefined);
    }
    case 'service':
      return raised(rules.applicationPerHour, caller.organization);
    default:
      return unreachable(caller);
  }
}

const INSTALLATION_MOST = 12_500;
/** Repositories and users that a limit is for; each one more adds to it. */
const INCLUDED = 20;
const EACH_MORE = 50;

function ofInstallation(installation: Installation, rules: RateRules, facts: RateFacts): number {
  const least = rules.applicationPerHour;
  if (least === 0) {
    return 0;
  }
  const { repositories, users } = facts.sizeOf(installation);
  const more = Math.max(0, repositories - INCLUDED) + Math.max(0, users - INCLUDED);
  return Math.max(least, Math.min(INSTALLATION_MOST, least + EACH_MORE * more));
}

/** Whose application raises the limit of the user: an OAuth application only that of members of its owner. */
function raisingOwner(caller: UserCaller, facts: RateFacts): AccountRef | undefined {
  if (!('application' in caller)) {
    return undefined;
  }
  const { kind, owner } = caller.application;
  return kind === 'app' || facts.isMember(owner, caller.user) ? owner : undefined;
}
