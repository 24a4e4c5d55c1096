import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A certificate for `localhost` and 127.0.0.1 that vouches for itself, as PEM texts. */
export function selfSigned(name = 'berth'): { certificate: string; key: string } {
  const directory = mkdtempSync(join(tmpdir(), 'berth-test-certificate-'));
  try {
    const [cert, key] = [join(directory, 'cert.pem'), join(directory, 'key.pem')];
    const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
    const names = ['-subj', `/CN=${name}`, '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1'];
    execFileSync(
      'openssl',
      ['req', '-x509', '-days', '2', ...curve, ...names, '-keyout', key, '-out', cert],
      {
        stdio: 'ignore',
      },
    );
    return { certificate: readFileSync(cert, 'utf8'), key: readFileSync(key, 'utf8') };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
