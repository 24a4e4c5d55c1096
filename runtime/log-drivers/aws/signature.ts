import { createHash, createHmac } from 'node:crypto';

export interface AwsCredentials {
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken?: string;
  /** Milliseconds since the epoch; undefined = for ever. */
  expiresAtMs?: number;
}

export interface AwsRequest {
  url: URL;
  /** Names in lower case; all of them are signed. */
  headers: Readonly<Record<string, string>>;
  body: Buffer;
  region: string;
  service: string;
  /** Milliseconds since the epoch. */
  nowMs: number;
}

/** Headers of a POST, signed with AWS Signature Version 4. Pure. */
export function signed(request: AwsRequest, credentials: AwsCredentials): Record<string, string> {
  const time = new Date(request.nowMs).toISOString().replaceAll(/[-:]|\.\d{3}/g, '');
  const day = time.slice(0, 8);
  const headers: Record<string, string> = {
    ...request.headers,
    host: request.url.host,
    'x-amz-date': time,
    ...(credentials.sessionToken && { 'x-amz-security-token': credentials.sessionToken }),
  };
  const names = Object.keys(headers).toSorted();
  const canonical = [
    'POST',
    request.url.pathname,
    '',
    ...names.map((name) => `${name}:${headers[name]?.trim()}`),
    '',
    names.join(';'),
    sha256(request.body),
  ].join('\n');
  const scope = `${day}/${request.region}/${request.service}/aws4_request`;
  const toSign = ['AWS4-HMAC-SHA256', time, scope, sha256(Buffer.from(canonical))].join('\n');
  const key = [day, request.region, request.service, 'aws4_request'].reduce<Buffer>(
    (secret, part) => createHmac('sha256', secret).update(part).digest(),
    Buffer.from(`AWS4${credentials.secretAccessKey}`),
  );
  const signature = createHmac('sha256', key).update(toSign).digest('hex');
  const { host: _host, ...sent } = headers;
  return {
    ...sent,
    authorization:
      `AWS4-HMAC-SHA256 Credential=${credentials.accessKeyId}/${scope}, ` +
      `SignedHeaders=${names.join(';')}, Signature=${signature}`,
  };
}

function sha256(data: Buffer): string {
  return createHash('sha256').update(data).digest('hex');
}
