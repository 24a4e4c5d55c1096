import { errorText, invalidArgument } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { CORE } from './scan-vertex.ts';
import type { Attestation, Subject } from '../../../storage/image-archives/statement.ts';

/** What is in packages, as https://spdx.dev has it. */
export const SPDX = 'https://spdx.dev/Document';

/** Files that a scanner has written. */
export interface BundleFiles {
  names(): Promise<readonly string[]>;
  read(name: string, bytesMax: number): Promise<Buffer>;
}

/** The statements of a scanner, that about the result itself first. Throws invalid_argument that names the file. */
export async function readBundle(files: BundleFiles): Promise<Attestation[]> {
  const names = await files.names();
  if (names.length > limits.attestationsMax) {
    throw invalidArgument(`a scanner wrote ${names.length} files: more than ${limits.attestationsMax}`);
  }
  const found: Attestation[] = [];
  for (const name of names) {
    found.push(readStatement(name, await files.read(name, limits.attestationBytesMax)));
  }
  return [...found.filter((each) => isCore(each)), ...found.filter((each) => !isCore(each))];
}

function isCore({ fileName }: Attestation): boolean {
  return fileName.split('.')[0] === CORE;
}

function readStatement(fileName: string, bytes: Buffer): Attestation {
  let content: unknown;
  try {
    content = JSON.parse(bytes.toString('utf8'));
  } catch (error) {
    throw invalidArgument(`cannot decode in-toto statement ${fileName}: ${errorText(error)}`, {
      cause: error,
    });
  }
  const { predicateType, predicate, subject } = Object(content) as Record<string, unknown>; // Of a scanner: anything.
  if (predicateType !== SPDX) {
    throw invalidArgument(
      `bundle entry ${fileName}: ${String(predicateType)} does not match required predicate type ${SPDX}`,
    );
  }
  const subjects = Array.isArray(subject) ? subject.map((each) => subjectOf(fileName, each)) : [];
  return {
    predicateType,
    predicate: Buffer.from(JSON.stringify(predicate ?? null)),
    ...(subjects.length > 0 && { subjects }),
    fileName,
    isInlineOnly: false,
  };
}

function subjectOf(fileName: string, content: unknown): Subject {
  const { name, digest } = Object(content) as { name?: unknown; digest?: unknown }; // Of a scanner: anything.
  const digests = Object.entries(Object(digest));
  if (typeof name !== 'string' || digests.some(([, hex]) => typeof hex !== 'string')) {
    throw invalidArgument(`in-toto statement ${fileName}: subject must have a name and digests`);
  }
  return { name, digest: Object.fromEntries(digests.map(([algorithm, hex]) => [algorithm, String(hex)])) };
}
