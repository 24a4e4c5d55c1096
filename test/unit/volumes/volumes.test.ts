import { expect, test } from 'vitest';
import { systemClock } from '../../../daemon/base/clock.ts';
import { silentLogger } from '../../../daemon/base/logger.ts';
import { EventLog } from '../../../daemon/events/event-log.ts';
import { checkVolumeName } from '../../../storage/volumes/volume-name.ts';
import type { VolumeDirectories } from '../../../daemon/volumes/ports.ts';
import { Volumes } from '../../../daemon/volumes/volumes.ts';
import { VolumePlugins } from '../../../runtime/volume-plugins/volume-plugins.ts';
import { openDatabase } from '../../../storage/database/index.ts';

/** Directories as a set of names; a removal can be made to fail at its last step. */
class FakeDirectories implements VolumeDirectories {
  readonly present = new Set<string>();
  readonly populated: string[] = [];
  readonly mounted = new Map<string, string>();
  restored: string[] = [];
  readonly limits = new Map<string, number>();
  failFinish = false;
  obstacle: string | undefined;

  mountpoint(name: string): string {
    return `/root/volumes/${name}/_data`;
  }

  quotaObstacle(): string | undefined {
    return this.obstacle;
  }

  async create(name: string, sizeBytes: number): Promise<void> {
    this.present.add(name);
    if (sizeBytes > 0) {
      await this.limit(name, sizeBytes);
    }
  }

  async limit(name: string, sizeBytes: number): Promise<void> {
    this.limits.set(name, sizeBytes);
  }

  async undoCreate(name: string): Promise<void> {
    this.present.delete(name);
  }

  async beginRemove(name: string) {
    this.present.delete(name);
    return {
      finish: async () => {
        if (this.failFinish) {
          throw new Error('EIO');
        }
      },
      undo: async () => {
        this.present.add(name);
      },
    };
  }

  async populate(name: string): Promise<void> {
    this.populated.push(name);
  }

  async mount(name: string, plan: { source: string }): Promise<void> {
    this.mounted.set(name, plan.source);
  }

  async unmount(name: string): Promise<void> {
    this.mounted.delete(name);
  }

  populateAt(mountpoint: string, name: string): Promise<void> {
    return this.populate(`${name} from ${this.mounted.get(name)} at ${mountpoint}`);
  }

  async forgetFilling(): Promise<void> {
    // Notes nothing.
  }

  async restore(known: ReadonlySet<string>): Promise<void> {
    this.restored = [...known];
  }
}

const sizes = () => Promise.resolve([1000]);

function setUp() {
  const database = openDatabase(':memory:', silentLogger);
  const journal = new EventLog({ database, clock: systemClock, log: silentLogger });
  const directories = new FakeDirectories();
  const used = new Map<string, string[]>();
  const users = (name: string) => used.get(name) ?? [];
  const live = new Map<string, string[]>();
  const liveUsers = (name: string) => live.get(name) ?? [];
  const questions = { users, liveUsers, sizes };
  const plugins = new VolumePlugins({ folders: [], timeoutMs: 1000 });
  const deps = {
    journal,
    database,
    directories,
    plugins,
    ...questions,
    clock: systemClock,
    log: silentLogger,
  };
  const events = () =>
    database.events
      .range({ limit: 99 })
      .map(({ action, actorId, attributes }) => ({ action, actorId, attributes }));
  return { volumes: new Volumes(deps), deps, database, directories, used, live, events };
}

const NONE = new Map<string, string[]>();

test.each([
  ['x', /volume name is too short/],
  ['', /volume name is too short/],
  ['.removed', /includes invalid characters/],
  ['..', /includes invalid characters/],
  ['a/b', /includes invalid characters/],
  ['a b', /includes invalid characters/],
  ['a\0b', /includes invalid characters/],
  ['a\nb', /includes invalid characters/],
  ['ä1', /includes invalid characters/],
  ['a'.repeat(256), /longer than 255/],
])('checkVolumeName refuses %j', (name, message) => {
  expect(() => checkVolumeName(name)).toThrow(expect.objectContaining({ code: 'invalid_argument' }));
  expect(() => checkVolumeName(name)).toThrow(message);
});

test('create: makes directory, row and event once, and answers the same volume the second time', async () => {
  const { volumes, directories, database, events } = setUp();
  const [first, second] = await Promise.all([
    volumes.create({ Name: 'data', Labels: { tier: 'db' } }),
    volumes.create({ Name: 'data', Driver: 'local', Labels: { other: '1' } }),
  ]);
  expect(first).toEqual({
    CreatedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/) as string,
    Driver: 'local',
    Labels: { tier: 'db' },
    Mountpoint: '/root/volumes/data/_data',
    Name: 'data',
    Options: null,
    Scope: 'local',
  });
  expect(second).toEqual(first);
  expect([...directories.present]).toEqual(['data']);
  expect(database.volumes.all()).toHaveLength(1);
  expect(events()).toEqual([{ action: 'create', actorId: 'data', attributes: { driver: 'local' } }]);
});

test('create: without a name makes one up and labels the volume', async () => {
  const { volumes } = setUp();
  const { Name, Labels } = await volumes.create({});
  expect(Name).toMatch(/^[0-9a-f]{64}$/);
  expect(Labels).toEqual({ 'com.docker.volume.anonymous': '' });
  await volumes.removeAnonymous(Name, 'c1');
  expect(await volumes.inspect(Name)).toMatchObject({ Name });
});

test.each([
  [{ Driver: 'nfs' }, 'not_found', 'create vol: error looking up volume plugin nfs: plugin "nfs" not found'],
  [{ DriverOpts: { colour: 'red' } }, 'invalid_argument', 'create vol: invalid option: "colour"'],
])('create: refuses %j', async (body, code, message) => {
  const { volumes, directories } = setUp();
  const creating = volumes.create({ Name: 'vol', ...body });
  await expect(creating).rejects.toThrow(expect.objectContaining({ code }));
  await expect(creating).rejects.toThrow(message);
  expect(directories.present.size).toBe(0);
});

test('remove: refuses a volume in use with the ids of its containers, even by force', async () => {
  const { volumes, used, directories } = setUp();
  await volumes.create({ Name: 'data' });
  used.set('data', ['c1', 'c2']);
  await expect(volumes.remove('data', { force: true })).rejects.toThrow(
    expect.objectContaining({ code: 'conflict', message: 'remove data: volume is in use - [c1, c2]' }),
  );
  expect([...directories.present]).toEqual(['data']);
});

test('remove: of an unknown volume is not found, unless forced', async () => {
  const { volumes } = setUp();
  await volumes.remove('data', { force: true });
  await expect(volumes.remove('data', { force: false })).rejects.toThrow(
    expect.objectContaining({ code: 'not_found', message: 'get data: no such volume' }),
  );
  await expect(volumes.inspect('data')).rejects.toThrow('get data: no such volume');
});

test('remove: a container that appears meanwhile keeps the volume', async () => {
  const { volumes, used, directories, deps, database } = setUp();
  await volumes.create({ Name: 'data' });
  const begin = directories.beginRemove.bind(directories);
  deps.directories.beginRemove = (name: string) => {
    used.set(name, ['c1']);
    return begin(name);
  };
  await expect(volumes.remove('data', { force: false })).rejects.toThrow('volume is in use - [c1]');
  expect([...directories.present]).toEqual(['data']);
  expect(database.volumes.all()).toHaveLength(1);
});

test('remove: files that cannot be deleted do not bring the volume back', async () => {
  const { volumes, directories, events } = setUp();
  await volumes.create({ Name: 'data' });
  directories.failFinish = true;
  await volumes.remove('data', { force: false });
  expect(events().map(({ action }) => action)).toEqual(['create', 'destroy']);
  expect((await volumes.list(NONE)).Volumes).toEqual([]);
});

test('ensure: makes an anonymous volume that goes when nobody uses it', async () => {
  const { volumes, used, database } = setUp();
  expect(await volumes.ensure('anon', { anonymous: true })).toEqual({
    name: 'anon',
    mountpoint: '/root/volumes/anon/_data',
    driver: 'local',
    created: true,
  });
  expect((await volumes.ensure('anon', { anonymous: false })).created).toBe(false);
  used.set('anon', ['c1', 'c2']);
  await volumes.removeAnonymous('anon', 'c1');
  expect(database.volumes.all()).toHaveLength(1);
  used.set('anon', ['c2']);
  await volumes.removeAnonymous('anon', 'c2');
  await volumes.removeAnonymous('anon', 'c2');
  expect(database.volumes.all()).toEqual([]);
});

test('reserveAnonymous: a volume exists once it is stored, and undo takes it back', async () => {
  const { volumes, database, directories, events } = setUp();
  const reserved = await volumes.reserveAnonymous('anon', {});
  expect([(await volumes.list(NONE)).Volumes, database.volumes.all(), [...directories.present]]).toEqual([
    [],
    [],
    ['anon'],
  ]);
  reserved.store();
  expect(database.volumes.all()).toMatchObject([{ name: 'anon', anonymous: true }]);
  expect(await volumes.inspect('anon')).toMatchObject({ Labels: { 'com.docker.volume.anonymous': '' } });
  const again = await volumes.reserveAnonymous('anon', {});
  again.store();
  await again.undo();
  expect(await volumes.inspect('anon')).toMatchObject({ Name: 'anon' });
  await (await volumes.reserveAnonymous('unwanted', {})).undo();
  expect([...directories.present]).toEqual(['anon']);
  expect(events().map(({ action }) => action)).toEqual(['create']);
});

test('mounted and unmounted tell who and where', async () => {
  const { volumes, events } = setUp();
  await volumes.ensure('data', { anonymous: false });
  volumes.mounted('data', 'c1', { destination: '/x', readWrite: true, propagation: '' });
  volumes.unmounted('data', 'c1');
  expect(events().slice(1)).toEqual([
    {
      action: 'mount',
      actorId: 'data',
      attributes: {
        driver: 'local',
        container: 'c1',
        destination: '/x',
        'read/write': 'true',
        propagation: '',
      },
    },
    { action: 'unmount', actorId: 'data', attributes: { driver: 'local', container: 'c1' } },
  ]);
});

test.each<[Record<string, string[]>, string[]]>([
  [{}, ['db-data', 'free', 'web-data']],
  [{ name: ['data'] }, ['db-data', 'web-data']],
  [{ name: ['^db'] }, ['db-data']],
  [{ name: ['(', 'web-data$'] }, ['web-data']],
  [{ dangling: ['1'] }, ['free', 'web-data']],
  [{ dangling: ['false'] }, ['db-data']],
  [{ driver: ['loc'] }, ['db-data', 'free', 'web-data']],
  [{ label: ['tier'] }, ['db-data', 'web-data']],
  [{ label: ['tier=a=b'] }, ['web-data']],
  [{ label: ['toString'] }, []],
  [{ name: ['data'], dangling: ['true'] }, ['web-data']],
])('list: with %j', async (filters, names) => {
  const { volumes, used } = setUp();
  await volumes.create({ Name: 'web-data', Labels: { tier: 'a=b' } });
  await volumes.create({ Name: 'db-data', Labels: { tier: 'db' } });
  await volumes.create({ Name: 'free' });
  used.set('db-data', ['c1']);
  const { Volumes: found, Warnings } = await volumes.list(new Map(Object.entries(filters)));
  expect(found.map(({ Name }) => Name)).toEqual(names);
  expect(Warnings).toBeNull();
});

test.each<[Record<string, string[]>, string]>([
  [{ colour: ['red'] }, "invalid filter 'colour'"],
  [{ dangling: ['perhaps'] }, "invalid filter 'dangling=[perhaps]'"],
  [{ dangling: ['1', '0'] }, "invalid filter 'dangling=[1 0]'"],
])('list: refuses %j', async (filters, message) => {
  await expect(setUp().volumes.list(new Map(Object.entries(filters)))).rejects.toThrow(
    expect.objectContaining({ code: 'invalid_argument', message }),
  );
});

test('restore: knows the volumes of an earlier daemon', async () => {
  const { volumes, deps, directories } = setUp();
  await volumes.create({ Name: 'data', Labels: { a: 'b' } });
  const second = new Volumes(deps);
  await second.restore();
  expect(directories.restored).toEqual(['data']);
  expect(await second.inspect('data')).toEqual(await volumes.inspect('data'));
});

test.each<[Record<string, string[]>, string[]]>([
  [{}, ['unnamed']],
  [{ all: ['true'] }, ['free', 'unnamed', 'web-data']],
  [{ all: ['0'] }, ['unnamed']],
  [{ all: ['1'], label: ['tier=a=b'] }, ['web-data']],
  [{ all: ['1'], 'label!': ['tier'] }, ['free', 'unnamed']],
])('prune: with %j', async (filters, names) => {
  const { volumes, used, events } = setUp();
  await volumes.create({ Name: 'web-data', Labels: { tier: 'a=b' } });
  await volumes.create({ Name: 'in-use', Labels: { tier: 'db' } });
  await volumes.create({ Name: 'free' });
  await volumes.ensure('unnamed', { anonymous: true });
  used.set('in-use', ['c1']);
  const { VolumesDeleted, SpaceReclaimed } = await volumes.prune(new Map(Object.entries(filters)));
  expect(VolumesDeleted.toSorted()).toEqual(names);
  expect(SpaceReclaimed).toBe(names.length * 1000);
  expect(events().at(-1)).toEqual({
    action: 'prune',
    actorId: '',
    attributes: { reclaimed: String(names.length * 1000) },
  });
});

test.each<[Record<string, string[]>, string]>([
  [{ colour: ['red'] }, "invalid filter 'colour'"],
  [{ all: ['perhaps'] }, "invalid filter 'all=[perhaps]'"],
])('prune: refuses %j', async (filters, message) => {
  await expect(setUp().volumes.prune(new Map(Object.entries(filters)))).rejects.toThrow(
    expect.objectContaining({ code: 'invalid_argument', message }),
  );
});

const DISK = { type: 'ext4', device: '/dev/sdz', o: 'ro' };

test('driver options: the file system is mounted from the first holder to the last, over a restart', async () => {
  const { volumes, directories, deps, live } = setUp();
  await volumes.create({ Name: 'disk', DriverOpts: DISK });
  expect(await volumes.inspect('disk')).toMatchObject({ Options: DISK });
  await volumes.acquire('disk', 'c1');
  await volumes.acquire('disk', 'c2');
  await volumes.release('disk', 'c2');
  expect(directories.mounted.get('disk')).toBe('/dev/sdz');
  live.set('disk', ['c1']);
  const second = new Volumes(deps);
  await second.restore();
  await second.settle();
  expect(directories.mounted.has('disk')).toBe(true);
  await second.acquire('disk', 'c3');
  await second.release('disk', 'c3');
  expect(directories.mounted.has('disk')).toBe(true);
  live.clear();
  await second.release('disk', 'c1');
  expect(directories.mounted.has('disk')).toBe(false);
});

test('driver options: what an earlier daemon left mounted goes, and a volume is mounted to be filled', async () => {
  const { volumes, directories } = setUp();
  await volumes.create({ Name: 'disk', DriverOpts: DISK });
  directories.mounted.set('disk', 'left');
  await volumes.settle();
  expect(directories.mounted.has('disk')).toBe(false);
  await volumes.populate('disk', '/root', '/data');
  expect(directories.populated).toEqual(['disk from /dev/sdz at /root/volumes/disk/_data']);
  expect(directories.mounted.has('disk')).toBe(false);
});

test('size: in force from creation on, again after a start, and refused where it cannot be', async () => {
  const { volumes, directories, deps } = setUp();
  await volumes.create({ Name: 'small', DriverOpts: { size: '16m' } });
  await volumes.create({ Name: 'unlimited', DriverOpts: { size: '0' } });
  expect([...directories.limits]).toEqual([['small', 16 << 20]]);
  expect(await volumes.inspect('small')).toMatchObject({ Options: { size: '16m' } });
  directories.limits.clear();
  const second = new Volumes(deps);
  await second.restore();
  expect([...directories.limits]).toEqual([['small', 16 << 20]]);
  directories.obstacle = 'no quotas here';
  await expect(second.create({ Name: 'other', DriverOpts: { size: '1G' } })).rejects.toMatchObject({
    code: 'invalid_argument',
    message: 'create other: quota size requested but no quota support: no quotas here',
  });
  expect(directories.present.has('other')).toBe(false);
});
