/** Blocks of PEM (RFC 7468): a label and bytes. */
export interface PemBlock {
  label: string;
  bytes: Buffer;
}

const BLOCK = /-----BEGIN ([A-Z0-9 ]+)-----\s([A-Za-z0-9+/=\s]*)-----END \1-----/g;
const LINE_LENGTH = 64;

/** All blocks of a text, in their order; what stands between them is passed over. */
export function readPem(text: string): PemBlock[] {
  return [...text.matchAll(BLOCK)].map(([, label = '', body = '']) => ({
    label,
    bytes: Buffer.from(body, 'base64'),
  }));
}

export function writePem(label: string, bytes: Uint8Array): string {
  const body = Buffer.from(bytes)
    .toString('base64')
    .replaceAll(new RegExp(`.{1,${LINE_LENGTH}}`, 'g'), '$&\n');
  return `-----BEGIN ${label}-----\n${body}-----END ${label}-----\n`;
}

/** Certificates of a bundle in the one spelling whose digest stands in join tokens. */
export function normalisedCertificates(text: string): string {
  return readPem(text)
    .filter(({ label }) => label === 'CERTIFICATE')
    .map(({ label, bytes }) => writePem(label, bytes))
    .join('');
}
