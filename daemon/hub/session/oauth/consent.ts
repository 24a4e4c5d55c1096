import type {
  AuthorizeAnswer,
  ConsentChoice,
  ConsentQuestion,
  GrantedAuthorization,
  HeadlessConsentRequest,
  HubConsentPort,
} from '../../../../api/types/hub/oauth.ts';
import { EngineError, notFound, unreachable } from '../../../base/errors.ts';
import { limits } from '../../../base/limits.ts';
import type { User } from '../../identity/account.ts';
import { userOf, type Caller } from '../../identity/caller.ts';
import {
  AUTHORIZE_PARAMETERS,
  backTo,
  judgeAuthorize,
  type AuthorizeRequest,
} from '../../oauth/requests/authorize-request.ts';
import { GROUPS } from '../../oauth/scopes/names.ts';
import { avatarAddress, describe } from '../../views/oauth-view.ts';
import { timeOrNull, timeText } from '../../views/times.ts';
import { personOf, rootOnly } from '../refusals.ts';
import type { SessionDeps } from '../session-deps.ts';
import { accessesOf, fullName, namedResources, ownersOf, repositoriesOf, wholeChoice } from './resources.ts';

/** Users who let applications act for them, at the pages; and root, for one of them. */
export class ConsentOperations implements HubConsentPort {
  readonly #deps: SessionDeps;
  readonly #caller: Caller;

  constructor(deps: SessionDeps, caller: Caller) {
    this.#deps = deps;
    this.#caller = caller;
  }

  ask(query: URLSearchParams): AuthorizeAnswer {
    const judged = this.#judged(query);
    return 'kind' in judged
      ? judged
      : { kind: 'ask', question: this.#question(judged, query, userOf(this.#caller)) };
  }

  async decide(query: URLSearchParams, choice: ConsentChoice | 'denied'): Promise<AuthorizeAnswer> {
    const user = this.#signedIn();
    const judged = this.#judged(query);
    if ('kind' in judged) {
      return judged;
    }
    if (choice === 'denied') {
      return this.#back(judged, {
        error: 'access_denied',
        error_description: 'the user has not let the application act',
      });
    }
    return await this.#agreed(judged, user, choice);
  }

  async decideFor(request: HeadlessConsentRequest): Promise<{ redirect_to: string }> {
    rootOnly(this.#caller);
    const { login, organizations, repositories, tags, ...parameters } = request;
    const user = this.#deps.accounts.user(login);
    const judged = this.#judged(new URLSearchParams(Object.entries(parameters)));
    if ('kind' in judged) {
      if (judged.kind === 'refused') {
        throw new EngineError('invalid_argument', judged.message);
      }
      return { redirect_to: judged.kind === 'back' ? judged.to : '' };
    }
    const isWhole = [organizations, repositories, tags].every((one) => one === undefined);
    const choice = isWhole
      ? wholeChoice(this.#deps, user, judged.scopes)
      : { owners: organizations ?? [], repositories: repositories ?? [], tags: tags ?? [] };
    return { redirect_to: (await this.#agreed(judged, user, choice)).to };
  }

  mine(): GrantedAuthorization[] {
    const user = this.#signedIn();
    const { authorizations, oauthApplications, tokens } = this.#deps;
    return authorizations.ofUser(user).flatMap((one) => {
      const application = oauthApplications.find(one.application);
      const token = one.token === null ? undefined : tokens.withHash(one.token);
      return application === undefined
        ? []
        : [
            {
              id: one.id,
              application: application.name,
              domain: application.domain,
              organization: application.organization.name,
              created_at: timeText(one.createdMs),
              last_used_at: timeOrNull(token?.lastUsedMs ?? null),
              is_exchanged: one.refresh !== null,
              accesses: namedResources(this.#deps, user, one.accesses).map(
                ({ group, name, owner, repository, scopes }) =>
                  `${nameOf({ group, name, owner, repository })}: ${scopes
                    .map((scope) => describe(group, scope))
                    .join(', ')}`,
              ),
            },
          ];
    });
  }

  async end(id: string): Promise<void> {
    const user = this.#signedIn();
    await this.#deps.authorizations.end(id, (found) => found.user.id === user.id);
  }

  async #agreed(
    request: AuthorizeRequest,
    user: User,
    choice: ConsentChoice,
  ): Promise<{ kind: 'back'; to: string }> {
    const accesses = accessesOf(this.#deps, user, request.scopes, choice);
    const { application, redirectUri, isRedirectNamed, challenge } = request;
    const consent = { accesses, redirectUri, isRedirectNamed, challenge };
    return this.#back(request, { code: await this.#deps.authorizations.consent(application, user, consent) });
  }

  #back(
    { redirectUri, state }: { redirectUri: string; state: string | undefined },
    parameters: Readonly<Record<string, string>>,
  ): { kind: 'back'; to: string } {
    const { base } = this.#deps.addresses;
    return { kind: 'back', to: backTo(redirectUri, base, { ...parameters, state }) };
  }

  #judged(query: URLSearchParams): AuthorizeRequest | Exclude<AuthorizeAnswer, { kind: 'ask' }> {
    const verdict = judgeAuthorize(query, (clientId) => this.#deps.oauthApplications.byClientId(clientId));
    switch (verdict.kind) {
      case 'right':
        return verdict.request;
      case 'refused':
        return verdict;
      case 'error':
        return this.#back(verdict, { error: verdict.error, error_description: verdict.description });
      default:
        return unreachable(verdict);
    }
  }

  #question(
    { application, scopes, redirectUri }: AuthorizeRequest,
    query: URLSearchParams,
    user: User | undefined,
  ): ConsentQuestion {
    const owners = user === undefined ? [] : ownersOf(this.#deps, user).map(({ name }) => name);
    const isMember = owners.includes(application.organization.name);
    return {
      application: {
        name: application.name,
        domain: application.domain,
        organization: application.organization.name,
        avatar: avatarAddress(application, this.#deps.addresses),
        privacyUrl: application.privacyUrl,
        termsUrl: application.termsUrl,
      },
      redirectOrigin: new URL(redirectUri).origin,
      scopes: GROUPS.flatMap((group) => {
        const names = scopes[group] ?? [];
        const facts = names.map((name) => ({ name, description: describe(group, name) }));
        return facts.length === 0 ? [] : [{ group, scopes: facts }];
      }),
      owners,
      repositories:
        user === undefined
          ? []
          : repositoriesOf(this.#deps, user).slice(0, limits.hubGrantResourcesMax).map(fullName),
      chosen: isMember ? application.organization.name : (owners[0] ?? ''),
      parameters: AUTHORIZE_PARAMETERS.flatMap((name) =>
        query.getAll(name).map((value) => [name, value] as const),
      ),
    };
  }

  /** Only who is signed in at the pages decides: a token must not make another one. */
  #signedIn(): User {
    const user = personOf(this.#caller);
    if (this.#caller.kind !== 'page') {
      throw notFound('Not Found');
    }
    return user;
  }
}

function nameOf({
  group,
  name,
  owner,
  repository,
}: {
  group: string;
  name: string;
  owner: string;
  repository: string | undefined;
}): string {
  return group === 'branch'
    ? `${owner}/${repository ?? ''}:${name}`
    : group === 'database'
      ? `${owner}/${name}`
      : name;
}
