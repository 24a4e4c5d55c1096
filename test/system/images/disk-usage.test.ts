import { expect, test } from 'vitest';
import type { DiskUsage } from '../../../api/types/system.ts';
import { describeEngine, onReference } from '../../support/engine/engine.ts';
import { HttpClient } from '../../support/engine/http.ts';

describeEngine('disk usage', (engine) => {
  test('everything is counted: layers, images, containers, volumes', async () => {
    const command = ['sh', '-c', 'head -c 100000 /dev/zero > /mine; head -c 5000 /dev/zero > /v/theirs'];
    const { id } = await engine.run(command, { Binds: ['counted:/v'] });
    const usage = await engine.http.ok<DiskUsage>('GET', '/system/df');
    const image = usage.Images?.find(({ RepoTags }) => RepoTags.includes('busybox:latest'));
    expect(usage.LayersSize).toBe(image?.Size);
    expect(image).toMatchObject({ Containers: 1, SharedSize: 0 });
    const container = usage.Containers?.find(({ Id }) => Id === id);
    expect(container?.SizeRw).toBe(100_000);
    expect(container?.SizeRootFs).toBe(100_000 + (image?.Size ?? 0));
    const volume = usage.Volumes?.find(({ Name }) => Name === 'counted');
    expect(volume?.UsageData).toEqual({ Size: 5000, RefCount: 1 });
    expect(usage.BuildCache ?? []).toEqual([]);
    await engine.remove(id);
    await engine.http.ok('DELETE', '/volumes/counted');
  });

  test.runIf(!onReference)(
    'type: only what was asked for is counted, and an unknown one is refused',
    async () => {
      const some = await engine.http.ok<DiskUsage>('GET', '/system/df?type=volume&type=build-cache');
      const nothing = { ActiveCount: 0, TotalCount: 0, Reclaimable: 0, TotalSize: 0 };
      expect(some).toEqual({
        LayersSize: 0,
        Images: null,
        Containers: null,
        Volumes: [],
        BuildCache: [],
        VolumeUsage: nothing,
        BuildCacheUsage: nothing,
      });
      const verbose = await engine.http.ok('GET', '/system/df?verbose=1&type=volume');
      expect(verbose).toEqual({ VolumeUsage: { ...nothing, Items: [] } });
      const wrong = await engine.http.request('GET', '/system/df?type=everything');
      expect([wrong.status, wrong.json]).toEqual([400, { message: 'unknown object type: everything' }]);
    },
  );

  test.runIf(!onReference)('versions: 1.24 and 1.41 have no type, and a BuilderSize', async () => {
    const { socketPath } = engine.http;
    for (const version of ['1.24', '1.41']) {
      using older = new HttpClient(socketPath, version);
      const usage = await older.ok<Record<string, unknown>>('GET', '/system/df?type=volume');
      expect(usage, version).toMatchObject({
        BuilderSize: 0,
        Images: [{ VirtualSize: expect.any(Number) }],
        BuildCache: [],
      });
    }
  });

  test('many at once get the same answer', async () => {
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => engine.http.request('GET', '/system/df')),
    );
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    expect(answers[0]?.status).toBe(200);
  });
});
