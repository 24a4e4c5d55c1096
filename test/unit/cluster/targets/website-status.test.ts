import { expect, test } from 'vitest';
import { websiteStatus } from '../../../../daemon/cluster/targets/health/website-status.ts';
import { withWebsiteStatus } from '../../../../daemon/hub/notes/schema/website-status.ts';
import { openTargets, startTarget } from '../../../support/cluster/open-targets.ts';
import { until } from '../../../support/engine/http.ts';

const META = { 'website-meta': { category: 'shop', status: null }, website: 'https://shop.example' };

const up = (): 'up' => 'up';

test('a note shows whether its website is up, from checks of the group with its tag', async () => {
  await using target = await startTarget((_req, res) => res.end());
  await using open = await openTargets();
  const statusOf = (website: string): unknown =>
    withWebsiteStatus({ ...META, website }, (all) => websiteStatus(open.targets.tables, all))['website-meta'];
  const groups: string[] = [];
  for (const [name, port] of [
    ['good', target.port],
    ['bad', 1],
  ] as const) {
    const healthCheck = { healthCheckIntervalSeconds: 5, unhealthyThresholdCount: 2 };
    const tags = { website: `https://${name}.example/` };
    const body = { name, type: 'IP', tags, config: { port, healthCheck } };
    const group = String((await open.ask('createTargetGroup', { body }))['id']);
    await until(
      'the group is active',
      async () => (await open.ask('getTargetGroup', { params: { group } }))['status'] === 'ACTIVE',
    );
    await open.ask('registerTargets', { params: { group }, body: { targets: [{ id: '127.0.0.1' }] } });
    groups.push(group);
  }
  expect(statusOf('https://good.example')).toEqual({ category: 'shop', status: null });
  await open.targets.start();
  await until('both are told', () => open.news.length === 2);
  expect(statusOf('https://GOOD.example')).toEqual({ category: 'shop', status: 'up' });
  expect(statusOf('https://bad.example/')).toEqual({ category: 'shop', status: 'down' });
  expect(statusOf('https://good.example/other')).toEqual({ category: 'shop', status: null });
  const params = { group: groups[1] ?? '' };
  await open.ask('updateTargetGroup', { params, body: { healthCheck: { enabled: false } } });
  expect(statusOf('https://bad.example/')).toEqual({ category: 'shop', status: null });
});

test('metadata without a website, or without what it is, stays as it is', () => {
  for (const metadata of [{}, { website: 'https://a.example' }, { 'website-meta': { category: 'api' } }]) {
    expect(withWebsiteStatus(metadata, up)).toBe(metadata);
  }
  expect(withWebsiteStatus({ ...META, website: ['https://a.example', 'https://b.example'] }, up)).toEqual({
    'website-meta': { category: 'shop', status: 'up' },
    website: ['https://a.example', 'https://b.example'],
  });
});
