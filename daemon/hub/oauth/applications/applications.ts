import { randomBytes, timingSafeEqual } from 'node:crypto';
import type { Clock } from '../../../base/clock.ts';
import { conflict, notFound } from '../../../base/errors.ts';
import { failpoint } from '../../../base/failpoint.ts';
import { refuseInvalid } from '../../../base/invalid-fields.ts';
import { limits } from '../../../base/limits.ts';
import type { Account, Organization } from '../../identity/account.ts';
import type { Accounts } from '../../identity/accounts.ts';
import { nameKey } from '../../identity/names.ts';
import { hashSecret, newSecret } from '../../identity/tokens/secret.ts';
import { Collection } from '../../records/collection.ts';
import type { Mirror } from '../../records/mirror.ts';
import { newPublicId } from '../public-id.ts';
import { USUAL_SCOPES } from '../scopes/names.ts';
import { readScopes } from '../scopes/requested.ts';
import { readApplicationClientId, type OAuthApplication } from './application.ts';
import { readAvatar, type Avatar } from './avatar.ts';
import { addressProblems, type Addresses } from './problems.ts';

export interface OAuthApplicationsDeps {
  mirror: Mirror;
  clock: Clock;
  accounts: Accounts;
  /** The hub itself is at an address without TLS. */
  isHubPlain: boolean;
}

export interface NewOAuthApplication extends Addresses {
  /** Base64; null = none. */
  avatar: string | null;
  /** By group; undefined = what programs usually need. */
  scopes: Readonly<Record<string, readonly string[]>> | undefined;
}

/** OAuth applications of organizations. Everything is answered from memory. */
export class OAuthApplications {
  readonly #deps: OAuthApplicationsDeps;
  readonly #applications: Collection<OAuthApplication>;
  readonly #avatars: Collection<Avatar>;

  constructor(deps: OAuthApplicationsDeps) {
    this.#deps = deps;
    this.#applications = new Collection(deps.mirror, 'oauth-application/');
    this.#avatars = new Collection(deps.mirror, 'oauth-avatar/');
  }

  /** Undefined also where its organization is gone. */
  find(id: string): OAuthApplication | undefined {
    const found = this.#applications.get(id);
    const owner = found?.organization;
    return owner === undefined || this.#deps.accounts.same(owner.name, owner.id) === undefined
      ? undefined
      : found;
  }

  byClientId(clientId: string): OAuthApplication | undefined {
    const id = readApplicationClientId(clientId);
    const found = id === undefined ? undefined : this.find(id);
    return found?.clientId === clientId ? found : undefined;
  }

  /** The application that has both. Takes as long for any wrong secret. */
  byClientSecret(clientId: string, secret: string): OAuthApplication | undefined {
    const shown = Buffer.from(hashSecret(secret));
    const found = this.byClientId(clientId);
    return found !== undefined && timingSafeEqual(Buffer.from(found.secretHash), shown) ? found : undefined;
  }

  /** Oldest first. */
  ofOrganization(organization: Pick<Account, 'id'>): OAuthApplication[] {
    return this.#applications
      .all()
      .filter((one) => one.organization.id === organization.id)
      .toSorted((one, other) => one.createdMs - other.createdMs || one.id.localeCompare(other.id));
  }

  /** Throws not_found. */
  get(organization: Organization, id: string): OAuthApplication {
    const found = this.find(id);
    if (found?.organization.id !== organization.id) {
      throw notFound(
        `no such OAuth application of ${organization.name}: ${id.slice(0, limits.hubOAuthNameMax)}`,
      );
    }
    return found;
  }

  avatar(id: string): Avatar | undefined {
    return this.find(id) === undefined ? undefined : this.#avatars.get(id);
  }

  /** With the client secret, which nobody can ask for again. Throws InvalidFieldsError, not_found, conflict. */
  async create(
    organizationName: string,
    asked: NewOAuthApplication,
  ): Promise<{ application: OAuthApplication; clientSecret: string }> {
    const { scopes, problems } = readScopes(asked.scopes ?? USUAL_SCOPES);
    const image = asked.avatar === null ? undefined : readAvatar(asked.avatar);
    const imageProblem = image !== undefined && 'problem' in image ? image.problem : undefined;
    refuseInvalid([...addressProblems(asked, this.#deps.isHubPlain), imageProblem, ...problems]);
    const avatar = image !== undefined && 'avatar' in image ? image.avatar : undefined;
    const clientSecret = newSecret('client');
    const id = newPublicId();
    const application = await this.#deps.mirror.change(() => {
      const organization = this.#deps.accounts.organization(organizationName);
      if (this.ofOrganization(organization).length >= limits.hubOAuthApplicationsMax) {
        throw conflict(
          `${organization.name} has ${limits.hubOAuthApplicationsMax} OAuth applications already: remove some first`,
        );
      }
      const nowMs = this.#nowMs();
      const made: OAuthApplication = {
        id,
        clientId: `Oc${id}.${randomBytes(8).toString('hex')}`,
        name: asked.name.trim(),
        domain: asked.domain,
        redirectUri: asked.redirectUri,
        avatar: avatar?.mediaType ?? null,
        privacyUrl: asked.privacyUrl,
        termsUrl: asked.termsUrl,
        scopes,
        organization: { name: organization.name, id: organization.id },
        secretHash: hashSecret(clientSecret),
        createdMs: nowMs,
        updatedMs: nowMs,
      };
      failpoint('hub.oauth-application.create');
      return {
        changes: [
          this.#deps.accounts.unchanged(nameKey(organization.name)),
          this.#applications.put(id, made),
          ...(avatar === undefined ? [] : [this.#avatars.put(id, avatar)]),
        ],
        answer: made,
      };
    });
    return { application, clientSecret };
  }

  /** Another client secret, shown this once; the one before is good no more, tokens stay. Throws not_found. */
  async renewSecret(
    organization: Organization,
    id: string,
  ): Promise<{ application: OAuthApplication; clientSecret: string }> {
    const clientSecret = newSecret('client');
    const application = await this.#deps.mirror.change(() => {
      const renewed = {
        ...this.get(organization, id),
        secretHash: hashSecret(clientSecret),
        updatedMs: this.#nowMs(),
      };
      failpoint('hub.oauth-application.renew-secret');
      return { changes: [this.#applications.put(id, renewed)], answer: renewed };
    });
    return { application, clientSecret };
  }

  /** Its tokens lead to nobody then. Throws not_found. */
  async remove(organization: Organization, id: string): Promise<void> {
    await this.#deps.mirror.change(() => {
      const { avatar } = this.get(organization, id);
      failpoint('hub.oauth-application.remove');
      return {
        changes: [this.#applications.delete(id), ...(avatar === null ? [] : [this.#avatars.delete(id)])],
        answer: undefined,
      };
    });
  }

  #nowMs(): number {
    return Number(this.#deps.clock.nowNano() / 1_000_000n);
  }
}
