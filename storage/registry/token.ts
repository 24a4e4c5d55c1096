import { EngineError } from '../../daemon/base/errors.ts';
import { limits } from '../../daemon/base/limits.ts';
import type { Challenge } from './challenge.ts';
import { httpRequest, textOf } from './http.ts';
import type { HttpAnswer, Trust } from './http.ts';

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
 * Throws EngineError unauthorized when they are refused, unavailable when the server does not answer.
 */
export async function fetchToken(request: TokenRequest): Promise<Token> {
  const realm = realmOf(request);
  const { credentials } = request;
  const answer = await (credentials?.identityToken
    ? askByRefreshToken(realm, request, credentials.identityToken)
    : askByPassword(realm, request));
  const text = await textOf(answer, limits.registryTokenBytesMax);
  if (answer.status === 401 || answer.status === 403) {
    throw new EngineError('unauthorized', messageOf(text) ?? 'unauthorized: incorrect username or password');
  }
  if (answer.status !== 200) {
    throw new EngineError(
      'unavailable',
      `fetch a token from ${realm.origin}${realm.pathname}: status ${answer.status}`,
      { details: { retryable: answer.status === 429 || answer.status >= 500 } },
    );
  }
  const fields = objectOf(text);
  const token = fields['token'] ?? fields['access_token'];
  if (typeof token !== 'string' || token === '') {
    throw new EngineError('unavailable', `${realm.origin}${realm.pathname} answered without a token`);
  }
  const refreshToken = fields['refresh_token'];
  return {
    token,
    refreshToken: typeof refreshToken === 'string' && refreshToken !== '' ? refreshToken : undefined,
  };
}

function realmOf({ challenge, registry }: TokenRequest): URL {
  const text = challenge.parameters['realm'] ?? '';
  const realm = URL.canParse(text) ? new URL(text) : undefined;
  if (realm === undefined || !(realm.protocol === 'https:' || realm.protocol === 'http:')) {
    throw new EngineError('unavailable', `registry ${registry.host} names no usable token server: ${text}`);
  }
  if (realm.protocol === 'http:' && registry.protocol === 'https:') {
    throw new EngineError(
      'unavailable',
      `registry ${registry.host} names a token server without TLS: ${realm.origin}`,
    );
  }
  return realm;
}

function askByPassword(realm: URL, request: TokenRequest): Promise<HttpAnswer> {
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

function askByRefreshToken(realm: URL, request: TokenRequest, refreshToken: string): Promise<HttpAnswer> {
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

/** What a registry says in its error document (`{"errors":[{"code","message"}]}` or `{"details"}`). */
function messageOf(text: string): string | undefined {
  const fields = objectOf(text);
  const first: unknown = Array.isArray(fields['errors']) ? fields['errors'][0] : fields;
  const message = isRecord(first) ? (first['message'] ?? first['details']) : undefined;
  return typeof message === 'string' && message !== ''
    ? `unauthorized: ${message.slice(0, limits.registryMessageLengthMax)}`
    : undefined;
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
