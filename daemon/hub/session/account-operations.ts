import type {
  FullOrganization,
  OrganizationConfigureRequest,
  OrganizationCreateRequest,
  OrganizationMembership,
  PrivateUser,
  PublicUser,
  SimpleOrganization,
  SimpleUser,
  UserCreateRequest,
} from '../../../api/types/hub/account.ts';
import type { HubAccountsPort } from '../../../api/types/hub/ports.ts';
import { EngineError, notFound } from '../../base/errors.ts';
import type { Account, Organization, Role, User } from '../identity/account.ts';
import { scopesOf, userOf, type Caller } from '../identity/caller.ts';
import { hasScope } from '../identity/tokens/scopes.ts';
import { covers } from '../oauth/scopes/access.ts';
import {
  fullOrganization,
  membershipView,
  privateUser,
  publicUser,
  simpleOrganization,
  simpleUser,
  type Counts,
} from '../views/account-view.ts';
import { hidden, lacksAccess, personOf, rootOnly } from './refusals.ts';
import type { SessionDeps } from './session-deps.ts';

/** Users, organizations and memberships. Accounts may be seen by all; root makes and removes them. */
export class AccountOperations implements HubAccountsPort {
  readonly #deps: SessionDeps;
  readonly #caller: Caller;

  constructor(deps: SessionDeps, caller: Caller) {
    this.#deps = deps;
    this.#caller = caller;
  }

  me(): PrivateUser {
    const user = personOf(this.#caller);
    const caller = this.#caller;
    if (
      caller.kind === 'delegate' &&
      !covers(caller.token.accesses, 'read-user', { kind: 'user', user: user.id })
    ) {
      throw lacksAccess('read-user');
    }
    return privateUser(user, this.#counts(user), this.#deps.addresses);
  }

  user(name: string): PublicUser {
    const user = this.#deps.accounts.user(name);
    return publicUser(user, this.#counts(user), this.#deps.addresses);
  }

  users(): SimpleUser[] {
    return this.#deps.accounts.users().map((user) => simpleUser(user, this.#deps.addresses));
  }

  organization(name: string): FullOrganization {
    const organization = this.#deps.accounts.organization(name);
    return fullOrganization(organization, this.#counts(organization), this.#deps.addresses);
  }

  organizations(): SimpleOrganization[] {
    const { accounts, addresses } = this.#deps;
    return accounts.organizations().map((organization) => simpleOrganization(organization, addresses));
  }

  members(name: string): SimpleUser[] {
    const organization = this.#asMember(name, 'read:org');
    return this.#deps.accounts
      .members(organization)
      .map(({ user }) => simpleUser(user, this.#deps.addresses));
  }

  membership(organizationName: string, userName: string): OrganizationMembership {
    const organization = this.#asMember(organizationName, 'read:org');
    const user = this.#deps.accounts.user(userName);
    const role = this.#deps.accounts.roleIn(organization, user);
    if (role === undefined) {
      throw notFound(`${userName} is no member of ${organizationName}`);
    }
    return membershipView({ organization, user, role }, this.#deps.addresses);
  }

  async setMembership(organization: string, user: string, role: Role): Promise<OrganizationMembership> {
    this.#asAdmin(organization);
    await this.#deps.accounts.setRole(organization, user, role);
    return this.membership(organization, user);
  }

  async removeMembership(organization: string, user: string): Promise<void> {
    this.#asAdmin(organization);
    await this.#deps.accounts.removeMember(organization, user);
  }

  async createUser({ login, email = null, password }: UserCreateRequest): Promise<SimpleUser> {
    rootOnly(this.#caller);
    const user = await this.#deps.accounts.createUser({
      name: login,
      email,
      ...(password !== undefined && { password }),
    });
    return simpleUser(user, this.#deps.addresses);
  }

  async setPassword(user: string, password: string | null): Promise<void> {
    rootOnly(this.#caller);
    await this.#deps.accounts.setPassword(user, password);
  }

  async removeUser(name: string): Promise<void> {
    rootOnly(this.#caller);
    await this.#deps.accounts.remove('user', name);
  }

  async createOrganization({ login, admin }: OrganizationCreateRequest): Promise<SimpleOrganization> {
    rootOnly(this.#caller);
    const organization = await this.#deps.accounts.createOrganization(login, admin);
    return simpleOrganization(organization, this.#deps.addresses);
  }

  async removeOrganization(name: string): Promise<void> {
    this.#asAdmin(name);
    await this.#deps.accounts.remove('organization', name);
  }

  async configureOrganization(name: string, request: OrganizationConfigureRequest): Promise<void> {
    rootOnly(this.#caller);
    const { single_sign_on: hasSingleSignOn, enterprise: isEnterprise } = request;
    await this.#deps.accounts.configure(name, {
      ...(hasSingleSignOn !== undefined && { hasSingleSignOn }),
      ...(isEnterprise !== undefined && { isEnterprise }),
    });
  }

  #asAdmin(name: string): Organization {
    const organization = this.#asMember(name, 'admin:org');
    const user = userOf(this.#caller);
    if (user !== undefined && this.#roleOf(organization, user) !== 'admin') {
      throw new EngineError('forbidden', `You must be an admin of ${organization.name}`);
    }
    return organization;
  }

  /** Members of an organization are seen by its members, with a token that has the scope. */
  #asMember(name: string, scope: string): Organization {
    const organization = this.#deps.accounts.organization(name);
    const caller = this.#caller;
    if (caller.kind === 'root') {
      return organization;
    }
    if (this.#roleOf(organization, personOf(caller)) === undefined) {
      throw hidden();
    }
    if (caller.kind === 'delegate') {
      refuseChange(scope);
      const place = { kind: 'owner', owner: organization.id } as const;
      if (!covers(caller.token.accesses, 'read-organization', place)) {
        throw lacksAccess('read-organization');
      }
      return organization;
    }
    const scopes = scopesOf(caller);
    if (caller.kind !== 'page' && (scopes === undefined || !hasScope(scopes, scope))) {
      throw new EngineError('forbidden', `This token needs the scope ${scope}.`, {
        details: { acceptedScopes: [scope] },
      });
    }
    this.#deps.grants.requireSignOn(caller, organization);
    return organization;
  }

  #roleOf(organization: Organization, user: User): Role | undefined {
    return this.#deps.accounts.roleIn(organization, user);
  }

  #counts(account: Account): Counts {
    const owned = this.#deps.repositories.ofOwner(account);
    const hiddenOnes = owned.filter(({ isPrivate }) => isPrivate).length;
    return { public: owned.length - hiddenOnes, private: hiddenOnes };
  }
}

/** There is no access by which applications change organizations. */
function refuseChange(scope: string): void {
  if (scope !== 'read:org') {
    throw new EngineError('forbidden', 'Resource not accessible by an OAuth application of an organization');
  }
}
