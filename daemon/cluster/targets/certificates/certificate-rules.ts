import { createPrivateKey, X509Certificate, type KeyObject } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import { errorText } from '../../../base/errors.ts';
import { Fields } from '../input/fields.ts';
import { targetLimits } from '../limits.ts';
import type { Certificate } from './certificate.ts';

/** A certificate with its key as a request brings them. */
export interface ImportedCertificate extends Omit<Certificate, 'id' | 'importedMs' | 'updatedMs'> {
  /** Of the one that it takes the place of; undefined = it is a new one. */
  arn: string | undefined;
}

const BLOCK = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** Reads the body of an import. Throws InvalidFieldsError, which never has anything of the key in it. */
export function readCertificate(body: unknown, nowMs: number): ImportedCertificate | undefined {
  const fields = new Fields(body, 'Certificate');
  fields.only('certificate', 'certificateChain', 'privateKey', 'certificateArn');
  const arn = fields.text('certificateArn', { max: 2048, must: 'must be the ARN of a certificate' });
  const [own, ...others] = blocksOf(fields, 'certificate', 'is required');
  const chain = [...others, ...blocksOf(fields, 'certificateChain')];
  const key = keyOf(fields);
  if (own !== undefined && key !== undefined) {
    check(fields, own, key, nowMs);
  }
  fields.refuse();
  if (own === undefined || key === undefined) {
    return undefined;
  }
  return {
    arn,
    certificate: [own, ...chain].map((one) => one.toString()).join(''),
    key: key.export({ type: 'pkcs8', format: 'pem' }).toString(),
    names: own.subjectAltName ?? '',
    subject: own.subject.replaceAll('\n', ', '),
    issuer: own.issuer.replaceAll('\n', ', '),
    notBeforeMs: Date.parse(own.validFrom),
    notAfterMs: Date.parse(own.validTo),
  };
}

/** The certificates that stand in a field one after another. */
function blocksOf(fields: Fields, name: string, ifAbsent?: string): X509Certificate[] {
  const text = fields.value(name);
  if (!fields.has(name)) {
    if (ifAbsent !== undefined) {
      fields.wrong(name, ifAbsent);
    }
    return [];
  }
  const blocks = typeof text === 'string' && text.length <= targetLimits.certificateCharactersMax;
  const found = blocks ? (text.match(BLOCK) ?? []) : [];
  try {
    if (found.length > 0) {
      return found.map((block) => new X509Certificate(block));
    }
    fields.wrong(name, MUST_BE_PEM);
  } catch (error) {
    fields.wrong(name, `${MUST_BE_PEM}: ${errorText(error)}`);
  }
  return [];
}

const MUST_BE_PEM = `must be certificates as PEM, of at most ${targetLimits.certificateCharactersMax} characters`;

function keyOf(fields: Fields): KeyObject | undefined {
  const text = fields.value('privateKey');
  if (!fields.has('privateKey')) {
    return fields.wrong('privateKey', 'is required');
  }
  try {
    if (typeof text === 'string' && text.length <= targetLimits.certificateCharactersMax) {
      return createPrivateKey(text);
    }
  } catch {
    // What is wrong with it is said below; the error itself may have some of the key in it.
  }
  return fields.wrong('privateKey', 'must be a private key as PEM, without a passphrase');
}

function check(fields: Fields, certificate: X509Certificate, key: KeyObject, nowMs: number): void {
  if (!certificate.checkPrivateKey(key)) {
    fields.wrong('privateKey', 'must be the key of the certificate');
    return;
  }
  if (Date.parse(certificate.validTo) <= nowMs) {
    fields.wrong('certificate', `must be valid now; it has ended on ${certificate.validTo}`);
    return;
  }
  try {
    createSecureContext({
      cert: certificate.toString(),
      key: key.export({ type: 'pkcs8', format: 'pem' }),
      minVersion: 'TLSv1.2',
    });
  } catch (error) {
    fields.wrong('certificate', `cannot be shown by TLS: ${errorText(error)}`);
  }
}
