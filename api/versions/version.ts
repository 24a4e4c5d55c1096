import { invalidArgument } from '../../daemon/base/errors.ts';

/** The minor number of API 1.x: 44 is 1.44. Numbers of versions are compared only below `api/versions`. */
export type ApiVersion = number;

/** The user's document. Clients of 2016 speak it. */
export const OLDEST: ApiVersion = 24;
/** The shapes inside the engine. A decision, not "latest": what docker CLI 29, compose 5 and testcontainers need. */
export const NEWEST: ApiVersion = 44;

export function formatVersion(version: ApiVersion): string {
  return `1.${version}`;
}

/**
 * Splits the version off a path: `/v1.30/info` is 30 and `/info`; without one it is the newest. Throws
 * invalid_argument in the words that clients print for a version that is not served.
 */
export function splitVersion(path: string): { version: ApiVersion; path: string } {
  if (path.charCodeAt(1) !== 118 /* v */) {
    return { version: NEWEST, path };
  }
  const match = /^\/v([0-9.]+)(\/.*)$/.exec(path);
  if (!match) {
    return { version: NEWEST, path };
  }
  const [, asked = '', rest = '/'] = match;
  // dockerd takes `v1` and `v1.24.1` too, and compares them part by part.
  const [major = 0, minor = 0] = asked.split('.').map(Number);
  if (major > 1 || (major === 1 && minor > NEWEST)) {
    throw invalidArgument(
      `client version ${asked} is too new. Maximum supported API version is ${formatVersion(NEWEST)}`,
    );
  }
  if (major < 1 || minor < OLDEST) {
    throw invalidArgument(
      `client version ${asked} is too old. Minimum supported API version is ${formatVersion(OLDEST)}, ` +
        `please upgrade your client to a newer version`,
    );
  }
  return { version: minor, path: rest };
}

/** True where something that came with `since` and left with `until` (first version without it) is there. */
export function isServedAt(span: { since: ApiVersion; until?: ApiVersion }, version: ApiVersion): boolean {
  return version >= span.since && (span.until === undefined || version < span.until);
}
