import { connect } from 'node:tls';
import {
  EngineError,
  errorText,
  failedPrecondition,
  invalidArgument,
  isEngineError,
} from '../../../daemon/base/errors.ts';
import { beginRequest } from '../../../daemon/base/http/outgoing.ts';
import { limits } from '../../../daemon/base/limits.ts';
import { readCertificates, type Certificate } from '../x509/certificate.ts';
import { verifyChain } from '../chain.ts';
import { basicConstraints, EXTENSION } from '../x509/extensions.ts';
import { alternativeNames, identityOf, type Identity } from '../identity.ts';
import { createAuthorityRequest, readRequest } from '../x509/request.ts';
import type { Signer } from '../x509/signer.ts';

/** The profile under which an authority signs another one, by the documentation of dockerd. */
const CROSS_SIGNING_PROFILE = 'CA';

/** How this node speaks to authorities: with its own certificate, to servers that one of the roots certifies. */
export interface ExternalCaTls {
  certPem: string;
  keyPem: string;
  rootsPem: string;
}

/**
 * Authorities outside of the swarm that speak cfssl's `sign`, tried in turn. Throws unavailable where none could be
 * asked, which is to be tried again later, and failed_precondition where one refused or answered something else than
 * was asked for, which is not.
 */
export class ExternalCa {
  readonly #urls: readonly URL[];
  readonly #tls: ExternalCaTls;
  readonly #answerMs: number;

  /** Throws invalid_argument for an address that is not of https. */
  constructor(urls: readonly string[], tls: ExternalCaTls, answerMs: number = limits.swarmExternalCaMs) {
    this.#urls = urls.map(parseAuthorityUrl);
    this.#tls = tls;
    this.#answerMs = answerMs;
  }

  /** The certificate of a node, followed by what certifies it (PEM). What comes back is what was asked for. */
  async sign(
    requestPem: string,
    identity: Identity,
    rules: { now: number; intermediatesPem: string },
  ): Promise<string> {
    const publicKey = readRequest(requestPem);
    const answer = await this.#ask({
      hosts: alternativeNames(identity),
      certificate_request: requestPem,
      subject: { CN: identity.node, names: [{ OU: identity.role, O: identity.cluster }] },
    });
    return checked(() => {
      const bundlePem = answer + rules.intermediatesPem;
      const { leaf } = verifyChain(bundlePem, {
        roots: readCertificates(this.#tls.rootsPem),
        now: rules.now,
      });
      const given = identityOf(leaf);
      const isAsked =
        leaf.publicKey.equals(publicKey) &&
        given?.node === identity.node &&
        given.role === identity.role &&
        given.cluster === identity.cluster;
      return isAsked ? bundlePem : undefined;
    });
  }

  /** A new root as the authority of the present one certifies it. */
  async crossSign(root: Signer): Promise<Certificate> {
    const { subject, rawSubject, publicKey } = root.certificate;
    const answer = await this.#ask({
      hosts: [],
      certificate_request: createAuthorityRequest(root),
      subject: { CN: subject.commonName, names: [] },
      profile: CROSS_SIGNING_PROFILE,
      // cfssl does not look for it in the request.
      extensions: [
        { id: EXTENSION.basicConstraints, critical: true, value: basicConstraints(true).toString('hex') },
      ],
    });
    return checked(() => {
      const [certificate] = readCertificates(answer);
      const isAsked =
        certificate?.isAuthority === true &&
        certificate.publicKey.equals(publicKey) &&
        certificate.rawSubject.equals(rawSubject);
      return isAsked ? certificate : undefined;
    });
  }

  /** Whether a TLS connection to one of them comes about. */
  async isReachable(): Promise<boolean> {
    for (const url of this.#urls) {
      if (await this.#connects(url)) {
        return true;
      }
    }
    return false;
  }

  async #ask(body: object): Promise<string> {
    let failure: unknown = failedPrecondition('no external CA URLs');
    for (const url of this.#urls) {
      try {
        return certificateOf(await this.#post(url, JSON.stringify(body)));
      } catch (error) {
        failure = error;
      }
    }
    throw failure;
  }

  async #post(url: URL, body: string): Promise<string> {
    const { certPem: cert, keyPem: key, rootsPem: ca } = this.#tls;
    const signal = AbortSignal.timeout(this.#answerMs);
    return await new Promise<string>((resolve, reject) => {
      const fail = (error: unknown): void => {
        reject(unavailable(`unable to perform certificate signing request: ${errorText(error)}`, error));
      };
      const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
      const options = { method: 'POST', headers, cert, key, ca, signal };
      // As swarmkit: an authority of the swarm is no server of the internet.
      const { request: sent } = beginRequest(url, options, { isDirect: true });
      sent.on('error', fail);
      sent.on('response', (answer) => {
        const chunks: Buffer[] = [];
        let size = 0;
        answer.on('error', fail);
        answer.on('data', (chunk: Buffer) => {
          size += chunk.length;
          chunks.push(chunk);
          if (size > limits.swarmExternalCaBytesMax) {
            sent.destroy(new Error(`the answer has more than ${limits.swarmExternalCaBytesMax} bytes`));
          }
        });
        answer.on('end', () => {
          const text = Buffer.concat(chunks).toString();
          if (answer.statusCode === 200) {
            resolve(text);
          } else {
            fail(new Error(`unexpected status code in CSR response: ${answer.statusCode}`));
          }
        });
      });
      sent.end(body);
    });
  }

  async #connects({ hostname, port }: URL): Promise<boolean> {
    const { certPem: cert, keyPem: key, rootsPem: ca } = this.#tls;
    return await new Promise((resolve) => {
      const host = hostname.replaceAll(/[[\]]/g, '');
      const socket = connect({ host, servername: host, port: Number(port || 443), cert, key, ca });
      const end = (isConnected: boolean): void => {
        socket.destroy();
        resolve(isConnected);
      };
      socket.setTimeout(this.#answerMs, () => end(false));
      socket.once('error', () => end(false));
      socket.once('secureConnect', () => end(true));
    });
  }
}

/** Throws invalid_argument. */
function parseAuthorityUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== 'https:') {
    throw invalidArgument(`external CA ${text}: invalid HTTP scheme`);
  }
  return url;
}

/** The certificate in cfssl's answer: `{success, result: {certificate}, errors: [{code, message}]}`. */
function certificateOf(text: string): string {
  let answer: unknown;
  try {
    answer = JSON.parse(text);
  } catch (error) {
    throw unavailable(`unable to parse JSON response: ${errorText(error)}`, error);
  }
  const { success, result, errors } = fieldsOf(answer);
  const { certificate } = fieldsOf(result);
  if (success === true && typeof certificate === 'string') {
    return certificate;
  }
  const messages = (Array.isArray(errors) ? errors : []).map((each) => String(fieldsOf(each)['message']));
  throw failedPrecondition(
    messages.length > 0 ? `response errors: ${messages.join(', ')}` : 'certificate signing request failed',
  );
}

function fieldsOf(value: unknown): Record<string, unknown> {
  // Every field is looked at as unknown.
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

function checked<T>(check: () => T | undefined): T {
  let result: T | undefined;
  try {
    result = check();
  } catch (error) {
    if (!isEngineError(error)) {
      throw error;
    }
    throw notAsked(error);
  }
  if (result === undefined) {
    throw notAsked();
  }
  return result;
}

function notAsked(cause?: EngineError): EngineError {
  const why = cause === undefined ? '' : `: ${cause.message}`;
  return failedPrecondition(`the external CA answered with another certificate than was asked for${why}`, {
    cause,
  });
}

function unavailable(message: string, cause: unknown): EngineError {
  return new EngineError('unavailable', message, { cause });
}
