import { invalidArgument } from '../../../daemon/base/errors.ts';

/** `backup.json`: written last, so a backup that has one is whole. */
export const MANIFEST_FILE = 'backup.json';

export interface Manifest {
  format: typeof FORMAT;
  /** ISO 8601, UTC. */
  made: string;
  /** Versions of the engine and of etcd that made it, and the host's name: for people. */
  engine: string;
  etcd: string;
  hostname: string;
  node: string;
  cluster: string;
  files: BackedUpFile[];
}

export interface BackedUpFile {
  /** Below the backup's directory, as below that of the swarm. */
  name: string;
  bytes: number;
  /** Hexadecimal. */
  sha256: string;
}

export const FORMAT = 1;

/** Nothing else is put into a data root, whatever a manifest says. */
const NAME = /^(?:node\.json|node\.pem|ca\.pem|etcd\/member\/(?:snap|wal)\/[\w-][\w.-]*)$/;
const NEEDED = ['node.json', 'node.pem', 'ca.pem', 'etcd/member/snap/db'];
const SHA256 = /^[0-9a-f]{64}$/;
const LOG = 'etcd/member/wal/';

/** Throws invalid_argument that says what is wrong with it. */
export function parseManifest(text: string): Manifest {
  const value = parseJson(text);
  if (!isRecord(value) || !('format' in value)) {
    throw bad('it is not the one of a backup');
  }
  if (value['format'] !== FORMAT) {
    throw bad(`its format is ${JSON.stringify(value['format'])}, this berthd reads ${FORMAT}`);
  }
  const texts = ['made', 'engine', 'etcd', 'hostname', 'node', 'cluster'] as const;
  for (const key of texts) {
    if (typeof value[key] !== 'string') {
      throw bad(`it has no ${key}`);
    }
  }
  const files: unknown = value['files'];
  if (!Array.isArray(files) || !files.every(isFile)) {
    throw bad('its list of files cannot be read');
  }
  const names = new Set(files.map(({ name }) => name));
  const odd = files.find(({ name }) => !NAME.test(name));
  if (odd !== undefined || names.size !== files.length) {
    throw bad(
      odd === undefined ? 'it names a file twice' : `${JSON.stringify(odd.name)} is no file of a backup`,
    );
  }
  const lacking = NEEDED.find((name) => !names.has(name));
  if (lacking !== undefined || !files.some(({ name }) => name.startsWith(LOG))) {
    throw bad(`it lacks ${lacking ?? `the files of ${LOG}`}`);
  }
  // All of it was looked at above.
  return value as unknown as Manifest;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw invalidArgument(`${MANIFEST_FILE} cannot be used: it is not JSON`, { cause: error });
  }
}

function isFile(value: unknown): value is BackedUpFile {
  return (
    isRecord(value) &&
    typeof value['name'] === 'string' &&
    Number.isSafeInteger(value['bytes']) &&
    typeof value['sha256'] === 'string' &&
    SHA256.test(value['sha256'])
  );
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

function bad(why: string): Error {
  return invalidArgument(`${MANIFEST_FILE} cannot be used: ${why}`);
}
