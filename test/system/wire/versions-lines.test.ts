import { afterEach, describe, expect, test } from 'vitest';
import type { ImageSummary } from '../../../api/types/image.ts';
import type { EventMessage, NetworkInspect, VolumeView } from '../../../api/types/system.ts';
import { describeEngine, onReference } from '../../support/engine/engine.ts';
import { jsonLines } from '../../support/engine/http.ts';
import { tar } from '../../support/images/tar.ts';

const SLEEP = ['sleep', '1000'];

const asked = (filters: object): string => `filters=${encodeURIComponent(JSON.stringify(filters))}`;

/** Lines of the changelog of the API that no other test is about; see test/api-versions.md. */
describeEngine('lines of versions', (engine) => {
  afterEach(async () => {
    await engine.removeAll();
    await engine.removeImages();
    await engine.http.ok('POST', '/networks/prune');
  });

  const events = async (version: string, since: number, filters: object): Promise<string[]> => {
    const until = Math.ceil(Date.now() / 1000) + 1;
    const path = `${version}/events?since=${since}&until=${until}&${asked(filters)}`;
    const { text } = await engine.http.request('GET', path);
    return (jsonLines(text) as EventMessage[]).map(
      ({ Action, Actor }) => `${Action} ${Actor.Attributes['name']}`,
    );
  };

  describe.skipIf(onReference)('of today', () => {
    test('1.46: an image made here tells create, then its names, and older clients the names alone', async () => {
      const since = Math.floor(Date.now() / 1000);
      const container = await engine.create(['true']);
      const { Id } = await engine.http.ok<{ Id: string }>(
        'POST',
        `/commit?container=${container}&repo=made&tag=1`,
      );
      const Dockerfile = 'FROM busybox\nLABEL a=1\n';
      const context = tar([{ name: 'Dockerfile', content: Dockerfile }]);
      await engine.http.request('POST', '/build?t=built:1', {
        body: context,
        headers: { 'Content-Type': 'application/x-tar' },
      });
      const built = (await engine.http.ok<{ Id: string }>('GET', '/images/built:1/json')).Id;
      const made = { type: ['image'], event: ['create', 'tag'] };
      expect(await events('', since, made)).toEqual([
        `create ${Id}`,
        'tag made:1',
        `create ${built}`,
        'tag built:1',
      ]);
      expect(await events('/v1.45', since, made)).toEqual(['tag made:1', 'tag built:1']);
    });
  });

  test('1.30: a build tells the id of its image, and that alone to who asks for nothing else', async () => {
    const build = async (query: string): Promise<unknown[]> => {
      const Dockerfile = 'FROM busybox\nLABEL told=1\n';
      const { text } = await engine.http.request('POST', `/build?t=told:1&${query}`, {
        body: tar([{ name: 'Dockerfile', content: Dockerfile }]),
        headers: { 'Content-Type': 'application/x-tar' },
      });
      return jsonLines(text);
    };
    const messages = await build('');
    const { Id } = await engine.http.ok<{ Id: string }>('GET', '/images/told:1/json');
    expect(messages).toContainEqual({ aux: { ID: Id } });
    expect(await build('q=1')).toEqual([{ stream: `${Id}\n` }]);
  });

  test('1.42: images tell how much they share when asked', async () => {
    const shared = async (query: string): Promise<number[]> =>
      (await engine.http.ok<ImageSummary[]>('GET', `/images/json${query}`)).map(
        ({ SharedSize }) => SharedSize,
      );
    const container = await engine.create(['true']);
    await engine.http.ok('POST', `/commit?container=${container}&repo=shared&tag=1`);
    expect(await shared('')).toEqual([-1, -1]);
    if (!onReference) {
      const [first = 0, second = 0] = await shared('?shared-size=1');
      expect(first).toBeGreaterThan(0);
      expect(second).toBe(first);
      expect(await shared('?shared-size=0')).toEqual([-1, -1]);
    }
  });

  test.runIf(!onReference)('1.44: images until a time are those made before it', async () => {
    const names = async (until: string): Promise<string[]> =>
      (await engine.http.ok<ImageSummary[]>('GET', `/images/json?${asked({ until: [until] })}`)).flatMap(
        ({ RepoTags }) => RepoTags,
      );
    const container = await engine.create(['true']);
    await engine.http.ok('POST', `/commit?container=${container}&repo=young&tag=1`);
    expect(await names('1h')).toEqual(['busybox:latest']);
    expect(await names('2020-01-01')).toEqual([]);
    expect((await names('0s')).toSorted()).toEqual(['busybox:latest', 'young:1']);
  });

  test('1.29, 1.40: networks are found by scope, and by whether a container is in them', async () => {
    for (const Name of ['idle', 'busy']) {
      await engine.http.ok('POST', '/networks/create', { Name });
    }
    await engine.start(SLEEP, { NetworkMode: 'busy' });
    const names = async (filters: object): Promise<string[]> =>
      (await engine.http.ok<NetworkInspect[]>('GET', `/networks?${asked(filters)}`))
        .map(({ Name }) => Name)
        .toSorted();
    expect(await names({ dangling: ['true'] })).toEqual(['idle']);
    expect(await names({ dangling: ['0'] })).toEqual(['bridge', 'busy', 'host', 'none']);
    expect(await names({ scope: ['local'], type: ['custom'] })).toEqual(['busy', 'idle']);
    expect(await names({ scope: ['swarm'] })).toEqual([]);
  });

  test('1.25, 1.31: volumes tell their options and when they were made', async () => {
    const before = Date.now() - 1000;
    await engine.http.ok('POST', '/volumes/create', {
      Name: 'told',
      DriverOpts: { type: 'tmpfs', device: 'a' },
    });
    const volume = await engine.http.ok<VolumeView>('GET', '/volumes/told');
    expect(volume.Options).toEqual({ type: 'tmpfs', device: 'a' });
    expect(Date.parse(volume.CreatedAt ?? '')).toBeGreaterThanOrEqual(before);
    const { text } = await engine.http.request('GET', '/v1.24/volumes/told');
    expect(text).not.toMatch(/Options|CreatedAt/);
    expect((await engine.http.request('GET', '/v1.30/volumes/told')).text).not.toContain('CreatedAt');
    await engine.http.ok('DELETE', '/volumes/told');
  });

  test('1.25: networks are listed at /networks/ too', async () => {
    const list = await engine.http.ok<NetworkInspect[]>('GET', '/networks/');
    expect(list.map(({ Name }) => Name).toSorted()).toEqual(['bridge', 'host', 'none']);
  });

  test('1.32: containers share System V memory as IpcMode says', async () => {
    const lender = await engine.start(SLEEP, { IpcMode: 'shareable' }, {}, 'lender');
    const own = await engine.create(SLEEP, { IpcMode: 'private' }, {}, 'own');
    expect([
      (await engine.inspect(lender)).HostConfig.IpcMode,
      (await engine.inspect(own)).HostConfig.IpcMode,
    ]).toEqual(['shareable', 'private']);
    await engine.start(SLEEP, { IpcMode: 'container:lender' });
    const { Id } = await engine.http.ok<{ Id: string }>('POST', '/containers/create', {
      Image: 'busybox:latest',
      Cmd: SLEEP,
      HostConfig: { IpcMode: 'container:own' },
    });
    await engine.http.ok('POST', `/containers/own/start`);
    const answer = await engine.http.request('POST', `/containers/${Id}/start`);
    expect([answer.status, answer.text]).toEqual([
      onReference ? 500 : 400,
      expect.stringContaining('non-shareable IPC'),
    ]);
  });
});
