import { expect, test } from 'vitest';
import { trailersOf, UNKNOWN } from '../../../../api/buildkit/rpc/status.ts';
import { limits } from '../../../../daemon/base/limits.ts';

const detail = (bytes: number): { typeUrl: string; value: Buffer } => ({
  typeUrl: 'of',
  value: Buffer.alloc(bytes, 'x'),
});

function sent(message: string, ...bytes: number[]): Record<string, string> {
  return trailersOf({ code: UNKNOWN, message, details: bytes.map(detail) });
}

test('trailers: of an error too large for a block of headers the largest details are left out', () => {
  expect(sent('why', 5_000_000, 10, 20)).toEqual(sent('why', 10, 20));
  expect(sent('why', 3_000_000, 1_000_000)).toEqual(sent('why', 1_000_000));
  expect(sent('why', 5_000_000, 5_000_000)).toEqual(sent('why'));
});

test('trailers: a message too large for them has no end', () => {
  const trailers = sent('€'.repeat(2_000_000), 10);
  expect(Object.values(trailers).join('').length).toBeLessThan(limits.rpcTrailerBytesMax);
  expect(trailers['grpc-message']).toMatch(/%E2%82%AC\.\.\.$/);
});
