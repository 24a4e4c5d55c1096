import { afterEach, expect, test } from 'vitest';
import { describeEngine } from '../support/engine.ts';

describeEngine('volumes', (engine) => {
  const create = (body: object): Promise<{ Name: string }> => engine.http.ok('POST', '/volumes/create', body);
  const prune = async (version: string, filters: object = {}): Promise<string[]> => {
    const query = encodeURIComponent(JSON.stringify(filters));
    const path = `/v${version}/volumes/prune?filters=${query}`;
    const { VolumesDeleted } = await engine.http.ok<{ VolumesDeleted: string[] | null }>('POST', path);
    return (VolumesDeleted ?? []).toSorted();
  };

  afterEach(async () => {
    await engine.removeAll();
    await prune('1.41');
  });

  test('prune: takes anonymous ones that nobody uses, all when told or under 1.41, used ones never', async () => {
    const { Name: unnamed } = await create({});
    await create({ Name: 'kept' });
    await create({ Name: 'used' });
    await engine.create(['true'], {}, { HostConfig: { Binds: ['used:/x'] } });
    expect(await prune('1.43')).toEqual([unnamed]);
    expect(await prune('1.43', { all: ['true'] })).toEqual(['kept']);
    const { Name: second } = await create({});
    await create({ Name: 'again' });
    expect(await prune('1.41')).toEqual([second, 'again'].toSorted());
  });
});
