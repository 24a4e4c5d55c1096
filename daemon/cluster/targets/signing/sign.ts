import { createHmac } from 'node:crypto';
import type { SignedParts } from '../../../../api/types/cluster/targets.ts';
import { canonicalRequest, sha256Hex } from './canonical-request.ts';

export const ALGORITHM = 'AWS4-HMAC-SHA256';
export const SIGNED_SERVICE = 'vpc-lattice';

/** Day, region and service that a signature is for. */
export interface Scope {
  /** `YYYYMMDD`. */
  day: string;
  region: string;
  service: string;
}

/** The signature of a canonical request. `stamp`: `YYYYMMDDTHHMMSSZ`. Pure. */
export function signatureOf(
  secret: string,
  { day, region, service }: Scope,
  stamp: string,
  canonical: string,
): Buffer {
  const scope = `${day}/${region}/${service}/aws4_request`;
  const key = [day, region, service, 'aws4_request'].reduce(
    (last: Buffer | string, part) => createHmac('sha256', last).update(part).digest(),
    `AWS4${secret}`,
  );
  return createHmac('sha256', key)
    .update([ALGORITHM, stamp, scope, sha256Hex(canonical)].join('\n'))
    .digest();
}

/** Headers of a request with those that sign it. All of them are signed. */
export function signRequest(
  parts: Omit<SignedParts, 'headers'> & { headers: Readonly<Record<string, string>> },
  keys: { accessKeyId: string; secretAccessKey: string },
  { region, nowMs }: { region: string; nowMs: number },
): Record<string, string> {
  const stamp = new Date(nowMs).toISOString().replaceAll(/[-:]|\.\d+/g, '');
  const headers = { ...parts.headers, 'x-amz-date': stamp, 'x-amz-content-sha256': sha256Hex(parts.body) };
  const names = Object.keys(headers).toSorted((a, b) => (a < b ? -1 : 1));
  const scope = { day: stamp.slice(0, 8), region, service: SIGNED_SERVICE };
  const canonical = canonicalRequest({ ...parts, headers }, names);
  const signature = signatureOf(keys.secretAccessKey, scope, stamp, canonical).toString('hex');
  const credential = `${keys.accessKeyId}/${scope.day}/${region}/${SIGNED_SERVICE}/aws4_request`;
  return {
    ...headers,
    authorization: `${ALGORITHM} Credential=${credential}, SignedHeaders=${names.join(';')}, Signature=${signature}`,
  };
}
