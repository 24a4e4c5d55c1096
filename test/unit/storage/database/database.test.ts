import { describe, expect, test } from 'vitest';
import { silentLogger } from '../../../../daemon/base/logger.ts';
import { openDatabase } from '../../../../storage/database/index.ts';
import type { ContainerRow, ImageRow } from '../../../../storage/database/rows.ts';

const open = () => openDatabase(':memory:', silentLogger);

function container(id: string, layerIds: number[], name = id): ContainerRow {
  const createdNano = 1_700_000_000_123_456_789n;
  return {
    id,
    name,
    imageId: 'sha256:1',
    layerIds,
    createdNano,
    spec: { a: 1 },
    state: { status: 'created' },
  };
}

function image(id: string, layerIds: number[]): ImageRow {
  const config = Buffer.from('{ }');
  return { id, config, layerIds, createdNano: 5n, lastTaggedNano: null, sizeBytes: 2 ** 40 };
}

function layer(name: string, parentId: number | null) {
  return { diffId: `diff:${name}`, chainId: `chain:${name}`, parentId, sizeBytes: 7 };
}

describe('containers', () => {
  test('come back as they were written, times exact', () => {
    const database = open();
    const bottom = database.layers.insert(layer('a', null));
    const top = database.layers.insert(layer('b', bottom));
    const row = container('c1', [bottom, top]);
    database.containers.insert(row);
    expect(database.containers.all()).toEqual([row]);
    database.containers.setState('c1', { status: 'running', startedAtNano: 3n });
    database.containers.setSpec('c1', { a: 2 });
    database.containers.setName('c1', 'renamed');
    expect(database.containers.all()).toEqual([
      { ...row, name: 'renamed', spec: { a: 2 }, state: { status: 'running', startedAtNano: 3n } },
    ]);
    database.containers.remove('c1');
    expect(database.containers.all()).toEqual([]);
    expect(database.integrityProblems()).toEqual([]);
  });

  test('a name in use is a conflict that names the column, and nothing of the second container stays', () => {
    const database = open();
    database.containers.insert(container('c1', [], 'web'));
    expect(() => database.containers.insert(container('c2', [], 'web'))).toThrow(
      expect.objectContaining({ code: 'conflict', message: 'insert container c2: name already in use' }),
    );
    database.containers.insert(container('c3', []));
    expect(() => database.containers.setName('c3', 'web')).toThrow(
      expect.objectContaining({ code: 'conflict' }),
    );
    expect(database.containers.all().map(({ id }) => id)).toEqual(['c1', 'c3']);
  });

  test('changing one that has no row is a bug', () => {
    expect(() => open().containers.setState('c1', {})).toThrow('set state of container c1: it has no row');
  });
});

describe('layers', () => {
  test('stay while an image, a container or a child layer uses them', () => {
    const database = open();
    const base = database.layers.insert(layer('base', null));
    const middle = database.layers.insert(layer('middle', base));
    const top = database.layers.insert(layer('top', middle));
    database.images.insert(image('sha256:1', [base, middle, top]));
    database.containers.insert(container('c1', [base, middle]));
    const unused = () => database.layers.unreferenced().map(({ id }) => id);
    expect(unused()).toEqual([]);
    expect(() => database.layers.remove(middle)).toThrow(expect.objectContaining({ code: 'conflict' }));
    database.images.remove('sha256:1');
    expect(unused()).toEqual([top]);
    database.layers.remove(top);
    expect(unused()).toEqual([]);
    database.containers.remove('c1');
    expect(unused()).toEqual([middle]);
    database.layers.remove(middle);
    expect(unused()).toEqual([base]);
    expect(database.layers.byChainId('chain:base')).toEqual({ ...layer('base', null), id: base });
  });

  test('never get an id twice, reserved or not', () => {
    const database = open();
    const first = database.layers.insert(layer('a', null));
    database.layers.remove(first);
    const reserved = database.layers.nextId();
    database.layers.insertWithId({ ...layer('b', null), id: 40 });
    expect([first, reserved, database.layers.nextId(), database.layers.insert(layer('c', null))]).toEqual([
      1, 2, 41, 42,
    ]);
    expect(() => database.layers.insert(layer('c', null))).toThrow(
      expect.objectContaining({ code: 'conflict' }),
    );
  });
});

test('images keep the bytes of their configuration and lose their tags with themselves', () => {
  const database = open();
  const row = image('sha256:1', []);
  database.images.insert(row);
  database.tags.set({ repository: 'docker.io/library/a', tag: '1', imageId: row.id });
  database.tags.set({ repository: 'docker.io/library/a', tag: '1', imageId: row.id });
  database.images.setLastTagged(row.id, 9n);
  expect(database.images.all()).toEqual([{ ...row, lastTaggedNano: 9n }]);
  expect(database.tags.all()).toHaveLength(1);
  database.images.remove(row.id);
  expect(database.tags.all()).toEqual([]);
});

test('volumes and meta come back as they were written', () => {
  const database = open();
  const row = {
    name: 'v',
    driver: 'local',
    options: {},
    labels: { $bigint: '1' },
    anonymous: true,
    createdNano: 2n,
  };
  database.volumes.insert(row);
  database.meta.set('id', 'a');
  database.meta.set('id', 'b');
  expect(database.volumes.all()).toEqual([row]);
  expect([database.meta.get('id'), database.meta.get('none')]).toEqual(['b', undefined]);
});

describe('events', () => {
  test('are read in pages, bounded by time on both sides, and pruned from the oldest', () => {
    const database = open();
    for (const timeNano of [10n, 20n, 20n, 30n, 40n]) {
      database.events.insert({ timeNano, type: 'container', action: 'start', actorId: 'c', attributes: {} });
    }
    const ids = (options: Parameters<typeof database.events.range>[0]) =>
      database.events.range(options).map(({ id }) => id);
    expect({
      all: ids({ limit: 9 }),
      since: ids({ sinceNano: 20n, limit: 2 }),
      nextPage: ids({ sinceNano: 20n, afterId: 3, limit: 2 }),
      both: ids({ sinceNano: 11n, untilNano: 30n, limit: 9 }),
      future: ids({ sinceNano: 41n, limit: 9 }),
      lastId: database.events.lastId(),
    }).toEqual({
      all: [1, 2, 3, 4, 5],
      since: [2, 3],
      nextPage: [4, 5],
      both: [2, 3, 4],
      future: [],
      lastId: 5,
    });
    database.events.prune(2);
    expect(ids({ limit: 9 })).toEqual([4, 5]);
  });
});

describe('transaction', () => {
  test('undoes everything when its function throws', () => {
    const database = open();
    expect(() =>
      database.transaction(() => {
        database.meta.set('a', '1');
        throw new Error('no');
      }),
    ).toThrow('no');
    expect(database.meta.get('a')).toBeUndefined();
  });

  test('refuses a function that waits, and undoes what it did', () => {
    const database = open();
    expect(() =>
      database.transaction(async () => {
        database.meta.set('a', '1');
        await Promise.resolve();
      }),
    ).toThrow('a transaction must not wait');
    expect(database.meta.get('a')).toBeUndefined();
  });

  test('one inside another can fail alone but commits only with it', () => {
    const database = open();
    database.transaction(() => {
      database.meta.set('outer', '1');
      expect(() =>
        database.transaction(() => {
          database.meta.set('inner', '1');
          throw new Error('inner');
        }),
      ).toThrow('inner');
    });
    expect([database.meta.get('outer'), database.meta.get('inner')]).toEqual(['1', undefined]);
  });

  test('a durable one does not fit inside one that is not', () => {
    const database = open();
    expect(() => database.transaction(() => database.transaction(() => 1, { durable: true }))).toThrow(
      'durable',
    );
    expect(
      database.transaction(() => database.transaction(() => 1, { durable: true }), { durable: true }),
    ).toBe(1);
  });
});
