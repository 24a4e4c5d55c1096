import type { Clock } from '../../../base/clock.ts';
import { notFound } from '../../../base/errors.ts';
import { failpoint } from '../../../base/failpoint.ts';
import { refuseInvalid } from '../../../base/invalid-fields.ts';
import { limits } from '../../../base/limits.ts';
import { Collection } from '../../records/collection.ts';
import { Counters } from '../../records/counters.ts';
import type { Mirror } from '../../records/mirror.ts';
import type { RecordChange } from '../../records/port.ts';
import type { User } from '../account.ts';
import type { Accounts } from '../accounts.ts';
import { nameKey } from '../names.ts';
import { normaliseScopes, scopesProblem } from '../tokens/scopes.ts';
import { hashSecret, newSecret } from '../tokens/secret.ts';
import type { DelegatedToken, Token } from '../tokens/token.ts';
import type { Application } from './app.ts';

export interface DelegatedTokensDeps {
  mirror: Mirror;
  clock: Clock;
  accounts: Accounts;
}

/** Tokens by which applications act for users who have let them. */
export class DelegatedTokens {
  readonly #deps: DelegatedTokensDeps;
  readonly #tokens: Collection<Token>;
  readonly #counters: Counters;

  constructor(deps: DelegatedTokensDeps) {
    this.#deps = deps;
    this.#tokens = new Collection(deps.mirror, 'token/');
    this.#counters = new Counters(deps.mirror);
  }

  /**
   * A token for a user who has agreed. Past `limits.hubTokensOfGrantMax` the oldest of the same application and user
   * ends. Scopes are of OAuth applications; an app has its permissions. Throws not_found, InvalidFieldsError.
   */
  async mint(
    application: Application,
    userName: string,
    scopes: readonly string[],
  ): Promise<{ token: DelegatedToken; secret: string }> {
    const isApp = application.kind === 'app';
    refuseInvalid([scopesProblem(scopes), isApp && scopes.length > 0 ? noScopes(scopes) : undefined]);
    const secret = newSecret(isApp ? 'app-user' : 'oauth');
    const token = await this.#deps.mirror.change(() => {
      const user = this.#deps.accounts.user(userName);
      const { id, change } = this.#counters.next('token');
      const common = {
        id,
        ...this.#secretPart(secret),
        note: application.name,
        user: { name: user.name, id: user.id },
        application: application.id,
        createdMs: this.#nowMs(),
        lastUsedMs: null,
      };
      const minted: DelegatedToken = isApp
        ? { ...common, kind: 'app-user', expiresMs: common.createdMs + limits.hubAppUserTokenMs }
        : { ...common, kind: 'oauth', scopes: normaliseScopes(scopes), expiresMs: null };
      failpoint('hub.delegated-token.mint');
      return {
        changes: [
          change,
          this.#deps.accounts.unchanged(nameKey(user.name)),
          this.#tokens.put(minted.hash, minted),
          ...this.#beyondBound(application, user),
        ],
        answer: minted,
      };
    });
    return { token, secret };
  }

  /** Whether a token is one of this application. */
  isOf(token: Token, application: Application): token is DelegatedToken {
    return token.kind === KINDS[application.kind] && token.application === application.id;
  }

  /** The same with another secret: the one before is worth nothing. */
  async reset(token: DelegatedToken): Promise<{ token: DelegatedToken; secret: string }> {
    const secret = newSecret(token.kind);
    const part = this.#secretPart(secret);
    const fresh = await this.#deps.mirror.change(() => {
      if (this.#tokens.get(token.hash) === undefined) {
        throw notFound('the token was revoked meanwhile');
      }
      const changed: DelegatedToken = { ...token, ...part, createdMs: this.#nowMs(), lastUsedMs: null };
      failpoint('hub.delegated-token.reset');
      return {
        changes: [this.#tokens.delete(token.hash), this.#tokens.put(part.hash, changed)],
        answer: changed,
      };
    });
    return { token: fresh, secret };
  }

  revoke({ hash }: DelegatedToken): Promise<void> {
    return this.#deps.mirror.change(() => ({ changes: [this.#tokens.delete(hash)], answer: undefined }));
  }

  /** All that the application has for the user. */
  revokeGrant(application: Application, user: { id: number }): Promise<void> {
    return this.#deps.mirror.change(() => ({
      changes: this.#ofGrant(application, user).map(({ hash }) => this.#tokens.delete(hash)),
      answer: undefined,
    }));
  }

  #ofGrant(application: Application, user: { id: number }): DelegatedToken[] {
    return this.#tokens
      .all()
      .filter((token) => this.isOf(token, application))
      .filter((token) => token.user.id === user.id)
      .toSorted((one, other) => one.id - other.id);
  }

  #beyondBound(application: Application, user: User): RecordChange[] {
    const known = this.#ofGrant(application, user);
    return known
      .slice(0, Math.max(0, known.length + 1 - limits.hubTokensOfGrantMax))
      .map(({ hash }) => this.#tokens.delete(hash));
  }

  #secretPart(secret: string) {
    return { hash: hashSecret(secret), lastEight: secret.slice(-8) };
  }

  #nowMs(): number {
    return Number(this.#deps.clock.nowNano() / 1_000_000n);
  }
}

const KINDS = { app: 'app-user', 'oauth-app': 'oauth' } as const;

function noScopes(scopes: readonly string[]) {
  return {
    resource: 'Token',
    field: 'scopes',
    code: 'unprocessable',
    message: 'do not go with an app, which has permissions',
    value: scopes,
  } as const;
}
