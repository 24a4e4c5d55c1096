import { afterEach, expect, test } from 'vitest';
import { describeEngine, onReference } from '../../support/engine/engine.ts';
import { imageTar } from '../../support/images/images.ts';
import { tar } from '../../support/images/tar.ts';

interface Summary {
  Id: string;
  ParentId: string;
  RepoTags: string[] | null;
}

function filters(value: object): string {
  return `?filters=${encodeURIComponent(JSON.stringify(value))}`;
}

function deleted(items: { Deleted?: string }[], among: string[]): string[] {
  return items.flatMap(({ Deleted = '' }) => (among.includes(Deleted) ? [Deleted] : []));
}

/** What commits and builds make of images: parents and children, and what becomes of them. */
describeEngine('image lineage', (engine) => {
  const commit = async (from: string, query = ''): Promise<string> => {
    const id = await engine.create(['true'], {}, { Image: from });
    await engine.http.ok('PUT', `/containers/${id}/archive?path=/`, tar([{ name: `f${Math.random()}` }]));
    const { Id } = await engine.http.ok<{ Id: string }>('POST', `/commit?container=${id}${query}`);
    await engine.remove(id);
    return Id;
  };
  const list = (query = ''): Promise<Summary[]> => engine.http.ok('GET', `/images/json${query}`);
  const found = async (ancestor: string): Promise<string[]> => {
    const query = `?all=1&filters=${encodeURIComponent(JSON.stringify({ ancestor: [ancestor] }))}`;
    return (await engine.list(query)).flatMap(({ Names }) => Names).toSorted();
  };
  const ids = async (query = ''): Promise<string[]> => (await list(query)).map(({ Id }) => Id);
  const remove = (ref: string, query = ''): Promise<{ Untagged?: string; Deleted?: string }[]> =>
    engine.http.ok('DELETE', `/images/${ref}${query}`);
  const prune = (
    value: object,
  ): Promise<{ ImagesDeleted: { Deleted?: string }[] | null; SpaceReclaimed: number }> =>
    engine.http.ok('POST', `/images/prune${filters(value)}`);

  afterEach(async () => {
    await engine.removeAll();
    await prune({ dangling: ['true'] });
    for (const { RepoTags } of await list()) {
      for (const name of RepoTags ?? []) {
        await (name === 'busybox:latest' ? undefined : remove(name, '?force=1'));
      }
    }
  });

  test('list: what others were made from is hidden while nothing names it', async () => {
    const step = await commit('busybox');
    expect(await ids()).toContain(step);
    const top = await commit(step, '&repo=top');
    expect(await ids()).not.toContain(step);
    expect(await ids('?all=1')).toContain(step);
    expect(await ids(filters({ dangling: ['true'] }))).toEqual([]);
    expect((await list()).find(({ Id }) => Id === top)?.ParentId).toBe(step);
    const history = await engine.http.ok<{ Id: string }[]>('GET', '/images/top/history');
    expect(history.slice(0, 3).map(({ Id }) => Id)).toEqual([top, step, (await list('?all=1')).at(-1)?.Id]);
  });

  test('remove: an image that others were made from is refused, and loses only its name by name', async () => {
    const step = await commit('busybox', '&repo=step');
    const top = await commit('step', '&repo=top');
    const answer = await engine.http.request('DELETE', `/images/${step}?force=1`);
    expect(answer.status).toBe(409);
    expect(answer.text).toContain('(cannot be forced) - image has dependent child images');
    expect(await remove('step')).toEqual([{ Untagged: 'step:latest' }]);
    expect(await ids('?all=1')).toContain(step);
    expect(deleted(await remove('top'), [top, step])).toEqual([top, step]);
  });

  test('remove: noprune keeps what the image was made from', async () => {
    const step = await commit('busybox');
    const top = await commit(step, '&repo=top');
    expect(deleted(await remove('top', '?noprune=1'), [top, step])).toEqual([top]);
    expect(await ids()).toContain(step);
  });

  test('remove: parents that something else needs stay', async () => {
    const step = await commit('busybox');
    const one = await commit(step, '&repo=one');
    const other = await commit(step, '&repo=other');
    expect(deleted(await remove('one'), [one, step, other])).toEqual([one]);
    const user = await engine.create(['true'], {}, { Image: step });
    expect(deleted(await remove('other'), [one, step, other])).toEqual([other]);
    await engine.remove(user);
    expect(deleted(await remove(step), [step])).toEqual([step]);
  });

  test('prune: images without a name go, named and used ones stay', async () => {
    const step = await commit('busybox');
    const dangling = await commit(step);
    const used = await commit('busybox');
    await engine.create(['true'], {}, { Image: used });
    await commit('busybox', '&repo=named');
    const report = await prune({});
    expect(deleted(report.ImagesDeleted ?? [], [step, dangling, used])).toEqual([dangling, step]);
    const left = (await list('?all=1')).flatMap(({ RepoTags }) => RepoTags ?? []);
    expect(left.filter((name) => name !== '<none>:<none>').toSorted()).toEqual([
      'busybox:latest',
      'named:latest',
    ]);
    expect(await prune({})).toEqual({ ImagesDeleted: null, SpaceReclaimed: 0 });
  });

  test('prune: dangling=false takes named ones too; labels and until choose', async () => {
    const content = tar([{ name: 'file', content: 'x'.repeat(1000) }]);
    const load = (name: string, labels: object): Promise<unknown> =>
      engine.http.request('POST', '/images/load?quiet=1', {
        body: imageTar([content], { tags: [name], config: { Labels: labels } }),
      });
    await load('keep:1', { keep: '' });
    await load('go:1', { go: 'yes' });
    await engine.create(['true']);
    expect((await prune({ dangling: ['false'], until: ['2020-01-01T00:00:00'] })).ImagesDeleted).toBe(null);
    expect((await prune({ dangling: ['false'], label: ['go=no'] })).ImagesDeleted).toBe(null);
    const first = await prune({ dangling: ['false'], 'label!': ['keep'], label: ['go=yes'] });
    expect(first.ImagesDeleted?.[0]).toEqual({ Untagged: 'go:1' });
    expect(first.SpaceReclaimed).toBe(0);
    const second = await prune({ dangling: ['false'], label: ['keep'] });
    expect(second.SpaceReclaimed).toBe(1000);
  });

  test('prune: dangling=false takes bases with what was made from them, in one go', async () => {
    const keep = await engine.create(['true']);
    const base = await commit('busybox', '&repo=base');
    const middle = await commit('base', '&repo=middle');
    const top = await commit('middle', '&repo=top');
    const report = await prune({ dangling: ['false'] });
    expect(deleted(report.ImagesDeleted ?? [], [base, middle, top])).toEqual([top, middle, base]);
    expect((await list('?all=1')).map(({ RepoTags }) => RepoTags)).toEqual([['busybox:latest']]);
    await engine.remove(keep);
  });

  test('containers: ancestor= finds those of images that were made from it', async () => {
    const base = await commit('busybox', '&repo=base');
    await commit('base', '&repo=top');
    for (const image of ['busybox', 'base', 'top']) {
      await engine.create(['true'], {}, { Image: image }, `of-${image}`);
    }
    expect(await found('busybox')).toEqual(['/of-base', '/of-busybox', '/of-top']);
    expect(await found('base')).toEqual(['/of-base', '/of-top']);
    expect(await found(base)).toEqual(['/of-base', '/of-top']);
    expect(await found(base.slice(7, 19))).toEqual(['/of-base', '/of-top']);
    expect(await found('top:latest')).toEqual(['/of-top']);
    expect(await found('nothing')).toEqual([]);
  });

  test('save and load: what was made from what stays known, where both are saved', async () => {
    await commit('busybox', '&repo=base');
    const top = await commit('base', '&repo=top');
    const both = await engine.http.request('GET', '/images/get?names=top&names=base');
    const alone = await engine.http.request('GET', '/images/top/get');
    const inspect = (ref: string): Promise<{ Id: string; Parent: string }> =>
      engine.http.ok('GET', `/images/${ref}/json`);
    const { Id: baseId } = await inspect('base');
    for (const [bytes, parent] of [
      [both.bytes, { Parent: baseId }],
      [alone.bytes, {}],
    ] as const) {
      await remove('top');
      await engine.http.request('DELETE', '/images/base');
      await engine.http.ok('POST', '/images/load?quiet=1', bytes);
      expect(await inspect('top')).toMatchObject({ Id: top, ...parent });
    }
  });

  test('load: names that change hands are told, quiet or not; what fails is told in the stream', async () => {
    const load = (tag: string, content: string): Promise<{ status: number; text: string }> =>
      engine.http.request('POST', '/images/load?quiet=1', {
        body: imageTar([tar([{ name: 'file', content }])], { tags: [tag] }),
      });
    await load('moved:1', 'one');
    const { Id } = await engine.http.ok<{ Id: string }>('GET', '/images/moved:1/json');
    const told = await load('moved:1', 'two');
    expect(
      told.text
        .trim()
        .split('\r\n')
        .map((line) => JSON.parse(line) as unknown),
    ).toEqual([
      {
        stream: `The image moved:1 already exists, renaming the old one with ID ${Id} to empty string\n`,
      },
      { stream: 'Loaded image: moved:1\n' },
    ]);
    const failed = await engine.http.request('POST', '/images/load', {
      body: Buffer.from('no tar'.repeat(500)),
    });
    expect(failed.status).toBe(200);
    expect(failed.json).toEqual({
      errorDetail: { message: expect.stringMatching(/tar/) as string },
      error: expect.stringMatching(/tar/) as string,
    });
  });

  test.each(['sha256:abc', 'sha256', 'library/sha256:abc', 'docker.io/sha256:abc'])(
    'tag: %s would be read as an id, and is refused',
    async (name) => {
      const answer = await engine.http.request(
        'POST',
        `/images/busybox/tag?repo=${encodeURIComponent(name)}`,
      );
      expect(answer).toMatchObject({
        status: 400,
        json: { message: 'refusing to create an ambiguous tag using digest algorithm as name' },
      });
    },
  );

  test('load: an image called sha256:abc gets no such name', async () => {
    await engine.http.request('POST', '/images/load', {
      body: imageTar([tar([{ name: 'file', content: 'digest' }])], { tags: ['sha256:abc'] }),
    });
    expect((await engine.http.request('GET', '/images/sha256:abc/json')).status).toBe(404);
    await prune({ dangling: ['true'] });
  });

  test.each([
    ['an unknown key', { colour: ['red'] }],
    ['a bad time', { until: ['soon'] }],
    ['two times', { until: ['1h', '2h'] }],
    ['no boolean', { dangling: ['perhaps'] }],
  ])('prune: %s is refused', async (_what, value) => {
    const { status } = await engine.http.request('POST', `/images/prune${filters(value)}`);
    expect([400, onReference ? 500 : 400]).toContain(status);
  });
});
