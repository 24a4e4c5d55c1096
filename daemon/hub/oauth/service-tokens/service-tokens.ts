import type { Clock } from '../../../base/clock.ts';
import { conflict, notFound } from '../../../base/errors.ts';
import { failpoint } from '../../../base/failpoint.ts';
import { refuseInvalid, type InvalidField } from '../../../base/invalid-fields.ts';
import { limits } from '../../../base/limits.ts';
import type { Organization } from '../../identity/account.ts';
import type { Accounts } from '../../identity/accounts.ts';
import { nameKey } from '../../identity/names.ts';
import { hashSecret, newSecret } from '../../identity/tokens/secret.ts';
import type { Owner, ServiceToken, Token } from '../../identity/tokens/token.ts';
import { Collection } from '../../records/collection.ts';
import { Counters } from '../../records/counters.ts';
import type { Mirror } from '../../records/mirror.ts';
import { newPublicId } from '../public-id.ts';
import { ACCESS_NAMES, canonicalScope } from '../scopes/names.ts';

export interface ServiceTokensDeps {
  mirror: Mirror;
  clock: Clock;
  accounts: Accounts;
}

export interface NewServiceToken {
  name: string;
  accesses: readonly string[];
  /** Seconds; null = never ends. */
  ttlS: number | null;
  /** Who makes it; null = root. */
  maker: Owner | null;
}

const YEAR_S = 366 * 86_400;

/** Tokens by which an organization's own programs act for it, with accesses to it (seed 002 A, step 0). */
export class ServiceTokens {
  readonly #deps: ServiceTokensDeps;
  readonly #tokens: Collection<Token>;
  readonly #counters: Counters;

  constructor(deps: ServiceTokensDeps) {
    this.#deps = deps;
    this.#tokens = new Collection(deps.mirror, 'token/');
    this.#counters = new Counters(deps.mirror);
  }

  /** Oldest first. */
  ofOrganization(organization: Organization): ServiceToken[] {
    return this.#tokens
      .all()
      .filter((token) => token.kind === 'service')
      .filter((token) => token.organization.id === organization.id)
      .toSorted((one, other) => one.id - other.id);
  }

  /** Throws not_found. */
  get(organization: Organization, publicId: string): ServiceToken {
    const found = this.ofOrganization(organization).find((token) => token.publicId === publicId);
    if (found === undefined) {
      throw notFound(`no such service token of ${organization.name}`);
    }
    return found;
  }

  /** With the secret, which nobody can ask for again. Throws InvalidFieldsError, not_found, conflict. */
  async create(
    organizationName: string,
    asked: NewServiceToken,
  ): Promise<{ token: ServiceToken; secret: string }> {
    const accesses = [...new Set(asked.accesses.map((name) => canonicalScope('organization', name)))];
    refuseInvalid([...problemsOf(asked, accesses)]);
    const secret = newSecret('service');
    const token = await this.#deps.mirror.change(() => {
      const organization = this.#deps.accounts.organization(organizationName);
      if (this.ofOrganization(organization).length >= limits.hubServiceTokensMax) {
        throw conflict(
          `${organization.name} has ${limits.hubServiceTokensMax} service tokens already: remove some first`,
        );
      }
      const { id, change } = this.#counters.next('token');
      const nowMs = Number(this.#deps.clock.nowNano() / 1_000_000n);
      const made: ServiceToken = {
        kind: 'service',
        id,
        publicId: newPublicId(),
        hash: hashSecret(secret),
        lastEight: secret.slice(-8),
        name: asked.name,
        accesses,
        organization: { name: organization.name, id: organization.id },
        maker: asked.maker,
        createdMs: nowMs,
        expiresMs: asked.ttlS === null ? null : nowMs + asked.ttlS * 1000,
        lastUsedMs: null,
      };
      failpoint('hub.service-token.create');
      return {
        changes: [
          change,
          this.#deps.accounts.unchanged(nameKey(organization.name)),
          this.#tokens.put(made.hash, made),
        ],
        answer: made,
      };
    });
    return { token, secret };
  }

  /** Throws not_found. */
  async remove(organization: Organization, publicId: string): Promise<void> {
    await this.#deps.mirror.change(() => {
      const { hash } = this.get(organization, publicId);
      failpoint('hub.service-token.remove');
      return { changes: [this.#tokens.delete(hash)], answer: undefined };
    });
  }
}

function problemsOf(
  { name, ttlS }: NewServiceToken,
  accesses: readonly string[],
): (InvalidField | undefined)[] {
  const isRightTime = ttlS === null || (Number.isInteger(ttlS) && ttlS > 0 && ttlS <= 100 * YEAR_S);
  return [
    name.length <= limits.hubOAuthNameMax
      ? undefined
      : wrong('name', `must have at most ${limits.hubOAuthNameMax} characters`, name),
    isRightTime ? undefined : wrong('ttl', `must be a number of seconds from 1 to ${100 * YEAR_S}`, ttlS),
    ...accesses
      .filter((access) => !ACCESS_NAMES.includes(access))
      .map((access) => wrong('accesses', `must be of ${ACCESS_NAMES.join(', ')}`, access)),
  ];
}

function wrong(field: string, message: string, value: unknown): InvalidField {
  return { resource: 'ServiceToken', field, code: 'invalid', message, value };
}
