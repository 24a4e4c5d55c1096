import { lookup } from 'node:dns';
import http from 'node:http';
import https from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import { limits } from '../../base/limits.ts';
import { isAllowed, type AllowedHosts } from './allowed-hosts.ts';
import type { Outcome } from './delivery.ts';
import { answered, failed, failureOf, REFUSED_ADDRESS } from './outcome.ts';
import type { DeliveryRequest } from './request.ts';

export interface Sent {
  outcome: Outcome;
  response: { headers: Readonly<Record<string, string>>; payload: string };
}

export interface Target {
  url: URL;
  isCertificateVerified: boolean;
}

/** Sends deliveries. */
export interface Sender {
  /** Never rejects. */
  send(target: Target, request: DeliveryRequest): Promise<Sent>;
}

const NOTHING = { headers: {}, payload: '' };

/**
 * Sends over HTTP. The addresses of a receiver are judged when its connection is made, as they are then: what a name
 * led to before does not count. Redirects are not followed, proxies not used.
 */
export class HttpSender implements Sender, Disposable {
  readonly #allowed: AllowedHosts;
  readonly #resolve: typeof lookup;
  readonly #agents: { 'http:': http.Agent; 'https:': https.Agent };

  constructor(allowed: AllowedHosts, resolve: typeof lookup = lookup) {
    this.#allowed = allowed;
    this.#resolve = resolve;
    const options = { keepAlive: true, maxSockets: limits.hubDeliveriesOfHostAtOnce, maxFreeSockets: 64 };
    this.#agents = { 'http:': new http.Agent(options), 'https:': new https.Agent(options) };
  }

  async send(target: Target, request: DeliveryRequest): Promise<Sent> {
    if (request.body.length > limits.hubPayloadBytesMax) {
      return { outcome: failed('too-large'), response: NOTHING };
    }
    const signal = AbortSignal.timeout(limits.hubDeliveryMs);
    try {
      return await this.#once(target, request, signal, true);
    } catch (error) {
      if (error instanceof StaleConnection) {
        return this.#fresh(target, request, signal);
      }
      return { outcome: failed(signal.aborted ? 'timeout' : failureOf(error)), response: NOTHING };
    }
  }

  [Symbol.dispose](): void {
    this.#agents['http:'].destroy();
    this.#agents['https:'].destroy();
  }

  /** The receiver had closed the connection of the delivery before: that says nothing of this one. */
  async #fresh(target: Target, request: DeliveryRequest, signal: AbortSignal): Promise<Sent> {
    try {
      return await this.#once(target, request, signal, false);
    } catch (error) {
      return { outcome: failed(signal.aborted ? 'timeout' : failureOf(error)), response: NOTHING };
    }
  }

  #once(
    { url, isCertificateVerified }: Target,
    { headers, body }: DeliveryRequest,
    signal: AbortSignal,
    mayReuse: boolean,
  ): Promise<Sent> {
    const isHttps = url.protocol === 'https:';
    const hostname = url.hostname.replace(/^\[|\]$/g, '');
    return new Promise((resolve, reject) => {
      if (isIP(hostname) !== 0 && !isAllowed(this.#allowed, hostname, hostname)) {
        throw refusedAddress(hostname, hostname);
      }
      const req = (isHttps ? https : http).request(url, {
        method: 'POST',
        headers: { ...headers, 'Content-Length': body.length },
        agent: mayReuse ? this.#agents[isHttps ? 'https:' : 'http:'] : false,
        lookup: this.#judgedLookup(hostname),
        maxHeaderSize: limits.hubResponseHeaderBytesMax,
        ...(isHttps && { rejectUnauthorized: isCertificateVerified }),
        signal,
      });
      let hasAnswer = false;
      req.once('response', (res) => {
        hasAnswer = true;
        readStart(res).then(
          (payload) =>
            resolve({
              outcome: answered(res.statusCode ?? 0),
              response: { headers: headersOf(res), payload },
            }),
          reject,
        );
      });
      req.once('error', (error) => reject(mayReuse && isStale(req, error) ? new StaleConnection() : error));
      // A receiver that wants to speak another protocol ends without answer and without error.
      req.once('close', () => {
        if (!hasAnswer) {
          reject(new Error('closed'));
        }
      });
      req.end(body);
    });
  }

  /** Names lead only to addresses that are allowed. */
  #judgedLookup(hostname: string): LookupFunction {
    return (name, options, callback) => {
      this.#resolve(name, { ...options, all: true }, (error, found) => {
        const allowed = (error === null ? found : []).filter(({ address }) =>
          isAllowed(this.#allowed, hostname, address),
        );
        const [first] = allowed;
        if (first === undefined) {
          callback(error ?? refusedAddress(hostname, found[0]?.address ?? 'none'), '', 0);
        } else if (options.all === true) {
          callback(null, allowed);
        } else {
          callback(null, first.address, first.family);
        }
      });
    };
  }
}

class StaleConnection extends Error {}

function isStale(req: http.ClientRequest, error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return req.reusedSocket && (code === 'ECONNRESET' || code === 'EPIPE');
}

function refusedAddress(hostname: string, address: string): Error {
  return Object.assign(new Error(`deliveries to ${hostname} at ${address} are not allowed`), {
    code: REFUSED_ADDRESS,
  });
}

/** The first bytes of an answer, as text. Of the rest nothing is read. */
async function readStart(res: http.IncomingMessage): Promise<string> {
  const pieces: Buffer[] = [];
  let size = 0;
  for await (const piece of res) {
    // A response without an encoding gives buffers.
    const bytes = piece as Buffer;
    pieces.push(bytes);
    size += bytes.length;
    if (size >= limits.hubResponseBytesKept) {
      break;
    }
  }
  return Buffer.concat(pieces).subarray(0, limits.hubResponseBytesKept).toString('utf8');
}

/** What a receiver says for its own clients only. */
const SECRET_HEADERS = new Set(['set-cookie', 'authorization', 'proxy-authorization', 'www-authenticate']);

function headersOf({ headers }: http.IncomingMessage): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name,
      SECRET_HEADERS.has(name) ? '********' : Array.isArray(value) ? value.join(', ') : (value ?? ''),
    ]),
  );
}
