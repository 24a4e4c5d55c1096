import type { HubTokensPort } from '../../../api/types/hub/ports.ts';
import type { CreatedHubToken, HubToken, TokenCreateRequest } from '../../../api/types/hub/token.ts';
import type { Caller } from '../identity/caller.ts';
import { nameKey } from '../identity/names.ts';
import type { NewToken } from '../identity/tokens/tokens.ts';
import { refuseInvalid } from '../../base/invalid-fields.ts';
import { tokenView } from '../views/token-view.ts';
import { hidden, personOf, rootOnly } from './refusals.ts';
import type { SessionDeps } from './session-deps.ts';

/** Personal tokens, for root, and at the pages for their users. */
export class TokenOperations implements HubTokensPort {
  readonly #deps: SessionDeps;
  readonly #caller: Caller;

  constructor(deps: SessionDeps, caller: Caller) {
    this.#deps = deps;
    this.#caller = caller;
  }

  async create(user: string, request: TokenCreateRequest): Promise<CreatedHubToken> {
    this.#ownOnly(user);
    const { token, secret } = await this.#deps.tokens.create(user, newToken(request));
    return { ...tokenView(token), token: secret };
  }

  list(user: string): HubToken[] {
    this.#ownOnly(user);
    const { accounts, tokens } = this.#deps;
    return tokens.ofUser(accounts.user(user)).map(tokenView);
  }

  async authorize(user: string, id: number, organization: string): Promise<void> {
    this.#ownOnly(user);
    await this.#deps.tokens.authorize(user, id, organization);
  }

  async revoke(user: string, id: number): Promise<void> {
    this.#ownOnly(user);
    await this.#deps.tokens.revoke(user, id);
  }

  signOn(request: string): { organization: string; token: HubToken } {
    const { links, tokens, accounts } = this.#deps;
    const user = personOf(this.#caller);
    const asked = links.read(request);
    const token = tokens.ofUser(user).find(({ id }) => id === asked?.token);
    const organization = accounts.organizations().find(({ id }) => id === asked?.organization);
    if (token === undefined || organization === undefined) {
      throw hidden();
    }
    return { organization: organization.name, token: tokenView(token) };
  }

  /** Throws not_found for everybody but root, and the user itself at the pages. */
  #ownOnly(user: string): void {
    const caller = this.#caller;
    if (caller.kind !== 'page' || nameKey(caller.user.name) !== nameKey(user)) {
      rootOnly(caller);
    }
  }
}

/** Throws InvalidFieldsError for fields of the one kind in the other. */
function newToken(request: TokenCreateRequest): NewToken {
  const { note = '', scopes, permissions, expires_in: expiresInS = null } = request;
  const { repositories, resource_owner: resourceOwner } = request;
  const common = { note, expiresInS };
  const isFineGrained = permissions !== undefined;
  const strange = isFineGrained ? { scopes } : { repositories, resource_owner: resourceOwner };
  refuseInvalid(
    Object.entries(strange).map(([field, value]) =>
      value === undefined
        ? undefined
        : {
            resource: 'Token',
            field,
            code: 'unprocessable',
            message: `does not go ${isFineGrained ? 'with permissions' : 'without permissions'}`,
            value,
          },
    ),
  );
  return isFineGrained
    ? {
        kind: 'fine-grained',
        ...common,
        permissions,
        ...(repositories && { repositories }),
        ...(resourceOwner !== undefined && { resourceOwner }),
      }
    : { kind: 'classic', ...common, scopes: scopes ?? [] };
}
