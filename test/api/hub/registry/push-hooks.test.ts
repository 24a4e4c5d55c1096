import { Webhooks } from '@octokit/webhooks';
import { expect, test } from 'vitest';
import { receiver } from '../../../support/hub/receiver.ts';
import { serveRegistry } from '../../../support/hub/serve-registry.ts';

test('a push into the registry is told to a hook, signed, in the order of its events', async () => {
  await using served = await serveRegistry();
  await using target = await receiver();
  await served.hub.root.hooks.create('alice', 'open', {
    config: { url: target.url, content_type: 'json', secret: 'a word' },
    events: ['*'],
  });
  const alice = await served.as('alice');
  await alice.pushImage('alice/open', 'v1');
  await expect.poll(() => target.received.length).toBe(5);
  const webhooks = new Webhooks({ secret: 'a word' });
  const verified = await Promise.all(
    target.received.map(({ body, headers }) => webhooks.verify(body, String(headers['x-hub-signature-256']))),
  );
  expect(verified).toEqual([true, true, true, true, true]);
  expect(target.received.map(({ headers }) => headers['x-svc-event'])).toEqual([
    'ping',
    'push',
    'create',
    'registry_package',
    'package',
  ]);
});
