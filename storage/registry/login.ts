import { EngineError, isEngineError } from '../../daemon/base/errors.ts';
import { limits } from '../../daemon/base/limits.ts';
import { addressesOf } from './addresses.ts';
import { registryCertificates } from './certificates.ts';
import { parseChallenges } from './challenge.ts';
import type { RegistryAccess } from './connect.ts';
import { endpointsOf } from './hosts.ts';
import type { RegistryEndpoint } from './hosts.ts';
import { httpRequest, textOf } from './http.ts';
import type { HttpResponse, Trust } from './http.ts';
import { basic, fetchToken } from './token.ts';
import type { Credentials, Token, TokenRequest } from './token.ts';

/**
 * Tries credentials at a registry (`host[:port]`) by its base endpoint. Resolves with the token that may replace the
 * password, empty when the registry gives none. Throws EngineError unauthorized when its token service refuses them,
 * remote when the registry does or no way to it answers.
 */
export async function login(
  access: RegistryAccess,
  domain: string,
  credentials: Credentials,
  signal: AbortSignal,
): Promise<{ identityToken: string }> {
  const endpoints = endpointsOf(domain, await addressesOf(domain, access.lookupWaitMs), access.settings);
  const certificates = registryCertificates(access.certificateRoots, domain);
  let failure: unknown;
  for (const endpoint of endpoints) {
    try {
      return await loginAt(endpoint, { ...certificates, verified: endpoint.verified }, credentials, signal);
    } catch (error) {
      // An endpoint that refuses credentials has answered: they are not sent to another.
      if (!isEngineError(error, 'remote') || error.details['status'] === 401) {
        throw error;
      }
      failure = error;
    }
  }
  throw failure;
}

async function loginAt(
  { base }: RegistryEndpoint,
  trust: Trust,
  credentials: Credentials,
  signal: AbortSignal,
): Promise<{ identityToken: string }> {
  const url = new URL('/v2/', base);
  const ask = (headers: Record<string, string>): Promise<HttpResponse> =>
    httpRequest({ method: 'GET', url, headers, trust, signal });
  const first = await ask({});
  await textOf(first, limits.registryErrorBytesMax);
  if (first.status !== 401) {
    refuseUnlessOk(url, first);
    return { identityToken: '' };
  }
  const challenges = parseChallenges(first.headers['www-authenticate']);
  const bearer = challenges.find(({ scheme }) => scheme === 'bearer');
  if (bearer === undefined && !challenges.some(({ scheme }) => scheme === 'basic')) {
    throw new EngineError(
      'remote',
      `Get "${url.href}": the registry asks for no kind of login that is known`,
    );
  }
  const token =
    bearer &&
    (await loginToken({
      challenge: bearer,
      credentials,
      wanted: url,
      registry: url,
      trust,
      offline: true,
      signal,
    }));
  const second = await ask({ authorization: token ? `Bearer ${token.token}` : basic(credentials) });
  await textOf(second, limits.registryErrorBytesMax);
  if (second.status === 401) {
    // dockerd answers 500 here, and 401 only where a token service refuses (moby registry/auth.go).
    throw new EngineError('remote', `login attempt to ${url.href} failed with status: 401 Unauthorized`, {
      details: { status: second.status },
    });
  }
  refuseUnlessOk(url, second);
  return { identityToken: token?.refreshToken ?? '' };
}

async function loginToken(request: TokenRequest): Promise<Token> {
  try {
    return await fetchToken(request);
  } catch (error) {
    throw isEngineError(error, 'remote') && error.details['status'] === 401
      ? new EngineError('unauthorized', error.message, { cause: error })
      : error;
  }
}

function refuseUnlessOk(url: URL, { status }: HttpResponse): void {
  if (status !== 200) {
    throw new EngineError('remote', `login attempt to ${url.href} failed with status: ${status}`);
  }
}
