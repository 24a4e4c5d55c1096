import { limits } from '../../../base/limits.ts';
import { refusal } from '../refusal.ts';

/** A name of the registry: `alice/app`. */
export interface RegistryName {
  owner: string;
  repository: string;
}

/** A part of a name (OCI distribution 1.1, "Pulling manifests"). */
const PART = '[a-z0-9]+(?:(?:\\.|_|__|-+)[a-z0-9]+)*';
const NAME = new RegExp(`^(${PART})/(${PART})$`);
const TAG = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$/;
const DIGEST = /^sha256:[0-9a-f]{64}$/;
/** Of any algorithm: to tell a digest that is not served from a tag. */
const ANY_DIGEST = /^[A-Za-z0-9]+(?:[.+_-][A-Za-z0-9]+)*:/;

/** Throws NAME_INVALID. */
export function readName(name: string): RegistryName {
  const [, owner = '', repository = ''] =
    name.length <= limits.hubRegistryNameMax ? (NAME.exec(name) ?? []) : [];
  if (owner === '') {
    throw refusal(
      'NAME_INVALID',
      'invalid repository name: repositories of this hub are OWNER/REPOSITORY in lower case',
      {
        detail: { name: name.slice(0, limits.hubRegistryNameMax) },
      },
    );
  }
  return { owner, repository };
}

/** A digest that this registry keeps content by. Throws DIGEST_INVALID. */
export function readDigest(text: string): string {
  if (!DIGEST.test(text)) {
    throw refusal(
      'DIGEST_INVALID',
      'provided digest is not sha256: and 64 hexadecimal digits in lower case',
      {
        detail: { digest: text.slice(0, limits.hubRegistryNameMax) },
      },
    );
  }
  return text;
}

export function isDigest(value: unknown): value is string {
  return typeof value === 'string' && DIGEST.test(value);
}

export type Reference = { kind: 'digest'; digest: string } | { kind: 'tag'; tag: string };

/** What names a manifest. Throws DIGEST_INVALID, TAG_INVALID. */
export function readReference(text: string): Reference {
  if (ANY_DIGEST.test(text)) {
    return { kind: 'digest', digest: readDigest(text) };
  }
  if (!TAG.test(text)) {
    throw refusal('TAG_INVALID', 'manifest tag did not match [A-Za-z0-9_][A-Za-z0-9._-]{0,127}', {
      detail: { tag: text.slice(0, limits.hubRegistryNameMax) },
    });
  }
  return { kind: 'tag', tag: text };
}
