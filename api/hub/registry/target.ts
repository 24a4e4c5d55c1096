/** What a path below `/v2/` leads to (OCI distribution 1.1, "Endpoints"). Names are not checked yet. */
export type RegistryTarget =
  | { kind: 'base' }
  | { kind: 'catalogue' }
  | { kind: 'tags'; name: string }
  | { kind: 'manifest'; name: string; reference: string }
  | { kind: 'referrers'; name: string; digest: string }
  | { kind: 'uploads'; name: string }
  | { kind: 'upload'; name: string; id: string }
  | { kind: 'blob'; name: string; digest: string };

const PATTERNS: readonly (readonly [RegExp, (name: string, last: string) => RegistryTarget])[] = [
  [/^\/v2\/?$/, () => ({ kind: 'base' })],
  [/^\/v2\/_catalog$/, () => ({ kind: 'catalogue' })],
  [/^\/v2\/(.+)\/tags\/list$/, (name) => ({ kind: 'tags', name })],
  [/^\/v2\/(.+)\/manifests\/([^/]+)$/, (name, reference) => ({ kind: 'manifest', name, reference })],
  [/^\/v2\/(.+)\/referrers\/([^/]+)$/, (name, digest) => ({ kind: 'referrers', name, digest })],
  [/^\/v2\/(.+)\/blobs\/uploads\/?$/, (name) => ({ kind: 'uploads', name })],
  [/^\/v2\/(.+)\/blobs\/uploads\/([^/]+)$/, (name, id) => ({ kind: 'upload', name, id })],
  [/^\/v2\/(.+)\/blobs\/([^/]+)$/, (name, digest) => ({ kind: 'blob', name, digest })],
];

/** Undefined = no path of a registry. */
export function readTarget(path: string): RegistryTarget | undefined {
  for (const [pattern, make] of PATTERNS) {
    const match = pattern.exec(path);
    if (match !== null) {
      const [name, last] = [decoded(match[1] ?? ''), decoded(match[2] ?? '')];
      return name === undefined || last === undefined ? undefined : make(name, last);
    }
  }
  return undefined;
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    // Broken escapes lead nowhere.
    return undefined;
  }
}
