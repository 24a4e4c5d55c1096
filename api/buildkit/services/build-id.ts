import { invalidArgument } from '../../../daemon/base/errors.ts';
import type { Metadata } from '../rpc/metadata.ts';

const BUILD_ID = 'buildkit-controlapi-buildid';

/** Which build a call of a frontend is about. Throws invalid_argument. */
export function buildOf(metadata: Metadata): string {
  const id = metadata.get(BUILD_ID)?.[0];
  if (id === undefined) {
    throw invalidArgument(`no build is named (metadata ${BUILD_ID})`);
  }
  return id;
}
