import { invalidArgument } from '../../daemon/base/errors.ts';

/** The minor number of API 1.x: 55 is 1.55. Numbers of versions are compared only below `api/versions`. */
export type ApiVersion = number;

/** The version of the contract (API 1.24, 2016). */
export const OLDEST: ApiVersion = 24;
/** Clients that know no other (skopeo 1.9 of Debian 12 asks for 1.22) are served as if they asked for OLDEST. */
const OLDEST_TAKEN: ApiVersion = 22;
/** The shapes inside the engine. A decision, not "latest": that of docker CLI 29. */
export const NEWEST: ApiVersion = 55;

export function formatVersion(version: ApiVersion): string {
  return `1.${version}`;
}

/**
 * Splits the version off a path: `/v1.30/info` is 30 and `/info`; without one it is the newest, 1.22 and 1.23 are 24.
 * Throws invalid_argument in the words that clients print for a version that is not served.
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
  if (major < 1 || minor < OLDEST_TAKEN) {
    throw invalidArgument(
      `client version ${asked} is too old. Minimum supported API version is ${formatVersion(OLDEST)}, ` +
        `please upgrade your client to a newer version`,
    );
  }
  return { version: Math.max(minor, OLDEST), path: rest };
}

/**
 * True unless the operation left with `until` (first version without it) or before. When it came plays no role: dockerd
 * serves an operation under older versions too, and clients that pin an old one use it.
 */
export function isServedAt({ until }: { until?: ApiVersion }, version: ApiVersion): boolean {
  return until === undefined || version < until;
}
