import type { Clock } from '../../../base/clock.ts';
import { EngineError, errorText, notFound } from '../../../base/errors.ts';
import { refuseInvalid, type InvalidField } from '../../../base/invalid-fields.ts';
import { limits } from '../../../base/limits.ts';
import type { Logger } from '../../../base/logger.ts';
import { Collection } from '../../records/collection.ts';
import { Counters } from '../../records/counters.ts';
import type { Mirror } from '../../records/mirror.ts';
import type { User } from '../account.ts';
import type { Accounts } from '../accounts.ts';
import { readPermissions } from './permissions.ts';
import { normaliseScopes, scopesProblem } from './scopes.ts';
import { hashSecret, newSecret } from './secret.ts';
import type { ClassicToken, FineGrainedToken, PersonalToken, Token } from './token.ts';

export interface TokensDeps {
  mirror: Mirror;
  clock: Clock;
  log: Logger;
  accounts: Accounts;
  /** The id of a repository of that owner, by its name; undefined = has none. */
  repositoryId: (owner: string, name: string) => number | undefined;
}

export type NewToken = NewClassicToken | NewFineGrainedToken;

interface NewCommon {
  note: string;
  /** Seconds from now; null = never expires. */
  expiresInS: number | null;
}

export interface NewClassicToken extends NewCommon {
  kind: 'classic';
  scopes: readonly string[];
}

export interface NewFineGrainedToken extends NewCommon {
  kind: 'fine-grained';
  /** Name of a user or an organization; the user's own by default. */
  resourceOwner?: string;
  /** Names without the owner; absent = all. */
  repositories?: readonly string[];
  permissions: Readonly<Record<string, string>>;
}

/** A token, and what its user has to keep: nobody can ask for it again. */
export interface MadeToken {
  token: PersonalToken;
  secret: string;
}

const YEAR_S = 366 * 86_400;

/** Personal tokens: made, found, listed and revoked. */
export class Tokens {
  readonly #deps: TokensDeps;
  readonly #tokens: Collection<Token>;
  readonly #counters: Counters;

  constructor(deps: TokensDeps) {
    this.#deps = deps;
    this.#tokens = new Collection(deps.mirror, 'token/');
    this.#counters = new Counters(deps.mirror);
  }

  /** Throws not_found for the user or resource owner, InvalidFieldsError, resource_exhausted. */
  async create(userName: string, asked: NewToken): Promise<MadeToken> {
    const { accounts, mirror } = this.#deps;
    const secret = newSecret(asked.kind);
    const hash = hashSecret(secret);
    const token = await mirror.change(() => {
      const user = accounts.user(userName);
      const special = asked.kind === 'classic' ? classic(asked) : this.#fineGrained(user, asked);
      refuseInvalid([noteProblem(asked.note), expiryProblem(asked.expiresInS), ...special.problems]);
      if (this.ofUser(user).length >= limits.hubTokensOfUserMax) {
        throw new EngineError(
          'resource_exhausted',
          `${userName} has ${limits.hubTokensOfUserMax} tokens already: revoke some first`,
        );
      }
      const { id, change } = this.#counters.next('token');
      const nowMs = this.#nowMs();
      const made: PersonalToken = {
        ...special.token,
        id,
        hash,
        lastEight: secret.slice(-8),
        note: asked.note,
        user: { name: user.name, id: user.id },
        createdMs: nowMs,
        expiresMs: asked.expiresInS === null ? null : nowMs + asked.expiresInS * 1000,
        lastUsedMs: null,
      };
      return { changes: [change, this.#tokens.put(hash, made)], answer: made };
    });
    return { token, secret };
  }

  /** The token of a secret, of whatever kind; undefined where there is none, or no more. */
  find(secret: string): Token | undefined {
    return this.withHash(hashSecret(secret));
  }

  /** As `find`, by what is stored of a token. */
  withHash(hash: string): Token | undefined {
    const token = this.#tokens.get(hash);
    return token === undefined || this.isOver(token) ? undefined : token;
  }

  /** Newest first, those that have expired among them. */
  ofUser(user: User): PersonalToken[] {
    return this.#tokens
      .all()
      .filter((token) => token.kind === 'classic' || token.kind === 'fine-grained')
      .filter((token) => token.user.id === user.id)
      .toSorted((one, other) => other.id - one.id);
  }

  /** Throws not_found. */
  revoke(userName: string, id: number): Promise<void> {
    return this.#deps.mirror.change(() => {
      const user = this.#deps.accounts.user(userName);
      const token = this.ofUser(user).find((one) => one.id === id);
      if (token === undefined) {
        throw notFound(`${userName} has no token ${id}`);
      }
      return { changes: [this.#tokens.delete(token.hash)], answer: undefined };
    });
  }

  /** Lets a classic token be used with an organization that asks for single sign-on. Throws not_found. */
  authorize(userName: string, id: number, organizationName: string): Promise<ClassicToken> {
    return this.#deps.mirror.change(() => {
      const { accounts } = this.#deps;
      const user = accounts.user(userName);
      const organization = accounts.organization(organizationName);
      const token = this.ofUser(user).find((one) => one.id === id);
      if (token?.kind !== 'classic' || accounts.roleIn(organization, user) === undefined) {
        throw notFound(`${userName} has no classic token ${id}, or no part in ${organizationName}`);
      }
      const authorized = [...new Set([...(token.authorized ?? []), organization.id])];
      const changed = { ...token, authorized };
      return { changes: [this.#tokens.put(token.hash, changed)], answer: changed };
    });
  }

  /** Writes down that a token was used, now and then, behind the request that used it. */
  noteUse(token: Token): void {
    const nowMs = this.#nowMs();
    if (token.lastUsedMs !== null && nowMs - token.lastUsedMs < limits.hubLastUseMs) {
      return;
    }
    const note = this.#deps.mirror.change(() => {
      const current = this.#tokens.get(token.hash);
      // Revoked, or another request was faster.
      const isDone = current === undefined || current.lastUsedMs !== token.lastUsedMs;
      return {
        changes: isDone ? [] : [this.#tokens.put(token.hash, { ...current, lastUsedMs: nowMs })],
        answer: undefined,
      };
    });
    note.catch((error: unknown) => {
      this.#deps.log.warn({ token: token.id, reason: errorText(error) }, 'the use of a token was not noted');
    });
  }

  isOver(token: Token): boolean {
    return token.expiresMs !== null && token.expiresMs <= this.#nowMs();
  }

  #fineGrained(
    user: User,
    asked: NewFineGrainedToken,
  ): { token: Pick<FineGrainedToken, 'kind' | 'resourceOwner' | 'repositories' | 'permissions'> } & Problems {
    const { accounts, repositoryId } = this.#deps;
    const owner = accounts.find(asked.resourceOwner ?? user.name);
    const isOthers =
      owner === undefined ||
      (owner.kind === 'user' ? owner.id !== user.id : accounts.roleIn(owner, user) === undefined);
    if (isOthers) {
      throw notFound(
        `${user.name} cannot make tokens for ${asked.resourceOwner}: no such account, or not a member`,
      );
    }
    const { permissions, problems } = readPermissions(asked.permissions);
    const ids = (asked.repositories ?? []).map((name) => ({ name, id: repositoryId(owner.name, name) }));
    const unknown = ids
      .filter(({ id }) => id === undefined)
      .map(({ name }): InvalidField => ({
        resource: 'Token',
        field: 'repositories',
        code: 'missing',
        message: `must be repositories of ${owner.name}`,
        value: name,
      }));
    return {
      token: {
        kind: 'fine-grained',
        resourceOwner: { name: owner.name, id: owner.id },
        repositories:
          asked.repositories === undefined ? 'all' : ids.map(({ id }) => id).filter((id) => id !== undefined),
        permissions,
      },
      problems: [...problems, ...unknown],
    };
  }

  #nowMs(): number {
    return Number(this.#deps.clock.nowNano() / 1_000_000n);
  }
}

interface Problems {
  problems: readonly (InvalidField | undefined)[];
}

function classic({ scopes }: NewClassicToken): { token: Pick<ClassicToken, 'kind' | 'scopes'> } & Problems {
  return {
    token: { kind: 'classic', scopes: normaliseScopes(scopes) },
    problems: [scopesProblem(scopes)],
  };
}

function noteProblem(note: string): InvalidField | undefined {
  return note.length <= limits.hubNoteMax
    ? undefined
    : {
        resource: 'Token',
        field: 'note',
        code: 'invalid',
        message: `must have at most ${limits.hubNoteMax} characters`,
      };
}

function expiryProblem(expiresInS: number | null): InvalidField | undefined {
  const isRight =
    expiresInS === null || (Number.isInteger(expiresInS) && expiresInS > 0 && expiresInS <= 100 * YEAR_S);
  return isRight
    ? undefined
    : {
        resource: 'Token',
        field: 'expires_in',
        code: 'invalid',
        message: 'must be a number of seconds of at least 1',
        value: expiresInS,
      };
}
