import { EngineError, isEngineError } from '../../daemon/base/errors.ts';
import { addressesOf } from './addresses.ts';
import { registryCertificates } from './certificates.ts';
import { endpointsOf, mirrorsOf } from './hosts.ts';
import type { RegistryEndpoint, RegistrySettings } from './hosts.ts';
import { httpRequest } from './http.ts';
import { Attempts } from './retry.ts';
import { drain, RegistrySession } from './session.ts';
import type { SessionCredentials } from './session.ts';

/** How registries are reached now. */
export interface RegistryAccess {
  settings: RegistrySettings;
  /** Directories like /etc/docker/certs.d. */
  certificateRoots: readonly string[];
  /** Longest wait for the address of a name; without it as long as the resolver takes. */
  lookupWaitMs?: number;
}

/** Failures that may be over in a moment; a refused connection or a name that does not resolve is final. */
const PASSING = new Set(['ECONNRESET', 'EPIPE', 'ETIMEDOUT']);

/**
 * A session with the registry of a domain, by the first of its endpoints that answers at all. Throws remote with
 * the last endpoint's failure when none does, as dockerd: of a registry without TLS the first only says that.
 */
export async function connectRegistry(
  access: RegistryAccess,
  domain: string,
  credentials: SessionCredentials,
  signal: AbortSignal,
): Promise<RegistrySession> {
  const attempts = new Attempts(signal);
  for (;;) {
    const endpoints = endpointsOf(domain, await addressesOf(domain, access.lookupWaitMs), access.settings);
    const failures: unknown[] = [];
    for (const endpoint of endpoints) {
      try {
        return await open(access, endpoint, { domain, credentials, signal });
      } catch (error) {
        failures.push(error);
      }
    }
    const passing = failures.find(
      (error) => error instanceof EngineError && PASSING.has(String(error.details['errno'])),
    );
    if (passing === undefined || signal.aborted) {
      throw failures.at(-1);
    }
    await attempts.after(passing);
  }
}

/** Sessions with the mirrors of a domain that answer, in order. A mirror never gets what is meant for the registry. */
async function* connectMirrors(
  access: RegistryAccess,
  domain: string,
  signal: AbortSignal,
): AsyncGenerator<RegistrySession> {
  for (const base of mirrorsOf(domain, access.settings)) {
    const { host, protocol } = new URL(base);
    let session: RegistrySession;
    try {
      const [first] = endpointsOf(host, await addressesOf(host, access.lookupWaitMs), access.settings);
      const endpoint = { base, verified: protocol === 'https:' && first?.verified !== false };
      session = await open(access, endpoint, { domain: host, credentials: {}, signal });
    } catch {
      // A mirror that is away is no failure: the next one is asked, and at last the registry itself.
      continue;
    }
    yield session;
  }
}

/**
 * What `ask` answers of the first mirror that can, or of the registry itself. The session is `ask`'s to close when it
 * succeeds. A mirror may lack what the registry has: of its failures only `canceled` ends the search.
 */
export async function askRegistries<T>(
  access: RegistryAccess,
  domain: string,
  { credentials, signal }: { credentials: SessionCredentials; signal: AbortSignal },
  ask: (session: RegistrySession) => Promise<T>,
): Promise<T> {
  for await (const session of connectMirrors(access, domain, signal)) {
    try {
      return await ask(session);
    } catch (error) {
      session[Symbol.dispose]();
      if (isEngineError(error, 'canceled')) {
        throw error;
      }
    }
  }
  const session = await connectRegistry(access, domain, credentials, signal);
  try {
    return await ask(session);
  } catch (error) {
    session[Symbol.dispose]();
    throw error;
  }
}

async function open(
  access: RegistryAccess,
  endpoint: RegistryEndpoint,
  { domain, credentials, signal }: { domain: string; credentials: SessionCredentials; signal: AbortSignal },
): Promise<RegistrySession> {
  const certificates = registryCertificates(access.certificateRoots, domain);
  const trust = { ...certificates, verified: endpoint.verified };
  // Any answer shows that a registry is there; 401 is that of a registry with accounts.
  const answer = await httpRequest({ method: 'GET', url: new URL('/v2/', endpoint.base), trust, signal });
  await drain(answer);
  return new RegistrySession(endpoint, trust, credentials);
}
