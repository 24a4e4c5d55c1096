import { deflateRawSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { MadePayload } from '../../../../daemon/hub/deliveries/payloads/made-payload.ts';
import { opened, sealed } from '../../../../daemon/hub/deliveries/seal.ts';

const DELIVERY = {
  attempt: 'a.0',
  guid: 'f00d',
  hook: 1,
  repository: 7,
  event: 'push',
  action: null,
  isRedelivery: false,
  deliveredMs: 1,
  durationMs: 2,
  outcome: { status: 'OK', code: 200, hookStatus: 'active' as const },
  url: 'https://x.test/ä',
  request: { headers: { 'X-A': 'b' }, payload: '{"text":"ä"}' },
  response: { headers: {}, payload: 'ok' },
};

test('a delivery is kept whole, its payload packed with it or before', () => {
  const { attempt: _attempt, ...whole } = DELIVERY;
  const { packed } = new MadePayload(DELIVERY.request.payload);
  for (const kept of [sealed(DELIVERY), sealed(DELIVERY, packed)]) {
    expect(opened(3, kept)).toEqual({ ...whole, id: 3 });
  }
});

test('what an older daemon has kept is read', () => {
  const { url, request, response, attempt: _attempt, ...summary } = DELIVERY;
  const body = deflateRawSync(JSON.stringify({ url, request, response }), { level: 1 });
  expect(opened(3, { summary: JSON.stringify(summary), body })).toEqual({
    ...summary,
    url,
    request,
    response,
    id: 3,
  });
});
