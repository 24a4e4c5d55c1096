import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ifThere, invalidArgument } from '../../daemon/base/errors.ts';

/** TLS material for one registry, PEM. */
export interface RegistryCertificates {
  /** Authorities trusted besides the system's own. */
  ca: Buffer[];
  /** The client certificate, for a registry that asks for one. */
  cert?: Buffer;
  key?: Buffer;
}

/**
 * Reads `<root>/<host[:port]>/*.crt`, `*.cert` and `*.key` of the first of `roots` that has the directory, as dockerd
 * does with /etc/docker/certs.d. Throws invalid_argument for a key without certificate and the other way round.
 */
export function registryCertificates(roots: readonly string[], domain: string): RegistryCertificates {
  for (const root of roots) {
    const directory = join(root, domain);
    const names = namesIn(directory);
    if (names !== undefined) {
      return readAll(directory, names);
    }
  }
  return { ca: [] };
}

function readAll(directory: string, names: readonly string[]): RegistryCertificates {
  const read = (name: string): Buffer => readFileSync(join(directory, name));
  const ca = names.filter((name) => name.endsWith('.crt')).map(read);
  const cert = names.find((name) => name.endsWith('.cert'));
  const key = names.find((name) => name.endsWith('.key'));
  if (cert === undefined && key === undefined) {
    return { ca };
  }
  if (cert === undefined) {
    throw invalidArgument(`missing client certificate for key ${key} in ${directory}`);
  }
  if (key === undefined) {
    throw invalidArgument(`missing key for client certificate ${cert} in ${directory}`);
  }
  return { ca, cert: read(cert), key: read(key) };
}

function namesIn(directory: string): string[] | undefined {
  return ifThere(() => readdirSync(directory).toSorted(), ['ENOENT', 'ENOTDIR']);
}
