import { Sha256 } from '@aws-crypto/sha256-js';
import { HttpRequest } from '@smithy/protocol-http';
import { SignatureV4 } from '@smithy/signature-v4';
import { describe, expect, test } from 'vitest';
import { isEngineError } from '../../../../daemon/base/errors.ts';
import { verifySignature } from '../../../../daemon/cluster/targets/signing/verify.ts';

const AT = new Date('2026-01-01T12:00:00Z');
const KEYS = { accessKeyId: 'BKEXAMPLE', secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY' };

interface Sent {
  method: string;
  target: string;
  headers: Record<string, string>;
  body: Buffer;
}

/** A request as the SDK of AWS signs and sends it. */
async function sign(
  { method = 'GET', path = '/targetgroups', query = {}, body = '', headers = {} },
  keys = KEYS,
  service = 'vpc-lattice',
): Promise<Sent> {
  const signer = new SignatureV4({
    credentials: keys,
    region: 'local',
    service,
    sha256: Sha256,
    uriEscapePath: true,
  });
  const request = new HttpRequest({
    method,
    path,
    query,
    body,
    hostname: '127.0.0.1',
    headers: { host: '127.0.0.1:6450', ...headers },
  });
  const signed = await signer.sign(request, { signingDate: AT });
  const text = Object.entries(query)
    .flatMap(([name, value]) =>
      (Array.isArray(value) ? value : [value]).map((one) => `${name}=${encodeURIComponent(String(one))}`),
    )
    .join('&');
  return {
    method,
    target: text === '' ? path : `${path}?${text}`,
    headers: Object.fromEntries(
      Object.entries(signed.headers).map(([name, value]) => [name.toLowerCase(), value]),
    ),
    body: Buffer.from(body),
  };
}

function verified(sent: Sent, atMs = AT.getTime()): string {
  try {
    return verifySignature(sent, atMs, (key) =>
      key === KEYS.accessKeyId ? KEYS.secretAccessKey : undefined,
    );
  } catch (error) {
    return isEngineError(error) ? String(error.details['kind']) : String(error);
  }
}

describe('what the SDK signs is verified', () => {
  test.each([
    ['a list', {}],
    ['a query', { query: { maxResults: '10', nextToken: 'a/b=c+d e' } }],
    [
      'several values of one name',
      { method: 'DELETE', path: '/tags/tg-1', query: { tagKeys: ['b', 'a', 'ä!*'] } },
    ],
    [
      'an ARN in the path',
      { path: '/tags/arn%3Aberth%3Avpc-lattice%3Alocal%3A000000000000%3Atargetgroup%2Ftg-1' },
    ],
    ['a body', { method: 'POST', body: '{"name":"wéb"}', headers: { 'content-type': 'application/json' } }],
    ['a header with spaces', { headers: { 'x-amz-meta': '  a   b  ' } }],
  ])('%s', async (_what, request) => {
    expect(verified(await sign(request))).toBe('BKEXAMPLE');
  });
});

describe('what was changed, is late or of others is refused', () => {
  test('another method, path, query, body or header', async () => {
    const sent = await sign({ method: 'POST', body: '{"name":"web"}', query: { a: '1' } });
    for (const changed of [
      { ...sent, method: 'PUT' },
      { ...sent, target: '/targetgroups/x?a=1' },
      { ...sent, target: '/targetgroups?a=2' },
      { ...sent, target: '/targetgroups' },
      { ...sent, body: Buffer.from('{"name":"wed"}') },
      { ...sent, headers: { ...sent.headers, host: 'other' } },
    ]) {
      expect(verified(changed)).toBe('InvalidSignatureException');
    }
  });

  test('another secret, another key, another service', async () => {
    expect(verified(await sign({}, { ...KEYS, secretAccessKey: 'wrong' }))).toBe('InvalidSignatureException');
    expect(verified(await sign({}, { ...KEYS, accessKeyId: 'OTHER' }))).toBe('UnrecognizedClientException');
    expect(verified(await sign({}, KEYS, 's3'))).toBe('InvalidSignatureException');
  });

  test('more than five minutes before or after', async () => {
    const sent = await sign({});
    expect(verified(sent, AT.getTime() + 299_000)).toBe('BKEXAMPLE');
    expect(verified(sent, AT.getTime() + 301_000)).toBe('InvalidSignatureException');
    expect(verified(sent, AT.getTime() - 301_000)).toBe('InvalidSignatureException');
  });

  test.each([
    ['no header', { authorization: '' }, 'IncompleteSignatureException'],
    ['another algorithm', { authorization: 'AWS4-HMAC-SHA1 Credential=a' }, 'IncompleteSignatureException'],
    ['no time', { 'x-amz-date': '' }, 'IncompleteSignatureException'],
    ['the time of another day', { 'x-amz-date': '20260102T120000Z' }, 'IncompleteSignatureException'],
    ['a token of temporary credentials', { 'x-amz-security-token': 'x' }, 'UnrecognizedClientException'],
    ['the digest of another body', { 'x-amz-content-sha256': 'x' }, 'InvalidSignatureException'],
  ])('%s', async (_what, headers, kind) => {
    const sent = await sign({});
    expect(verified({ ...sent, headers: { ...sent.headers, ...headers } })).toBe(kind);
  });

  test('a signature that does not cover host or time', async () => {
    const sent = await sign({});
    const authorization = String(sent.headers['authorization']).replace('host;', '');
    expect(verified({ ...sent, headers: { ...sent.headers, authorization } })).toBe(
      'IncompleteSignatureException',
    );
  });
});
