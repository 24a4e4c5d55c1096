import { EngineError } from '../../daemon/base/errors.ts';
import { Connections } from '../../daemon/base/http/outgoing.ts';
import { limits } from '../../daemon/base/limits.ts';
import { parseChallenges } from './challenge.ts';
import { registryError } from './failure.ts';
import type { RegistryEndpoint } from './hosts.ts';
import { httpRequest, textOf } from './http.ts';
import type { HttpResponse, HttpRequest, Trust } from './http.ts';
import { basic, fetchToken } from './token.ts';
import type { Credentials } from './token.ts';

/** The credentials that a client gave, or none. */
export interface SessionCredentials extends Partial<Credentials> {
  /** A bearer token used as it is. */
  registryToken?: string;
}

export interface SessionRequest {
  method: HttpRequest['method'];
  /** Below the endpoint; or where an upload goes on, which may be elsewhere. */
  url: URL;
  headers?: Readonly<Record<string, string>>;
  /** Makes the body anew for each attempt. */
  body?: () => Exclude<HttpRequest['body'], undefined>;
  signal: AbortSignal;
}

/** A token being fetched, for all requests that need it: the fetch is given up when none of them waits any more. */
interface TokenFetch {
  readonly done: Promise<void>;
  readonly stop: AbortController;
  waiting: number;
}

/** Tries of one request: without token, with the token that another request fetched meanwhile, with one of its own. */
const TRIES_MAX = 3;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);

/**
 * Requests to one registry for one operation: answers its challenges, follows its redirects, keeps connections.
 * Credentials and tokens go to the endpoint's origin only. Several may hold a session; the last release closes it.
 */
export class RegistrySession implements Disposable {
  readonly endpoint: RegistryEndpoint;
  readonly origin: URL;
  readonly #trust: Trust;
  readonly #credentials: SessionCredentials;
  readonly #connections = new Connections(limits.registryConnectionsKept);
  /** Asked for besides what the registry names: `repository:library/busybox:pull`. */
  #scopes: readonly string[] = [];
  #authorization: string | undefined;
  #fetching: TokenFetch | undefined;
  #holders = 1;

  constructor(endpoint: RegistryEndpoint, trust: Trust, credentials: SessionCredentials) {
    this.endpoint = endpoint;
    this.origin = new URL(endpoint.base);
    this.#trust = trust;
    this.#credentials = credentials;
    this.#authorization = credentials.registryToken ? `Bearer ${credentials.registryToken}` : undefined;
  }

  /** What tokens are to be good for from now on. */
  want(scopes: readonly string[]): void {
    this.#scopes = [...new Set([...this.#scopes, ...scopes])];
  }

  /**
   * Shows name and password with every request from now on, where there are both: the first API version never asks for
   * them.
   */
  introduce(): void {
    const { username, password } = this.#credentials;
    if (username && password) {
      this.#authorization = basic({ username, password });
    }
  }

  /** The address of a path of the registry's API. */
  url(path: string): URL {
    return new URL(path, this.origin);
  }

  /**
   * An answer below 400; its body is still to be read. Throws the registry's refusal (`registryError`), unauthorized
   * when there are no credentials to answer a challenge with, remote without an answer.
   */
  async request(request: SessionRequest): Promise<HttpResponse> {
    for (let tries = 1; ; tries += 1) {
      const used = this.#authorization;
      const { answer, url } = await this.#follow(request, used);
      if (answer.status < 400) {
        return answer;
      }
      if (answer.status !== 401 || tries === TRIES_MAX || !this.#isOurs(url)) {
        throw await registryError(answer);
      }
      const refusal = await registryError(answer);
      // Another request may have been authorized meanwhile: its token may be good for this one too.
      if (this.#authorization === used) {
        await this.#authorizeOnce(answer, { url, refusal, used, signal: request.signal });
      }
    }
  }

  /** Keeps the session open until this holder disposes of it too. */
  hold(): this {
    this.#holders += 1;
    return this;
  }

  [Symbol.dispose](): void {
    this.#holders -= 1;
    if (this.#holders === 0) {
      this.#connections[Symbol.dispose]();
    }
  }

  #isOurs(url: URL): boolean {
    return url.origin === this.origin.origin;
  }

  async #follow(
    request: SessionRequest,
    authorization: string | undefined,
  ): Promise<{ answer: HttpResponse; url: URL }> {
    const isReading = request.method === 'GET' || request.method === 'HEAD';
    let url = request.url;
    for (let hops = 0; ; hops += 1) {
      const isOurs = this.#isOurs(url);
      this.#refuseDowngrade(url);
      const answer = await httpRequest({
        method: request.method,
        url,
        headers: { ...request.headers, ...(isOurs && authorization !== undefined && { authorization }) },
        ...(request.body && { body: request.body() }),
        // Our certificate is for the registry; elsewhere only its authorities count.
        trust: isOurs ? this.#trust : { ca: this.#trust.ca, verified: this.#trust.verified },
        connections: this.#connections,
        signal: request.signal,
      });
      const { location } = answer.headers;
      if (!REDIRECTS.has(answer.status) || !isReading || location === undefined) {
        return { answer, url };
      }
      answer.body.destroy();
      if (hops >= limits.registryRedirectsMax) {
        throw unusable(`Get "${request.url.href}": stopped after ${limits.registryRedirectsMax} redirects`);
      }
      if (!URL.canParse(location, url.href)) {
        throw unusable(`Get "${request.url.href}": redirected to nowhere`);
      }
      url = new URL(location, url);
    }
  }

  /** From a registry with verified TLS nothing is fetched without, and nothing is sent without. */
  #refuseDowngrade(url: URL): void {
    const isKnown = url.protocol === 'https:' || url.protocol === 'http:';
    if (
      !isKnown ||
      (url.protocol === 'http:' && this.endpoint.verified && this.origin.protocol === 'https:')
    ) {
      throw unusable(`registry ${this.origin.host} sends us to ${url.origin}, which is not behind TLS`);
    }
  }

  async #authorizeOnce(
    answer: HttpResponse,
    context: { url: URL; refusal: EngineError; used: string | undefined; signal: AbortSignal },
  ): Promise<void> {
    const fetching = this.#fetching ?? this.#beginFetching(answer, context);
    fetching.waiting += 1;
    try {
      await endedBy(context.signal, fetching.done);
    } finally {
      fetching.waiting -= 1;
      if (fetching.waiting === 0) {
        fetching.stop.abort();
        this.#forget(fetching);
      }
    }
  }

  #beginFetching(
    answer: HttpResponse,
    context: { url: URL; refusal: EngineError; used: string | undefined },
  ): TokenFetch {
    const stop = new AbortController();
    const done = this.#authorize(answer, { ...context, signal: stop.signal });
    const fetching = { done, stop, waiting: 0 };
    this.#fetching = fetching;
    // A failure is for the requests that wait; the next one tries anew.
    done.catch(() => {}).finally(() => this.#forget(fetching));
    return fetching;
  }

  #forget(fetching: TokenFetch): void {
    if (this.#fetching === fetching) {
      this.#fetching = undefined;
    }
  }

  async #authorize(
    answer: HttpResponse,
    {
      url,
      refusal,
      used,
      signal,
    }: { url: URL; refusal: EngineError; used: string | undefined; signal: AbortSignal },
  ): Promise<void> {
    const challenges = parseChallenges(answer.headers['www-authenticate']);
    const { username, password, identityToken, registryToken } = this.#credentials;
    const credentials =
      username || identityToken
        ? { username: username ?? '', password: password ?? '', ...(identityToken && { identityToken }) }
        : undefined;
    const bearer = challenges.find(({ scheme }) => scheme === 'bearer');
    if (registryToken) {
      throw refusal;
    }
    if (bearer !== undefined) {
      const asked = bearer.parameters['scope']?.split(' ') ?? [];
      const scope = [...new Set([...this.#scopes, ...asked])].join(' ');
      const challenge = { ...bearer, parameters: { ...bearer.parameters, ...(scope !== '' && { scope }) } };
      const { token } = await fetchToken({
        challenge,
        credentials,
        registry: this.origin,
        trust: this.#trust,
        wanted: url,
        offline: false,
        signal,
      });
      this.#authorization = `Bearer ${token}`;
      return;
    }
    if (!challenges.some(({ scheme }) => scheme === 'basic')) {
      throw refusal;
    }
    if (credentials === undefined) {
      const words = 'no basic auth credentials';
      throw new EngineError('remote', `Get "${url.origin}${url.pathname}": ${words}`, { details: { words } });
    }
    const header = basic(credentials);
    if (header === used) {
      throw refusal;
    }
    this.#authorization = header;
  }
}

/** As `work`, but rejects with `canceled` as soon as the signal fires; the work goes on. */
async function endedBy(signal: AbortSignal, work: Promise<void>): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const abort = (): void => reject(new EngineError('canceled', 'canceled'));
    signal.addEventListener('abort', abort, { once: true });
    if (signal.aborted) {
      abort();
    }
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}

/** Reads an unneeded answer to its end, so that its connection can be used again. */
export async function drain(answer: HttpResponse): Promise<void> {
  await textOf(answer, limits.registryErrorBytesMax);
}

/** A way that another attempt would find the same. */
function unusable(message: string): EngineError {
  return new EngineError('remote', message);
}
