import { expect, test } from 'vitest';
import type { ImageInspect } from '../../../api/types/image.ts';
import { describeEngine, onReference } from '../../support/engine/engine.ts';
import { jsonLines } from '../../support/engine/http.ts';
import { busyboxEntries, busyboxImageTar, imageTar } from '../../support/images/images.ts';
import { tar } from '../../support/images/tar.ts';
import { untilNow } from '../../support/engine/until-now.ts';

describeEngine('images', (engine) => {
  const load = async (bytes: Buffer): Promise<string> =>
    (await engine.http.request('POST', '/images/load?quiet=1', { body: bytes })).text;
  const tagsOf = async (): Promise<string[]> => {
    const images = await engine.http.ok<{ RepoTags: string[] | null }[]>('GET', '/images/json');
    return images.flatMap(({ RepoTags }) => RepoTags ?? []).toSorted((a, b) => a.localeCompare(b));
  };
  const drop = (ref: string): Promise<unknown> =>
    engine.http.ok('DELETE', `/images/${encodeURIComponent(ref)}?force=1`);

  test.each(['docker', 'oci', 'legacy'] as const)('load: %s tarball runs', async (format) => {
    if (format === 'oci' && onReference) {
      return;
    }
    const answer = await load(busyboxImageTar({ format, tags: ['loaded:it'] }));
    // dockerd says nothing about the oldest format.
    expect(answer).toContain(onReference && format === 'legacy' ? '' : 'Loaded image: loaded:it');
    const { stdout } = await engine.run(['echo', 'runs'], {}, { Image: 'loaded:it' });
    expect(stdout).toBe('runs\n');
    await engine.removeAll();
    await drop('loaded:it');
  });

  test('load: a second time is the same image', async () => {
    const before = await engine.http.ok<{ Id: string }>('GET', '/images/busybox/json');
    await load(busyboxImageTar());
    expect((await engine.http.ok<{ Id: string }>('GET', '/images/busybox/json')).Id).toBe(before.Id);
  });

  test.each([
    ['no tarball', Buffer.from('this is no tarball at all, not even a little bit of one')],
    ['a tarball of something else', tar([{ name: 'readme', content: 'nothing here' }])],
  ])('load: %s says so', async (_what, bytes) => {
    const answer = await engine.http.request('POST', '/images/load?quiet=1', { body: bytes });
    const failed = answer.status >= 400 || answer.text.includes('errorDetail');
    expect(failed).toBe(true);
  });

  test.each([
    ['700', 0o700],
    ['1777', 0o1777],
  ])('layers: the root of a container is 0755, also where its image says %s', async (_text, mode) => {
    const root = [{ name: './', type: '5', mode, uid: 3, gid: 4 } as const, ...busyboxEntries()];
    await load(imageTar([root], { tags: ['root:1'] }));
    const { stdout } = await engine.run(['stat', '-c', '%a %u:%g', '/'], {}, { Image: 'root:1' });
    expect(stdout).toBe('755 0:0\n');
    await engine.removeAll();
    await engine.http.ok('DELETE', '/images/root:1');
  });

  test('layers: whiteouts and opaque directories hide what is below', async () => {
    const lower = tar([
      { name: 'a/one', content: '1' },
      { name: 'a/two', content: '2' },
      { name: 'b/three', content: '3' },
    ]);
    const upper = tar([
      { name: 'a/.wh.one', content: '' },
      { name: 'b/.wh..wh..opq', content: '' },
      { name: 'b/four', content: '4' },
    ]);
    await load(busyboxImageTar({ tags: ['layered:1'], extraLayers: [lower, upper] }));
    const { stdout } = await engine.run(
      ['sh', '-c', 'find /a /b -type f | sort'],
      {},
      { Image: 'layered:1' },
    );
    expect(stdout).toBe('/a/two\n/b/four\n');
    await engine.removeAll();
    await drop('layered:1');
  });

  test('save: what is saved loads again under the same id', async () => {
    const { Id } = await engine.http.ok<{ Id: string }>('GET', '/images/busybox/json');
    const saved = await engine.http.request('GET', '/images/busybox:latest/get');
    expect(saved.headers['content-type']).toBe('application/x-tar');
    await drop('busybox:latest');
    expect((await engine.http.request('GET', '/images/busybox/json')).status).toBe(404);
    await load(saved.bytes);
    expect((await engine.http.ok<{ Id: string }>('GET', '/images/busybox/json')).Id).toBe(Id);
  });

  test('save: an image nobody has is 404', async () => {
    const answer = await engine.http.request('GET', '/images/get?names=nobody:1');
    expect([404, 500]).toContain(answer.status);
    expect(answer.text).toContain(onReference ? 'reference does not exist' : 'nobody');
  });

  test('import: a root file system becomes an image, with changes', async () => {
    const root = tar([{ name: 'proof', content: 'imported' }]);
    const change = encodeURIComponent('ENV COLOUR=blue');
    const answer = await engine.http.request(
      'POST',
      `/images/create?fromSrc=-&repo=made&tag=1&changes=${change}`,
      {
        body: root,
      },
    );
    expect(jsonLines(answer.text).at(-1)).toMatchObject({ status: expect.stringMatching(/^sha256:/) });
    const inspect = await engine.http.ok<ImageInspect>('GET', '/images/made:1/json');
    expect(inspect).toMatchObject({
      RepoTags: ['made:1'],
      Config: { Env: expect.arrayContaining(['COLOUR=blue']) },
    });
    const { Id } = inspect;
    const filters = encodeURIComponent(JSON.stringify({ image: [Id] }));
    const { text } = await engine.http.request(
      'GET',
      `/events?since=1&until=${untilNow()}&filters=${filters}`,
    );
    const events = jsonLines(text) as {
      Action: string;
      Actor: { ID: string; Attributes: Record<string, string> };
    }[];
    expect(events.map(({ Action, Actor }) => [Action, Actor.ID, Actor.Attributes['name']])).toEqual([
      ['tag', Id, 'made:1'],
      ['import', Id, Id],
    ]);
    await drop('made:1');
  });

  test('tag: a second name; removing it leaves the first', async () => {
    await engine.http.ok('POST', '/images/busybox/tag?repo=example.org/team/box&tag=v1');
    expect(await tagsOf()).toEqual(['busybox:latest', 'example.org/team/box:v1']);
    const removed = await engine.http.ok('DELETE', '/images/example.org/team/box:v1');
    expect(removed).toEqual([{ Untagged: 'example.org/team/box:v1' }]);
    expect(await tagsOf()).toEqual(['busybox:latest']);
  });

  test.each(['UPPER', 'a//b', '-x', 'a:b:c'])('tag: the name %j is refused', async (repo) => {
    const answer = await engine.http.request('POST', `/images/busybox/tag?repo=${encodeURIComponent(repo)}`);
    // dockerd 20.10 answers 500, later ones 400.
    expect(answer.status).toBe(onReference ? 500 : 400);
  });

  test('remove: an image in use is 409, and goes by force while the container lives on', async () => {
    await load(
      imageTar([tar([{ name: 'only', content: 'here' }])], { tags: ['used:1'], config: { Cmd: ['/only'] } }),
    );
    const id = await engine.create(['/only'], {}, { Image: 'used:1' });
    expect((await engine.http.request('DELETE', '/images/used:1')).status).toBe(409);
    await drop('used:1');
    expect((await engine.inspect(id)).Config.Image).toBe('used:1');
  });

  test('remove: by tag tells what was untagged and deleted', async () => {
    await load(imageTar([tar([{ name: 'only', content: 'mine' }])], { tags: ['single:1'] }));
    const removed = await engine.http.ok<object[]>('DELETE', '/images/single:1');
    expect(removed[0]).toEqual({ Untagged: 'single:1' });
    expect(removed.slice(1).every((item) => 'Deleted' in item)).toBe(true);
    expect(removed.length).toBeGreaterThan(1);
  });

  test('inspect and history: tell the configuration', async () => {
    const inspect = await engine.http.ok('GET', '/images/busybox/json');
    expect(inspect).toMatchObject({
      RepoTags: ['busybox:latest'],
      Os: 'linux',
      Architecture: 'amd64',
      Config: { Cmd: ['sh'] },
      RootFS: { Type: 'layers', Layers: [expect.stringMatching(/^sha256:[0-9a-f]{64}$/)] },
    });
    expect(await engine.http.ok('GET', '/images/busybox/history')).toMatchObject([
      { Tags: ['busybox:latest'] },
    ]);
  });

  test('find: an image is found by id and unique prefix', async () => {
    const { Id } = await engine.http.ok<{ Id: string }>('GET', '/images/busybox/json');
    const bare = Id.replace('sha256:', '');
    for (const ref of [Id, bare, bare.slice(0, 12)]) {
      expect(await engine.http.ok('GET', `/images/${ref}/json`)).toMatchObject({ Id });
    }
    const answer = await engine.http.request('GET', '/images/nobody/json');
    expect(answer.status).toBe(404);
  });
});
