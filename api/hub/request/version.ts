import { EngineError } from '../../../daemon/base/errors.ts';

/** The versions of the hub's interface, oldest first (GitHub: API versions). */
export const HUB_VERSIONS = ['2022-11-28', '2026-03-10'] as const;

export type HubVersion = (typeof HUB_VERSIONS)[number];

/** Served to who names none. */
const DEFAULT: HubVersion = '2022-11-28';

const DATE = /^\d{4}-\d{2}-\d{2}$/;

/**
 * The version that a request asks for by its header. Throws gone (`retired` in the details) for one before the oldest,
 * which was one once for all that clients know, invalid_argument for any other that is not served.
 */
export function readVersion(header: string | undefined): HubVersion {
  if (header === undefined || header.trim() === '') {
    return DEFAULT;
  }
  const asked = header.trim();
  const found = HUB_VERSIONS.find((version) => version === asked);
  if (found !== undefined) {
    return found;
  }
  const [oldest] = HUB_VERSIONS;
  if (DATE.test(asked) && asked < oldest) {
    throw new EngineError('invalid_argument', `The API version ${asked} is no longer supported.`, {
      details: { retired: true },
    });
  }
  throw new EngineError(
    'invalid_argument',
    `${asked} is not a supported version. Supported versions: ${HUB_VERSIONS.join(', ')}.`,
  );
}
