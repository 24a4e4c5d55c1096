import type { Clock } from '../../base/clock.ts';
import { conflict, notFound } from '../../base/errors.ts';
import { refuseInvalid } from '../../base/invalid-fields.ts';
import { limits } from '../../base/limits.ts';
import { Collection } from '../records/collection.ts';
import { Counters } from '../records/counters.ts';
import type { Mirror } from '../records/mirror.ts';
import type { RecordChange } from '../records/port.ts';
import type { Account, Membership, Organization, Role, User } from './account.ts';
import { accountNameProblem, emailProblem, nameKey } from './names.ts';
import { hashPassword } from './password.ts';

export interface AccountsDeps {
  mirror: Mirror;
  clock: Clock;
  /** How many repositories an account owns. */
  repositoriesOf(account: Account): number;
  /** How many apps and OAuth applications. */
  applicationsOf(account: Account): number;
}

export interface NewUser {
  name: string;
  email?: string | null;
  password?: string;
}

/** Users, organizations and who is a member of which. Everything is answered from memory. */
export class Accounts {
  readonly #deps: AccountsDeps;
  readonly #accounts: Collection<Account>;
  readonly #members: Collection<Membership>;
  readonly #counters: Counters;

  constructor(deps: AccountsDeps) {
    this.#deps = deps;
    this.#accounts = new Collection(deps.mirror, 'account/');
    this.#members = new Collection(deps.mirror, 'member/');
    this.#counters = new Counters(deps.mirror);
  }

  /** By name, whatever its case. */
  find(name: string): Account | undefined {
    return this.#accounts.get(nameKey(name));
  }

  /** Throws not_found. */
  user(name: string): User {
    const account = this.find(name);
    if (account?.kind !== 'user') {
      throw notFound(`no such user: ${name}`);
    }
    return account;
  }

  /** Throws not_found. */
  organization(name: string): Organization {
    const account = this.find(name);
    if (account?.kind !== 'organization') {
      throw notFound(`no such organization: ${name}`);
    }
    return account;
  }

  /** The account that has both; undefined once it is removed, also where another one has its name. */
  same(name: string, id: number): Account | undefined {
    const account = this.find(name);
    return account?.id === id ? account : undefined;
  }

  /** A change that holds if the account is still as it is now. */
  unchanged(name: string): RecordChange {
    return this.#accounts.unchanged(nameKey(name));
  }

  /** By id, oldest first. */
  users(): User[] {
    return this.#all().filter((account) => account.kind === 'user');
  }

  /** By id, oldest first. */
  organizations(): Organization[] {
    return this.#all().filter((account) => account.kind === 'organization');
  }

  /** Undefined = is no member. */
  roleIn(organization: Organization, user: User): Role | undefined {
    return this.#members.get(memberKey(organization, user))?.role;
  }

  /** Members with their roles, by id of the user. */
  members(organization: Organization): { user: User; role: Role }[] {
    return this.users().flatMap((user) => {
      const role = this.roleIn(organization, user);
      return role === undefined ? [] : [{ user, role }];
    });
  }

  /** Throws InvalidFieldsError, also where the name is taken. */
  async createUser({ name, email = null, password }: NewUser): Promise<User> {
    refuseInvalid([accountNameProblem('User', name), emailProblem(email), passwordProblem(password)]);
    const hash = password === undefined ? null : await hashPassword(password);
    return this.#deps.mirror.change(() => {
      this.#refuseTaken('User', name);
      const { id, change } = this.#counters.next('account');
      const user: User = { kind: 'user', id, name, email, password: hash, createdMs: this.#nowMs() };
      return { changes: [change, this.#accounts.put(nameKey(name), user)], answer: user };
    });
  }

  /** With its first admin. Throws InvalidFieldsError, also where the name is taken; not_found without such a user. */
  createOrganization(name: string, owner: string): Promise<Organization> {
    refuseInvalid([accountNameProblem('Organization', name)]);
    return this.#deps.mirror.change(() => {
      const user = this.user(owner);
      this.#refuseTaken('Organization', name);
      const { id, change } = this.#counters.next('account');
      const organization: Organization = { kind: 'organization', id, name, createdMs: this.#nowMs() };
      return {
        changes: [
          change,
          this.#accounts.unchanged(nameKey(user.name)),
          this.#accounts.put(nameKey(name), organization),
          this.#members.put(memberKey(organization, user), {
            organization: id,
            user: user.id,
            role: 'admin',
          }),
        ],
        answer: organization,
      };
    });
  }

  /** A null password takes the user's away. Throws not_found, InvalidFieldsError. */
  async setPassword(name: string, password: string | null): Promise<void> {
    refuseInvalid([passwordProblem(password ?? undefined)]);
    const hash = password === null ? null : await hashPassword(password);
    await this.#deps.mirror.change(() => {
      const user = this.user(name);
      return {
        changes: [this.#accounts.put(nameKey(name), { ...user, password: hash })],
        answer: undefined,
      };
    });
  }

  /**
   * Throws not_found; conflict while the account owns repositories, or is the only admin of an organization. Its tokens
   * are worth nothing from now on, as its id does not come again.
   */
  remove(kind: Account['kind'], name: string): Promise<void> {
    return this.#deps.mirror.change(() => {
      const account = kind === 'user' ? this.user(name) : this.organization(name);
      const owned = this.#deps.repositoriesOf(account);
      if (owned > 0) {
        throw conflict(
          `${name} owns ${owned} ${owned === 1 ? 'repository' : 'repositories'}: remove them first`,
        );
      }
      const applications = this.#deps.applicationsOf(account);
      if (applications > 0) {
        throw conflict(`${name} owns ${applications} applications: remove them first`);
      }
      if (account.kind === 'user') {
        this.#refuseLastAdmin(account);
      }
      const memberships = this.#members
        .all()
        .filter(({ user, organization }) => user === account.id || organization === account.id);
      return {
        changes: [
          this.#accounts.delete(nameKey(name)),
          ...memberships
            .slice(0, limits.hubMembershipsRemovedAtOnce)
            .map(({ organization, user }) => this.#members.delete(`${organization}/${user}`)),
        ],
        answer: undefined,
      };
    });
  }

  /** Makes somebody a member, or changes the role. Throws not_found; conflict for the only admin. */
  setRole(organization: string, user: string, role: Role): Promise<Membership> {
    return this.#deps.mirror.change(() => {
      const [group, member] = [this.organization(organization), this.user(user)];
      if (role === 'member') {
        this.#refuseOnlyAdmin(group, member);
      }
      const membership = { organization: group.id, user: member.id, role };
      return {
        changes: [
          this.#accounts.unchanged(nameKey(organization)),
          this.#accounts.unchanged(nameKey(user)),
          this.#members.put(memberKey(group, member), membership),
        ],
        answer: membership,
      };
    });
  }

  /** Throws not_found, also for who is no member; conflict for the only admin. */
  removeMember(organization: string, user: string): Promise<void> {
    return this.#deps.mirror.change(() => {
      const [group, member] = [this.organization(organization), this.user(user)];
      if (this.roleIn(group, member) === undefined) {
        throw notFound(`${user} is no member of ${organization}`);
      }
      this.#refuseOnlyAdmin(group, member);
      return { changes: [this.#members.delete(memberKey(group, member))], answer: undefined };
    });
  }

  /** Whether classic tokens must be authorized for it, and whether it has the higher limits. Throws not_found. */
  configure(
    name: string,
    change: { hasSingleSignOn?: boolean; isEnterprise?: boolean },
  ): Promise<Organization> {
    return this.#deps.mirror.change(() => {
      const organization = { ...this.organization(name), ...change };
      return { changes: [this.#accounts.put(nameKey(name), organization)], answer: organization };
    });
  }

  #all(): Account[] {
    return this.#accounts.all().toSorted((one, other) => one.id - other.id);
  }

  #refuseTaken(resource: string, name: string): void {
    if (this.find(name) !== undefined) {
      refuseInvalid([
        { resource, field: 'login', code: 'already_exists', message: 'is taken already', value: name },
      ]);
    }
  }

  #refuseLastAdmin(user: User): void {
    for (const organization of this.organizations()) {
      this.#refuseOnlyAdmin(organization, user);
    }
  }

  #refuseOnlyAdmin(organization: Organization, user: User): void {
    const admins = this.members(organization).filter(({ role }) => role === 'admin');
    if (admins.length === 1 && admins[0]?.user.id === user.id) {
      throw conflict(
        `${user.name} is the only admin of ${organization.name}: make another one first, or remove the organization`,
      );
    }
  }

  #nowMs(): number {
    return Number(this.#deps.clock.nowNano() / 1_000_000n);
  }
}

function memberKey(organization: Organization, user: User): string {
  return `${organization.id}/${user.id}`;
}

function passwordProblem(password: string | undefined) {
  const isRight =
    password === undefined ||
    (password.length >= limits.hubPasswordMin && Buffer.byteLength(password) <= limits.hubPasswordBytesMax);
  return isRight
    ? undefined
    : ({
        resource: 'User',
        field: 'password',
        code: 'invalid',
        message: `must have ${limits.hubPasswordMin} characters or more, in ${limits.hubPasswordBytesMax} bytes`,
      } as const);
}
