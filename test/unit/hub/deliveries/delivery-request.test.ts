import { Webhooks } from '@octokit/webhooks';
import { expect, test } from 'vitest';
import { MadePayload, signatures } from '../../../../daemon/hub/deliveries/payloads/made-payload.ts';
import { deliveryRequest } from '../../../../daemon/hub/deliveries/request.ts';
import type { Hook } from '../../../../daemon/hub/hooks/hook.ts';

const INTENT = { guid: 'f00d', event: 'push', news: { kind: 'again', delivery: 1 } } as const;
const FACTS = { version: '0.1.0', hasCompatHeaders: true };

function hook(config: Partial<Hook['config']>): Hook {
  return {
    id: 5,
    repository: 7,
    isActive: true,
    events: ['push'],
    config: { url: 'https://x.test', contentType: 'json', secret: null, insecureSsl: '0', ...config },
    createdMs: 0,
    updatedMs: 0,
  };
}

test('signatures are those of the published example', () => {
  expect(signatures("It's a Secret to Everybody", Buffer.from('Hello, World!'))['X-Hub-Signature-256']).toBe(
    'sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17',
  );
});

test.each(['json', 'form'] as const)('octokit verifies the bytes of a body of %s', async (contentType) => {
  const { headers, body } = deliveryRequest(
    INTENT,
    hook({ contentType, secret: 'wörd' }),
    new MadePayload('{"a":"ä & b=c+ü"}'),
    FACTS,
  );
  const signature = headers['X-Hub-Signature-256'] ?? '';
  expect(await new Webhooks({ secret: 'wörd' }).verify(body.toString('utf8'), signature)).toBe(true);
  const sent =
    contentType === 'json' ? body.toString('utf8') : new URLSearchParams(body.toString()).get('payload');
  expect(sent).toBe('{"a":"ä & b=c+ü"}');
});

test('without a secret nothing is signed; without compatibility there are no names of GitHub', () => {
  const { headers } = deliveryRequest(INTENT, hook({}), new MadePayload('{}'), {
    ...FACTS,
    hasCompatHeaders: false,
  });
  expect(headers).toEqual({
    Accept: '*/*',
    'User-Agent': 'Berth-Hookshot/0.1.0',
    'content-type': 'application/json',
    'X-Svc-Delivery': 'f00d',
    'X-Svc-Event': 'push',
    'X-Svc-Hook-ID': '5',
    'X-Svc-Hook-Installation-Target-ID': '7',
    'X-Svc-Hook-Installation-Target-Type': 'repository',
  });
});
