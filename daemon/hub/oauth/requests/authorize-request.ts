import { limits } from '../../../base/limits.ts';
import type { OAuthApplication } from '../applications/application.ts';
import { challengeProblem } from '../authorizations/pkce.ts';
import type { ScopesByGroup } from '../scopes/names.ts';
import { narrowed } from '../scopes/requested.ts';

/** Parameters of a request to authorize that mean something here; others are let be (RFC 6749, 3.1). */
export const AUTHORIZE_PARAMETERS = [
  'client_id',
  'redirect_uri',
  'state',
  'response_type',
  'response_mode',
  'scope',
  'code_challenge',
  'code_challenge_method',
] as const;

/** A request that a user can be asked about. */
export interface AuthorizeRequest {
  application: OAuthApplication;
  redirectUri: string;
  isRedirectNamed: boolean;
  state: string | undefined;
  scopes: ScopesByGroup;
  challenge: string | null;
}

export type AuthorizeVerdict =
  | { kind: 'right'; request: AuthorizeRequest }
  /** Whom the answer would go to is not known: it goes nowhere. */
  | { kind: 'refused'; message: string }
  /** The application is told: RFC 6749, 4.1.2.1. */
  | { kind: 'error'; redirectUri: string; state: string | undefined; error: string; description: string };

/** What a request to authorize is worth (seed 002 A, step 1; RFC 6749, 4.1.1; RFC 9700). Pure. */
export function judgeAuthorize(
  query: URLSearchParams,
  find: (clientId: string) => OAuthApplication | undefined,
): AuthorizeVerdict {
  const [clientId, named] = [query.getAll('client_id'), query.getAll('redirect_uri')];
  if (clientId.length !== 1 || named.length > 1) {
    return refuse(
      clientId.length === 0 ? 'client_id is missing' : 'client_id and redirect_uri must be sent once each',
    );
  }
  const application = find(clientId[0] ?? '');
  if (application === undefined) {
    return refuse('no such application: its client_id is unknown');
  }
  const { redirectUri } = application;
  if (named.length === 1 && named[0] !== redirectUri) {
    return refuse(`redirect_uri is not the one that ${application.name} is registered with`);
  }
  const states = query.getAll('state');
  const state = states[0];
  const wrong = problemOf(query);
  if (wrong !== undefined) {
    return { kind: 'error', redirectUri, state: states.length === 1 ? state : undefined, ...wrong };
  }
  const scopes = narrowed(application.scopes, query.get('scope') ?? undefined);
  if (scopes === undefined) {
    const description = 'scope names something that the application is not registered for';
    return { kind: 'error', redirectUri, state, error: 'invalid_scope', description };
  }
  return {
    kind: 'right',
    request: {
      application,
      redirectUri,
      isRedirectNamed: named.length === 1,
      state,
      scopes,
      challenge: query.get('code_challenge'),
    },
  };
}

/** The address to which a browser is sent back. `iss` says who answers, against mix-ups (RFC 9207). Pure. */
export function backTo(
  redirectUri: string,
  issuer: string,
  parameters: Readonly<Record<string, string | undefined>>,
): string {
  const url = new URL(redirectUri);
  for (const [name, value] of Object.entries({ ...parameters, iss: issuer })) {
    if (value !== undefined) {
      url.searchParams.append(name, value);
    }
  }
  return url.href;
}

function problemOf(query: URLSearchParams): { error: string; description: string } | undefined {
  const twice = AUTHORIZE_PARAMETERS.find((name) => query.getAll(name).length > 1);
  if (twice !== undefined) {
    return invalid(`${twice} was sent twice`);
  }
  const [type, mode] = [query.get('response_type') ?? 'code', query.get('response_mode') ?? 'query'];
  if (type !== 'code') {
    return { error: 'unsupported_response_type', description: 'response_type must be code' };
  }
  if (mode !== 'query') {
    return invalid('response_mode must be query');
  }
  if ((query.get('state') ?? '').length > limits.hubOAuthStateMax) {
    return invalid(`state must have at most ${limits.hubOAuthStateMax} characters`);
  }
  const problem = challengeProblem(
    query.get('code_challenge') ?? undefined,
    query.get('code_challenge_method') ?? undefined,
  );
  return problem === undefined ? undefined : invalid(problem);
}

function invalid(description: string): { error: string; description: string } {
  return { error: 'invalid_request', description };
}

function refuse(message: string): AuthorizeVerdict {
  return { kind: 'refused', message };
}
