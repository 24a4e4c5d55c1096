import { EngineError } from '../../daemon/base/errors.ts';
import { limits } from '../../daemon/base/limits.ts';
import type { Challenge } from './challenge.ts';
import { httpRequest, textOf } from './http.ts';
import { registryError } from './failure.ts';
import type { HttpResponse, Trust } from './http.ts';

/** What a client gave to log in with. */
export interface Credentials {
  username: string;
  password: string;
  /** Replaces the password: an OAuth 2 refresh token. */
  identityToken?: string;
}

export interface TokenRequest {
  challenge: Challenge;
  credentials: Credentials | undefined;
  /** What the token is for, for messages. */
  wanted: URL;
  /** Of the registry that asks; its token server is not trusted more than itself. */
  registry: URL;
  trust: Trust;
  /** Ask for a refresh token too. */
  offline: boolean;
  signal: AbortSignal;
}

export interface Token {
  token: string;
  /** Replaces the password from now on. */
  refreshToken: string | undefined;
}

const CLIENT_ID = 'docker';

/**
 * Fetches a bearer token (distribution specification, token authentication). Credentials go to the realm that the
 * registry named and nowhere else, and never from a registry behind TLS to a realm without.
 * Throws EngineError remote when they are refused (`details.status`) or the service does not answer.
 */
export async function fetchToken(request: TokenRequest): Promise<Token> {
  const realm = realmOf(request);
  const { credentials } = request;
  const answer = await (credentials?.identityToken
    ? askByRefreshToken(realm, request, credentials.identityToken)
    : askByPassword(realm, request));
  if (answer.status !== 200) {
    throw tokenError(request, await registryError(answer));
  }
  const fields = objectOf(await textOf(answer, limits.registryTokenBytesMax));
  const token = fields['token'] ?? fields['access_token'];
  if (typeof token !== 'string' || token === '') {
    const why = `the token service ${realm.origin}${realm.pathname} answered without a token`;
    throw tokenError(request, new EngineError('remote', why));
  }
  const refreshToken = fields['refresh_token'];
  return {
    token,
    refreshToken: typeof refreshToken === 'string' && refreshToken !== '' ? refreshToken : undefined,
  };
}

/**
 * A token service's refusal, told apart from the registry's own by the request that it stopped (dockerd's words: `Get
 * "https://registry/v2/app/manifests/1": unauthorized: ...`). Never forbidden: whether the repository exists is not
 * what the token service says.
 */
function tokenError({ wanted }: TokenRequest, { message, details }: EngineError): EngineError {
  return new EngineError('remote', `Get "${wanted.origin}${wanted.pathname}": ${message}`, {
    details: { ...details, words: message },
  });
}

function realmOf({ challenge, registry }: TokenRequest): URL {
  const text = challenge.parameters['realm'] ?? '';
  const realm = URL.canParse(text) ? new URL(text) : undefined;
  if (realm === undefined || !(realm.protocol === 'https:' || realm.protocol === 'http:')) {
    throw new EngineError('remote', `registry ${registry.host} names no usable token server: ${text}`);
  }
  if (realm.protocol === 'http:' && registry.protocol === 'https:') {
    throw new EngineError(
      'remote',
      `registry ${registry.host} names a token server without TLS: ${realm.origin}`,
    );
  }
  return realm;
}

function askByPassword(realm: URL, request: TokenRequest): Promise<HttpResponse> {
  const { challenge, credentials, offline, signal } = request;
  const url = new URL(realm);
  const { service, scope } = challenge.parameters;
  if (service !== undefined) {
    url.searchParams.set('service', service);
  }
  // Several scopes are several parameters.
  for (const one of scope?.split(' ') ?? []) {
    url.searchParams.append('scope', one);
  }
  if (credentials) {
    url.searchParams.set('account', credentials.username);
    if (offline) {
      url.searchParams.set('offline_token', 'true');
      url.searchParams.set('client_id', CLIENT_ID);
    }
  }
  return httpRequest({
    method: 'GET',
    url,
    headers: credentials ? { authorization: basic(credentials) } : {},
    trust: trustIn(realm, request),
    signal,
  });
}

function askByRefreshToken(realm: URL, request: TokenRequest, refreshToken: string): Promise<HttpResponse> {
  const { service, scope } = request.challenge.parameters;
  const form = new URLSearchParams({
    grant_type: 'refresh_token',
    client_id: CLIENT_ID,
    refresh_token: refreshToken,
    ...(service !== undefined && { service }),
    ...(scope !== undefined && { scope }),
  });
  return httpRequest({
    method: 'POST',
    url: realm,
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: form.toString(),
    trust: trustIn(realm, request),
    signal: request.signal,
  });
}

/** The registry's own certificates are for its own host; elsewhere the system's authorities count. */
function trustIn(realm: URL, { registry, trust }: TokenRequest): Trust {
  return realm.host === registry.host ? trust : { ca: trust.ca, verified: trust.verified };
}

/** The value of an `Authorization` header. */
export function basic({ username, password }: Credentials): string {
  return `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
}

function objectOf(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? value : {};
  } catch {
    // Not JSON: nothing can be read from it.
    return {};
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
