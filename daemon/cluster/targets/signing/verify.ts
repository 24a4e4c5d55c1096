import { timingSafeEqual } from 'node:crypto';
import { EngineError } from '../../../base/errors.ts';
import { canonicalRequest, sha256Hex, type SignedParts } from './canonical-request.ts';
import { ALGORITHM, SIGNED_SERVICE, signatureOf, type Scope } from './sign.ts';

/** How far a client's clock may be off, either way (AWS). */
const SKEW_MS = 5 * 60_000;

interface Signature extends Scope {
  accessKey: string;
  names: readonly string[];
  signature: string;
}

/**
 * Verifies a request that is signed by AWS Signature Version 4 in its header, and answers the access key that signed
 * it. `secretOf`: the secret of an access key, undefined = there is none. Throws forbidden whose `details.kind` is the
 * original's name of the error.
 */
export function verifySignature(
  parts: SignedParts,
  nowMs: number,
  secretOf: (accessKey: string) => string | undefined,
): string {
  const signature = readAuthorization(textOf(parts.headers['authorization']));
  const stamp = textOf(parts.headers['x-amz-date']);
  checkTime(stamp, signature, nowMs);
  checkParts(parts, signature);
  const secret = secretOf(signature.accessKey);
  if (secret === undefined) {
    throw refused('UnrecognizedClientException', `there is no access key ${signature.accessKey}`);
  }
  const canonical = canonicalRequest(parts, signature.names);
  const expected = signatureOf(secret, signature, stamp, canonical);
  const given = Buffer.from(signature.signature, 'hex');
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) {
    throw refused(
      'InvalidSignatureException',
      'the signature is not that of the request with the secret of this access key',
    );
  }
  return signature.accessKey;
}

const FORM = new RegExp(
  `^${ALGORITHM} Credential=([\\w-]{1,128})/(\\d{8})/([\\w-]{1,64})/([\\w-]{1,64})/aws4_request, ?` +
    'SignedHeaders=([a-z0-9;_-]{1,4096}), ?Signature=([0-9a-f]{64})$',
);

function readAuthorization(text: string): Signature {
  const found = FORM.exec(text);
  if (found === null) {
    throw refused(
      'IncompleteSignatureException',
      `Authorization: must be of the form ${ALGORITHM} Credential=...`,
    );
  }
  const [, accessKey = '', day = '', region = '', service = '', names = '', signature = ''] = found;
  return { accessKey, day, region, service, names: names.split(';'), signature };
}

function checkTime(stamp: string, { day }: Signature, nowMs: number): void {
  const [, y, mo, d, h, mi, s] = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(stamp) ?? [];
  const atMs = Date.parse(`${y}-${mo}-${d}T${h}:${mi}:${s}Z`);
  if (Number.isNaN(atMs) || !stamp.startsWith(day)) {
    throw refused('IncompleteSignatureException', 'X-Amz-Date: must be a time of the day of the credential');
  }
  if (Math.abs(atMs - nowMs) > SKEW_MS) {
    const here = new Date(nowMs).toISOString();
    throw refused(
      'InvalidSignatureException',
      `the signature has expired: it is of ${stamp}, and here it is ${here}`,
    );
  }
}

/** What is not signed could have been changed on its way. */
function checkParts({ headers, body }: SignedParts, { names, service }: Signature): void {
  if (service !== SIGNED_SERVICE) {
    throw refused(
      'InvalidSignatureException',
      `the credential must be for the service ${SIGNED_SERVICE}, not ${service}`,
    );
  }
  const missing = ['host', 'x-amz-date'].find((name) => !names.includes(name));
  if (missing !== undefined) {
    throw refused('IncompleteSignatureException', `SignedHeaders: must name ${missing}`);
  }
  const said = headers['x-amz-content-sha256'];
  if (said !== undefined && said !== sha256Hex(body)) {
    throw refused('InvalidSignatureException', 'X-Amz-Content-Sha256: is not the SHA-256 of the body');
  }
  if (headers['x-amz-security-token'] !== undefined) {
    throw refused(
      'UnrecognizedClientException',
      'X-Amz-Security-Token: there are no temporary credentials here',
    );
  }
}

function refused(kind: string, message: string): EngineError {
  return new EngineError('forbidden', message, { details: { kind } });
}

function textOf(value: string | readonly string[] | undefined): string {
  return typeof value === 'string' ? value : '';
}
