import type { Accounts } from '../identity/accounts.ts';
import type { AccountRef } from '../identity/apps/app.ts';
import { selects } from '../identity/apps/installations.ts';
import type { Repositories } from '../repositories/repositories.ts';
import type { RateFacts } from './quotas.ts';

/** What limits depend on, out of the records. */
export function rateFactsOf({
  accounts,
  repositories,
}: {
  accounts: Accounts;
  repositories: Repositories;
}): RateFacts {
  const organizationOf = ({ kind, name, id }: AccountRef) => {
    const account = kind === 'organization' ? accounts.same(name, id) : undefined;
    return account?.kind === 'organization' ? account : undefined;
  };
  return {
    isEnterprise: (account) => organizationOf(account)?.isEnterprise === true,
    isMember: (account, user) => {
      const organization = organizationOf(account);
      return organization !== undefined && accounts.roleIn(organization, user) !== undefined;
    },
    sizeOf: (installation) => {
      const organization = organizationOf(installation.account);
      return {
        repositories: repositories
          .ofOwner(installation.account)
          .filter((repository) => selects(installation, repository)).length,
        users: organization === undefined ? 1 : accounts.members(organization).length,
      };
    },
    ownerOf: (id) => repositories.byId(id)?.owner,
  };
}
