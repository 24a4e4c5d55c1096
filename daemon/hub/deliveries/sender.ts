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
 *
 * A thousand a second beside all else that the host does: so headers go to Node.js as they are sent, and the time of a
 * delivery is one timer. Signals and iterators cost more than the delivery itself, and a signal stays until its time.
 */
export class HttpSender implements Sender, Disposable {
  readonly #allowed: AllowedHosts;
  readonly #resolve: typeof lookup;
  readonly #agents: { 'http:': http.Agent; 'https:': https.Agent };
  /** Of addresses in place of names, which lead nowhere else: whether they are allowed. */
  readonly #judged = new Map<string, boolean>();

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
    const deadline: Deadline = { isOver: false, request: undefined };
    const timer = setTimeout(() => {
      deadline.isOver = true;
      deadline.request?.destroy(new Error('no answer in time'));
    }, limits.hubDeliveryMs);
    try {
      return await this.#once(target, request, deadline, true);
    } catch (error) {
      if (error instanceof StaleConnection) {
        return await this.#fresh(target, request, deadline);
      }
      return { outcome: failed(deadline.isOver ? 'timeout' : failureOf(error)), response: NOTHING };
    } finally {
      clearTimeout(timer);
    }
  }

  [Symbol.dispose](): void {
    this.#agents['http:'].destroy();
    this.#agents['https:'].destroy();
  }

  /** The receiver had closed the connection of the delivery before: that says nothing of this one. */
  async #fresh(target: Target, request: DeliveryRequest, deadline: Deadline): Promise<Sent> {
    try {
      return await this.#once(target, request, deadline, false);
    } catch (error) {
      return { outcome: failed(deadline.isOver ? 'timeout' : failureOf(error)), response: NOTHING };
    }
  }

  #once(
    { url, isCertificateVerified }: Target,
    { headers, body }: DeliveryRequest,
    deadline: Deadline,
    mayReuse: boolean,
  ): Promise<Sent> {
    const isHttps = url.protocol === 'https:';
    const hostname = url.hostname.replace(/^\[|\]$/g, '');
    return new Promise((resolve, reject) => {
      if (isIP(hostname) !== 0 && !this.#isAddressAllowed(hostname)) {
        throw refusedAddress(hostname, hostname);
      }
      const req = (isHttps ? https : http).request({
        method: 'POST',
        host: hostname,
        port: url.port,
        path: url.pathname + url.search,
        headers: linesOf(url, headers, body),
        agent: mayReuse ? this.#agents[isHttps ? 'https:' : 'http:'] : false,
        lookup: this.#judgedLookup(hostname),
        maxHeaderSize: limits.hubResponseHeaderBytesMax,
        ...(isHttps && { rejectUnauthorized: isCertificateVerified }),
      });
      deadline.request = req;
      let hasAnswer = false;
      req.once('response', (res) => {
        hasAnswer = true;
        readStart(res, reject, (payload) =>
          resolve({
            outcome: answered(res.statusCode ?? 0),
            response: { headers: headersOf(res), payload },
          }),
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

  #isAddressAllowed(address: string): boolean {
    const known = this.#judged.get(address);
    if (known !== undefined) {
      return known;
    }
    const is = isAllowed(this.#allowed, address, address);
    if (this.#judged.size < limits.hubAddressesJudged) {
      this.#judged.set(address, is);
    }
    return is;
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

/** The time of one delivery, whatever it takes to make it. */
interface Deadline {
  isOver: boolean;
  /** What is under way. */
  request: http.ClientRequest | undefined;
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

/** Names and values in turns, as Node.js writes them without another look. */
function linesOf(url: URL, headers: DeliveryRequest['headers'], { length }: Buffer): string[] {
  const lines = ['Host', url.host];
  for (const name in headers) {
    lines.push(name, headers[name] ?? '');
  }
  if (url.username !== '' || url.password !== '') {
    const known = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
    lines.push('Authorization', `Basic ${Buffer.from(known).toString('base64')}`);
  }
  lines.push('Content-Length', String(length));
  return lines;
}

/** The first bytes of an answer, as text. Of the rest nothing is read. */
function readStart(
  res: http.IncomingMessage,
  fail: (error: Error) => void,
  done: (text: string) => void,
): void {
  const pieces: Buffer[] = [];
  let size = 0;
  const end = (): void =>
    done(Buffer.concat(pieces).subarray(0, limits.hubResponseBytesKept).toString('utf8'));
  // A response without an encoding gives buffers.
  res.on('data', (piece: Buffer) => {
    pieces.push(piece);
    size += piece.length;
    if (size >= limits.hubResponseBytesKept) {
      end();
      res.destroy();
    }
  });
  res.once('end', end);
  res.once('error', fail);
  res.once('close', () => fail(new Error('closed')));
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
