import { throttling } from '@octokit/plugin-throttling';
import { Octokit } from '@octokit/rest';
import { Webhooks } from '@octokit/webhooks';
import { expect, test } from 'vitest';
import { limits } from '../../../daemon/base/limits.ts';
import { servedHub } from '../../support/hub/served-hub.ts';
import { manifest, pushed } from '../../support/hub/occurrences.ts';
import { BASE_URL } from '../../support/hub/open-hub.ts';
import { receiver } from '../../support/hub/receiver.ts';

const REPO = { owner: 'alice', repo: 'open' } as const;

/** Links lead to where the hub would be found outside of this test. */
function fetchAt(url: string) {
  return (address: string, options: RequestInit) => fetch(address.replace(BASE_URL, url), options);
}

/** GitHub's own libraries against the webhooks of the hub, over TCP. */
async function hubForClients(rules: Parameters<typeof servedHub>[0] = {}) {
  const hub = await servedHub(rules);
  const token = await hub.token('alice', 'repo');
  return {
    ...hub,
    octokit: new Octokit({ baseUrl: hub.url, auth: token, request: { fetch: fetchAt(hub.url) } }),
    apiToken: token,
  };
}

test('@octokit/rest: hooks in pages, their configuration, and the words of what is refused', async () => {
  await using hub = await hubForClients();
  const { octokit } = hub;
  for (let count = 0; count < 12; count += 1) {
    await octokit.repos.createWebhook({
      ...REPO,
      config: { url: `https://example.com/${count}`, content_type: 'json' },
    });
  }
  const all = await octokit.paginate(octokit.repos.listWebhooks, { ...REPO, per_page: 5 });
  expect(all.map(({ id }) => id)).toEqual(Array.from({ length: 12 }, (_, index) => index + 1));
  await expect(
    octokit.repos.createWebhook({ ...REPO, config: { url: 'https://example.com/3', content_type: 'json' } }),
  ).rejects.toMatchObject({
    status: 422,
    message: expect.stringContaining('Hook already exists on this repository'),
  });
  const edited = await octokit.repos.updateWebhookConfigForRepo({ ...REPO, hook_id: 4, secret: 'word' });
  expect(edited.data).toMatchObject({ secret: '********' });
  expect((await octokit.repos.updateWebhook({ ...REPO, hook_id: 4, active: false })).data.active).toBe(false);
  expect((await octokit.repos.deleteWebhook({ ...REPO, hook_id: 4 })).status).toBe(204);
  await expect(octokit.repos.getWebhook({ ...REPO, hook_id: 4 })).rejects.toMatchObject({ status: 404 });
  expect((await octokit.rateLimit.get()).data.resources.core.limit).toBe(5000);
});

test('@octokit/webhooks: verifies what is delivered; @octokit/rest: lists and sends it again', async () => {
  await using hub = await hubForClients();
  await using target = await receiver();
  const { octokit } = hub;
  const webhooks = new Webhooks({ secret: 'a word' });
  const heard: string[] = [];
  webhooks.onAny(({ name, id }) => void heard.push(`${name} ${id}`));
  const { id } = hub.root.repositories.get('alice', 'open');
  const made = await octokit.repos.createWebhook({
    ...REPO,
    config: { url: target.url, content_type: 'json', secret: 'a word' },
  });
  const hook = { ...REPO, hook_id: made.data.id };
  const repository = {
    ...pushed().repository,
    id,
    owner: { kind: 'user', name: 'alice', id: 1 },
    name: 'open',
  } as const;
  await hub.records.update([
    { kind: 'put', key: `last-push/${id}`, value: pushed(null, manifest('a'), repository) },
  ]);
  await octokit.repos.testPushWebhook(hook);
  await expect.poll(() => target.received.length).toBe(2);
  for (const { headers, body } of target.received) {
    await webhooks.verifyAndReceive({
      id: String(headers['x-github-delivery']),
      name: String(headers['x-github-event']),
      signature: String(headers['x-hub-signature-256']),
      payload: body,
    });
  }
  expect(heard.map((each) => each.split(' ')[0])).toEqual(['ping', 'push']);
  await expect
    .poll(async () => {
      await hub.clock.advance(limits.hubDeliveriesKeptMs);
      return (await octokit.repos.listWebhookDeliveries(hook)).data.length;
    })
    .toBe(2);
  const [push] = (await octokit.repos.listWebhookDeliveries({ ...hook, per_page: 1 })).data;
  expect(push).toMatchObject({ event: 'push', status: 'OK', guid: heard[1]?.split(' ')[1] });
  await octokit.repos.redeliverWebhookDelivery({ ...hook, delivery_id: push?.id ?? 0 });
  await expect.poll(() => target.received.length).toBe(3);
  expect(target.received[2]?.headers['x-github-delivery']).toBe(push?.guid);
});

test('@octokit/plugin-throttling: is told of the hour and of the moment', async () => {
  await using hub = await hubForClients({ userPerHour: 2 });
  const told: string[] = [];
  const Throttled = Octokit.plugin(throttling);
  const octokit = new Throttled({
    baseUrl: hub.url,
    auth: hub.apiToken,
    throttle: {
      onRateLimit: () => void told.push('primary'),
      onSecondaryRateLimit: () => void told.push('secondary'),
    },
  });
  await octokit.repos.listWebhooks(REPO);
  await octokit.repos.listWebhooks(REPO);
  await expect(octokit.repos.listWebhooks(REPO)).rejects.toMatchObject({ status: 403 });
  expect(told).toEqual(['primary']);
});
