import { timingSafeEqual } from 'node:crypto';
import type { Clock } from '../../../base/clock.ts';
import { notFound } from '../../../base/errors.ts';
import { failpoint } from '../../../base/failpoint.ts';
import { limits } from '../../../base/limits.ts';
import type { User } from '../../identity/account.ts';
import type { Accounts } from '../../identity/accounts.ts';
import { nameKey } from '../../identity/names.ts';
import { hashSecret, newSecret } from '../../identity/tokens/secret.ts';
import type { GrantToken, Token } from '../../identity/tokens/token.ts';
import { Collection } from '../../records/collection.ts';
import { Counters } from '../../records/counters.ts';
import type { Decision, Mirror } from '../../records/mirror.ts';
import type { RecordChange } from '../../records/port.ts';
import type { OAuthApplication } from '../applications/application.ts';
import type { OAuthApplications } from '../applications/applications.ts';
import { newPublicId } from '../public-id.ts';
import { oauthProblem } from '../requests/problem.ts';
import type { Access } from '../scopes/access.ts';
import { narrowedAccesses } from '../scopes/requested.ts';
import type { Authorization } from './authorization.ts';
import { isVerified } from './pkce.ts';
import { newShownSecret, readShownSecret, type ShownSecret } from './secrets.ts';

export interface AuthorizationsDeps {
  mirror: Mirror;
  clock: Clock;
  accounts: Accounts;
  applications: OAuthApplications;
}

export interface Consent {
  accesses: readonly Access[];
  redirectUri: string;
  isRedirectNamed: boolean;
  challenge: string | null;
}

/** What an exchange or a refresh gives: the secrets are shown this once. */
export interface GivenToken {
  token: GrantToken;
  secret: string;
  refreshToken: string;
}

/** What a request for a token gets, once what it changes is written. */
type Verdict = { token: GrantToken } | { refused: string };

/**
 * What users let applications do: codes, tokens and refresh tokens. Each step is one update, so that of two exchanges
 * of one code at a time one sees the other.
 */
export class Authorizations {
  readonly #deps: AuthorizationsDeps;
  readonly #authorizations: Collection<Authorization>;
  readonly #tokens: Collection<Token>;
  readonly #counters: Counters;

  constructor(deps: AuthorizationsDeps) {
    this.#deps = deps;
    this.#authorizations = new Collection(deps.mirror, 'authorization/');
    this.#tokens = new Collection(deps.mirror, 'token/');
    this.#counters = new Counters(deps.mirror);
  }

  /** A user has agreed. Answers the code, which is good once and for `limits.hubOAuthCodeMs`. */
  async consent(application: OAuthApplication, user: User, asked: Consent): Promise<string> {
    const id = newPublicId();
    const { text, hash } = newShownSecret('code', id);
    const { accesses, ...of } = asked;
    await this.#deps.mirror.change(() => {
      const nowMs = this.#nowMs();
      const made: Authorization = {
        id,
        application: application.id,
        user: { name: user.name, id: user.id },
        accesses,
        code: { ...of, hash, expiresMs: nowMs + limits.hubOAuthCodeMs, isUsed: false },
        token: null,
        refresh: null,
        used: [],
        createdMs: nowMs,
      };
      failpoint('hub.authorization.consent');
      return {
        changes: [
          this.#deps.accounts.unchanged(nameKey(user.name)),
          this.#authorizations.put(id, made),
          ...this.#over(application, user),
        ],
        answer: undefined,
      };
    });
    return text;
  }

  /** A token for a code. A code that was used ends what came of it (RFC 6749, 4.1.2). Throws invalid_grant. */
  exchange(
    application: OAuthApplication,
    shown: { code: string; redirectUri: string | undefined; verifier: string | undefined },
  ): Promise<GivenToken> {
    return this.#give(shown.code, (authorization, code) => {
      if (authorization.application !== application.id || !isSame(authorization.code.hash, code.hash)) {
        return refused('the code is not one of this application');
      }
      const { isUsed, expiresMs, challenge, redirectUri, isRedirectNamed } = authorization.code;
      if (isUsed) {
        return { ...refused('the code was used already: its tokens are revoked'), isOver: true };
      }
      const isRightPlace =
        shown.redirectUri === undefined ? !isRedirectNamed : shown.redirectUri === redirectUri;
      return expiresMs <= this.#nowMs()
        ? refused('the code is too old')
        : !isRightPlace
          ? refused('redirect_uri is not that of the request for the code')
          : isVerified(challenge, shown.verifier)
            ? { accesses: authorization.accesses, used: [], again: null }
            : refused('code_verifier does not go with the code_challenge of the request for the code');
    });
  }

  /**
   * Another token in place of the one before, which ends. A refresh token that was used ends all that came of the
   * authorization, unless it is a second attempt with the last one (`limits.hubRefreshAgainMs`): what the first attempt
   * gave ends then. Throws invalid_grant, invalid_scope.
   */
  refresh(
    application: OAuthApplication,
    shown: { refreshToken: string; scope: string | undefined },
  ): Promise<GivenToken> {
    return this.#give(shown.refreshToken, (authorization, { hash }) => {
      const { refresh, used, again } = authorization;
      if (authorization.application !== application.id || refresh === null) {
        return refused(NOT_OURS);
      }
      const isAgain = again?.hash === hash && again.untilMs > this.#nowMs();
      if (used.includes(hash) && !isAgain) {
        return {
          ...refused('the refresh token was used already: what came of the authorization is revoked'),
          isOver: true,
        };
      }
      if (!isAgain && !isSame(refresh.hash, hash)) {
        return refused(NOT_OURS);
      }
      return refresh.expiresMs <= this.#nowMs()
        ? refused('the refresh token is too old')
        : {
            accesses: narrowedAccesses(authorization.accesses, shown.scope),
            // Of a second attempt: what the first one gave is used from now on.
            used: [...used, isAgain ? refresh.hash : hash].slice(-limits.hubUsedRefreshTokensMax),
            again: isAgain ? null : { hash, untilMs: this.#nowMs() + limits.hubRefreshAgainMs },
          };
    });
  }

  /** Ends a token; with a refresh token all that came of the authorization (RFC 7009). Of others' nothing. */
  async revoke(application: OAuthApplication, text: string): Promise<void> {
    const [hash, shown] = [hashSecret(text), readShownSecret(text)];
    await this.#deps.mirror.change(() => {
      failpoint('hub.authorization.revoke');
      const token = this.#tokens.get(hash);
      if (token?.kind === 'grant') {
        const isOwn = token.application === application.id;
        return { changes: isOwn ? [this.#tokens.delete(hash)] : [], answer: undefined };
      }
      const found = shown && this.#authorizations.get(shown.authorization);
      const isOwn =
        found?.application === application.id && found.refresh !== null && isSame(found.refresh.hash, hash);
      return { changes: isOwn ? this.#ending(found) : [], answer: undefined };
    });
  }

  /** Ends an authorization with what came of it. Throws not_found. */
  async end(id: string, isOwn: (authorization: Authorization) => boolean): Promise<void> {
    await this.#deps.mirror.change(() => {
      const found = this.#authorizations.get(id);
      if (found === undefined || !isOwn(found)) {
        throw notFound('Not Found');
      }
      failpoint('hub.authorization.end');
      return { changes: this.#ending(found), answer: undefined };
    });
  }

  /** Tokens of an application that are good, oldest first. */
  tokensOf(application: OAuthApplication): GrantToken[] {
    return this.#tokens
      .all()
      .filter((token) => token.kind === 'grant')
      .filter((token) => token.application === application.id && !this.#isPast(token.expiresMs))
      .toSorted((one, other) => one.id - other.id);
  }

  /** What a user has let applications do and they may still, or may fetch a token for, newest first. */
  ofUser(user: User): Authorization[] {
    return this.#authorizations
      .all()
      .filter((one) => one.user.id === user.id && !this.#isOver(one))
      .toSorted((one, other) => other.createdMs - one.createdMs);
  }

  /** Judges what is shown for a token and gives one, in one update. */
  async #give(
    text: string,
    judge: (found: Authorization, shown: ShownSecret) => Judged,
  ): Promise<GivenToken> {
    const shown = readShownSecret(text);
    if (shown === undefined) {
      throw oauthProblem('invalid_grant', NOT_OURS);
    }
    const secret = newSecret('grant');
    const refresh = newShownSecret('refresh', shown.authorization);
    const verdict = await this.#deps.mirror.change((): Decision<Verdict> => {
      const found = this.#authorizations.get(shown.authorization);
      const judged = found === undefined ? refused(NOT_OURS) : judge(found, shown);
      failpoint('hub.authorization.give');
      if (found === undefined || 'problem' in judged) {
        const isOver = found !== undefined && 'isOver' in judged;
        const problem = 'problem' in judged ? judged.problem : NOT_OURS;
        return { changes: isOver ? this.#ending(found) : [], answer: { refused: problem } };
      }
      const { token, change } = this.#newToken(found, judged.accesses, secret);
      const refreshed: Authorization = {
        ...found,
        code: { ...found.code, isUsed: true },
        token: token.hash,
        refresh: { hash: refresh.hash, expiresMs: this.#nowMs() + limits.hubRefreshTokenMs },
        used: judged.used,
        again: judged.again,
      };
      return {
        changes: [
          change,
          this.#deps.accounts.unchanged(nameKey(found.user.name)),
          ...(found.token === null ? [] : [this.#tokens.delete(found.token)]),
          this.#tokens.put(token.hash, token),
          this.#authorizations.put(found.id, refreshed),
        ],
        answer: { token },
      };
    });
    if ('refused' in verdict) {
      throw oauthProblem('invalid_grant', verdict.refused);
    }
    return { token: verdict.token, secret, refreshToken: refresh.text };
  }

  #newToken(
    { id: authorization, application, user }: Authorization,
    accesses: readonly Access[],
    secret: string,
  ): { token: GrantToken; change: RecordChange } {
    const { id, change } = this.#counters.next('token');
    const nowMs = this.#nowMs();
    const token: GrantToken = {
      kind: 'grant',
      id,
      publicId: newPublicId(),
      hash: hashSecret(secret),
      lastEight: secret.slice(-8),
      user,
      application,
      authorization,
      accesses,
      createdMs: nowMs,
      expiresMs: nowMs + limits.hubGrantTokenMs,
      lastUsedMs: null,
    };
    return { token, change };
  }

  #ending({ id, token }: Authorization): RecordChange[] {
    return [this.#authorizations.delete(id), ...(token === null ? [] : [this.#tokens.delete(token)])];
  }

  /** Those that lead to nothing any more, and the oldest of a user who has let an application too often. */
  #over(application: OAuthApplication, user: User): RecordChange[] {
    const all = this.#authorizations.all();
    const dead = all.filter((one) => this.#isOver(one));
    const living = all
      .filter((one) => one.application === application.id && one.user.id === user.id && !this.#isOver(one))
      .toSorted((one, other) => one.createdMs - other.createdMs);
    const many = living.slice(0, Math.max(0, living.length + 1 - limits.hubTokensOfGrantMax));
    return [...many, ...dead].slice(0, limits.hubChangesAtOnce / 2).flatMap((one) => this.#ending(one));
  }

  #isOver({ application, user, code, refresh }: Authorization): boolean {
    const isDead =
      this.#deps.applications.find(application) === undefined ||
      this.#deps.accounts.same(user.name, user.id) === undefined;
    return isDead || this.#isPast(refresh === null ? code.expiresMs : refresh.expiresMs);
  }

  #isPast(ms: number | null): boolean {
    return ms !== null && ms <= this.#nowMs();
  }

  #nowMs(): number {
    return Number(this.#deps.clock.nowNano() / 1_000_000n);
  }
}

type Judged =
  | (Pick<Authorization, 'accesses' | 'used'> & { again: NonNullable<Authorization['again']> | null })
  /** `isOver`: with it all ends that came of the authorization. */
  | { problem: string; isOver?: true };

const NOT_OURS = 'the code or refresh token is not valid';

function refused(problem: string): { problem: string } {
  return { problem };
}

function isSame(one: string, other: string): boolean {
  return timingSafeEqual(Buffer.from(one), Buffer.from(other));
}
