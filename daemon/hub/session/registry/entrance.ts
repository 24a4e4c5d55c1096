import type { HubCredentials } from '../../../../api/types/hub/credentials.ts';
import type {
  HubRegistryPort,
  HubRegistrySession,
  RegistryToken,
  RegistryTokenRequest,
} from '../../../../api/types/hub/registry.ts';
import { isEngineError, unreachable } from '../../../base/errors.ts';
import { limits } from '../../../base/limits.ts';
import { authenticate, type Context } from '../../identity/authenticate.ts';
import type { Caller } from '../../identity/caller.ts';
import { refusal } from '../../registry/refusal.ts';
import type { AccessClaims, AccessTokens } from '../../registry/tokens/access-tokens.ts';
import { hasAction, readScopes, scopeText, SEARCH } from '../../registry/tokens/scopes.ts';
import type { SessionDeps } from '../session-deps.ts';
import { RegistryAccess } from './access.ts';
import { RegistryOperations } from './operations.ts';

interface Deps extends SessionDeps, Context {
  accessTokens: AccessTokens;
}

/** A JSON web token; tokens of the hub hold no dots. */
const WEB_TOKEN = /^bearer +([\w-]+\.[\w-]+\.[\w-]+) *$/i;

/** Finds out who it is that asks something of the registry, and gives access tokens. */
export class RegistryEntrance implements HubRegistryPort {
  readonly #deps: Deps;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  async session({ authorization, address }: HubCredentials): Promise<HubRegistrySession> {
    const webToken = WEB_TOKEN.exec(authorization ?? '')?.[1];
    if (webToken === undefined) {
      const caller = this.#authenticated({ authorization, address });
      return new RegistryOperations(this.#deps, caller, undefined);
    }
    const { caller, claims } = await this.#claimed(webToken, address);
    return new RegistryOperations(this.#deps, caller, claims);
  }

  /** Who shows an access token that was given for searching; undefined = none is shown. Throws unauthorized. */
  async searcher({ authorization, address }: HubCredentials): Promise<Caller | undefined> {
    const webToken = WEB_TOKEN.exec(authorization ?? '')?.[1];
    if (webToken === undefined) {
      return undefined;
    }
    const { caller, claims } = await this.#claimed(webToken, address);
    if (!hasAction(claims.access, SEARCH)) {
      throw refusal('UNAUTHORIZED', 'the access token is not for searching', {
        tokenError: 'insufficient_scope',
      });
    }
    return caller;
  }

  async #claimed(webToken: string, address: string): Promise<{ caller: Caller; claims: AccessClaims }> {
    const claims = await this.#deps.accessTokens.verify(webToken);
    const caller: Caller =
      claims.reference === undefined
        ? { kind: 'anonymous', address }
        : this.#referred(claims.reference, 'the token was revoked that this access token was given for');
    return { caller, claims };
  }

  async token(request: RegistryTokenRequest, credentials: HubCredentials): Promise<RegistryToken> {
    const { accessTokens } = this.#deps;
    const caller = await this.#granter(request, credentials);
    const reference = 'token' in caller ? caller.token.hash : undefined;
    const asked = readScopes(request.scopes);
    const access = new RegistryAccess(this.#deps, caller, undefined).narrow(asked);
    const { token, issuedMs } = await accessTokens.issue({ reference, access, asked });
    const isRefreshed = request.isOffline && reference !== undefined;
    return {
      token,
      expiresInS: limits.hubAccessTokenS,
      issuedAt: new Date(issuedMs).toISOString(),
      refreshToken: isRefreshed ? await accessTokens.issueRefresh(reference) : undefined,
      scope: scopeText(access),
    };
  }

  /** Whom a token is asked for. */
  async #granter({ grant }: RegistryTokenRequest, credentials: HubCredentials): Promise<Caller> {
    switch (grant.kind) {
      case 'authorization':
        return this.#authenticated(credentials);
      case 'password': {
        const pair = Buffer.from(`${grant.name}:${grant.secret}`).toString('base64');
        return this.#authenticated({ ...credentials, authorization: `Basic ${pair}` });
      }
      case 'refresh': {
        const hash = await this.#deps.accessTokens.verifyRefresh(grant.refreshToken);
        return this.#referred(hash, 'the refresh token is not valid any more');
      }
      default:
        return unreachable(grant);
    }
  }

  #authenticated(credentials: HubCredentials): Caller {
    try {
      return authenticate(this.#deps, credentials);
    } catch (error) {
      if (isEngineError(error, 'unauthorized')) {
        throw refusal('UNAUTHORIZED', 'incorrect name or token');
      }
      throw isEngineError(error, 'forbidden') ? refusal('DENIED', error.message) : error;
    }
  }

  #referred(hash: string, problem: string): Caller {
    const { tokens, holders } = this.#deps;
    const token = tokens.withHash(hash);
    const caller = token && holders.callerOf(token);
    if (caller === undefined) {
      throw refusal('UNAUTHORIZED', problem, { tokenError: 'invalid_token' });
    }
    return caller;
  }
}
