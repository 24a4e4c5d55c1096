import { readFileSync, statSync } from 'node:fs';
import { createSecureContext, rootCertificates, type SecureContext } from 'node:tls';

/** Where distributions keep the authorities that their administrator trusts (update-ca-certificates(8)). */
const BUNDLES = ['/etc/ssl/certs/ca-certificates.crt', '/etc/pki/tls/certs/ca-bundle.crt'];

interface Authorities {
  /** Files, with their sizes and times. */
  stamp: string;
  pem: (string | Buffer)[];
  context: SecureContext;
}

let known: Authorities | undefined;

/**
 * PEM of all authorities that may vouch for a server: Node's own list, the host's, and those of `SSL_CERT_FILE` (in
 * place of the host's, as for dockerd and other programs in Go) and `NODE_EXTRA_CA_CERTS`. Read again when a file has
 * changed.
 */
export function authorities(): readonly (string | Buffer)[] {
  return current().pem;
}

/** The same, ready for connections: to read some hundred certificates takes the event loop tens of milliseconds. */
export function authoritiesContext(): SecureContext {
  return current().context;
}

function current(): Authorities {
  const files = [process.env['SSL_CERT_FILE'] || firstThere(BUNDLES), process.env['NODE_EXTRA_CA_CERTS']]
    .filter((file) => file !== undefined && file !== '')
    .flatMap((file) => statusOf(file!) ?? []);
  const stamp = files.map(({ file, size, mtimeMs }) => `${file} ${size} ${mtimeMs}`).join('\n');
  if (known?.stamp !== stamp) {
    const pem = [...rootCertificates, ...files.map(({ file }) => readFileSync(file))];
    known = { stamp, pem, context: createSecureContext({ ca: pem }) };
  }
  return known;
}

function firstThere(files: readonly string[]): string | undefined {
  return files.find((file) => statusOf(file) !== undefined);
}

function statusOf(file: string): { file: string; size: number; mtimeMs: number } | undefined {
  const status = statSync(file, { throwIfNoEntry: false });
  return status && { file, size: status.size, mtimeMs: status.mtimeMs };
}
