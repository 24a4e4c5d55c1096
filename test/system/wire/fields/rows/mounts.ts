import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import type { MountRequest } from '../../../../../api/types/host-config.ts';
import type { FieldRow, KernelMount, Look, World } from '../table.ts';

const AT = '/at';
type Seen = Partial<KernelMount> | undefined;

/** A row about one entry of Mounts at /at. */
function mountRow(
  fields: readonly string[],
  what: string,
  mount: MountRequest | ((world: World) => MountRequest),
  observe: (look: Look) => unknown,
  expected: unknown,
): FieldRow {
  return {
    field: fields.map((field) => `HostConfig.Mounts.${field}`),
    what,
    ask: (world) => {
      const request = typeof mount === 'function' ? mount(world) : mount;
      return { HostConfig: { Mounts: [{ Target: AT, ...request }] } };
    },
    observe,
    expected,
  };
}

function source(world: World): string {
  const folder = world.folder('source');
  writeFileSync(`${folder}/file`, 'of the host');
  return folder;
}

const isReadOnly = async (look: Look): Promise<boolean | undefined> =>
  (await look.mount(AT))?.options.includes('ro');

const propagation = async (look: Look): Promise<Seen> => {
  const mount = await look.mount(AT);
  return { propagation: mount?.propagation ?? [] };
};

const volumeOf = async (look: Look): Promise<Record<string, unknown>> => {
  const [mount] = (await look.inspect()).Mounts;
  return look.engine.http.ok('GET', `/volumes/${mount?.Name}`);
};

/** Mounts propagate only from a mount that is shared itself. */
function sharedSource(world: World): string {
  const folder = world.folder('shared');
  execFileSync('mount', ['-t', 'tmpfs', 'tmpfs', folder]);
  execFileSync('mount', ['--make-shared', folder]);
  return folder;
}

const propagationRows = (['rprivate', 'private', 'rslave', 'slave', 'rshared', 'shared'] as const).map(
  (mode): FieldRow =>
    mountRow(
      ['BindOptions.Propagation'],
      mode,
      (world) => ({ Type: 'bind', Source: sharedSource(world), BindOptions: { Propagation: mode } }),
      propagation,
      { propagation: mode.endsWith('private') ? [] : [mode.endsWith('slave') ? 'master' : 'shared'] },
    ),
);

export const mountRows: readonly FieldRow[] = [
  {
    field: 'Volumes',
    what: 'an anonymous volume at each',
    ask: { Volumes: { [AT]: {} } },
    observe: async (look) => {
      const { Mountpoint } = await volumeOf(look);
      return [(await look.mount(AT))?.root === Mountpoint, (await look.inspect()).Mounts[0]?.Type];
    },
    expected: [true, 'volume'],
  },
  {
    field: 'HostConfig.Binds',
    what: 'a folder of the host',
    ask: (world) => ({ HostConfig: { Binds: [`${source(world)}:${AT}`] } }),
    observe: (look) => look.shell(`cat ${AT}/file; touch ${AT}/written && echo rw`),
    expected: 'of the hostrw',
  },
  {
    field: 'HostConfig.Binds',
    what: 'ro',
    ask: (world) => ({ HostConfig: { Binds: [`${source(world)}:${AT}:ro`] } }),
    observe: isReadOnly,
    expected: true,
  },
  {
    field: 'HostConfig.Binds',
    what: 'z and Z, which mean nothing without SELinux',
    ask: (world) => ({ HostConfig: { Binds: [`${source(world)}:${AT}:z`, `${source(world)}:/other:ro,Z`] } }),
    observe: async (look) => [
      await isReadOnly(look),
      (await look.inspect()).Mounts.map(({ Mode }) => Mode).toSorted(),
    ],
    expected: [false, ['ro,Z', 'z']],
  },
  {
    field: 'HostConfig.Binds',
    what: 'nocopy leaves a new volume empty',
    ask: { HostConfig: { Binds: [`uncopied:/bin2`, 'uncopied2:/etc:nocopy'] } },
    observe: (look) => look.shell('ls -A /etc | grep -vE "^(hosts|hostname|resolv.conf)$"'),
    expected: '',
  },
  {
    field: 'HostConfig.Tmpfs',
    ask: { HostConfig: { Tmpfs: { [AT]: 'size=1m,mode=1770,exec' } } },
    observe: async (look) => {
      const { type, superOptions, options } = (await look.mount(AT)) ?? {};
      return [type, superOptions?.filter((each) => /size|mode/.test(each)), options?.includes('noexec')];
    },
    expected: ['tmpfs', ['size=1024k', 'mode=1770'], false],
  },
  mountRow(
    ['Type', 'Source', 'ImageOptions.Subpath'],
    'a part of an image, which nobody can change',
    { Type: 'image', Source: 'busybox', ImageOptions: { Subpath: 'bin' } },
    async (look) => [
      await look.shell(`test -e ${AT}/busybox && echo there; touch ${AT}/x 2>&1`),
      await isReadOnly(look),
    ],
    [`there\ntouch: ${AT}/x: Read-only file system`, true],
  ),
  {
    field: 'HostConfig.VolumesFrom',
    ask: async (world) => {
      await world.neighbour({ Binds: [`${source(world)}:${AT}`] });
      return { HostConfig: { VolumesFrom: ['neighbour:ro'] } };
    },
    observe: async (look) => [await look.inside('cat', `${AT}/file`), await isReadOnly(look)],
    expected: ['of the host', true],
  },
  {
    field: 'HostConfig.VolumeDriver',
    what: 'local, of volumes that name none',
    ask: { Volumes: { [AT]: {} }, HostConfig: { VolumeDriver: 'local' } },
    observe: async (look) => (await look.inspect()).Mounts.map(({ Driver }) => Driver),
    expected: ['local'],
  },
  {
    field: 'HostConfig.ReadonlyRootfs',
    ask: { HostConfig: { ReadonlyRootfs: true } },
    observe: async (look) => [
      (await look.mount('/'))?.options.includes('ro'),
      await look.inside('touch', '/x'),
    ],
    expected: [true, 'touch: /x: Read-only file system'],
  },
  {
    field: 'HostConfig.ShmSize',
    ask: { HostConfig: { ShmSize: 2 * 1024 * 1024 } },
    observe: async (look) =>
      (await look.mount('/dev/shm'))?.superOptions.find((each) => each.startsWith('size')),
    expected: 'size=2048k',
  },
  {
    field: 'HostConfig.Runtime',
    ask: { HostConfig: { Runtime: 'runc' } },
    observe: async (look) => (await look.inspect()).HostConfig.Runtime,
    expected: 'runc',
  },
  mountRow(
    ['Type', 'Source', 'Target'],
    'bind',
    (world) => ({ Type: 'bind', Source: source(world) }),
    (look) => look.inside('cat', `${AT}/file`),
    'of the host',
  ),
  mountRow(
    ['ReadOnly'],
    'bind',
    (world) => ({ Type: 'bind', Source: source(world), ReadOnly: true }),
    isReadOnly,
    true,
  ),
  mountRow(
    ['Consistency'],
    'is of file sharing into virtual machines, and accepted',
    (world) => ({ Type: 'bind', Source: source(world), Consistency: 'delegated' }),
    isReadOnly,
    false,
  ),
  mountRow(
    ['BindOptions.NonRecursive'],
    'leaves out what is mounted below',
    { Type: 'bind', Source: '/dev', BindOptions: { NonRecursive: true } },
    (look) => look.shell(`ls ${AT}/shm ${AT}/pts | grep -c .; grep -c " ${AT}/" /proc/mounts`),
    // The names of the two folders and the blank line between.
    '2\n0',
  ),
  mountRow(
    ['BindOptions.CreateMountpoint'],
    'makes a missing source',
    (world) => ({
      Type: 'bind',
      Source: `${world.folder('parent')}/missing`,
      BindOptions: { CreateMountpoint: true },
    }),
    (look) => look.shell(`test -d ${AT} && echo made`),
    'made',
  ),
  mountRow(
    ['BindOptions.ReadOnlyNonRecursive'],
    'keeps mounts below writable',
    { Type: 'bind', Source: '/dev', ReadOnly: true, BindOptions: { ReadOnlyNonRecursive: true } },
    async (look) => [await isReadOnly(look), (await look.mount(`${AT}/shm`))?.options.includes('ro')],
    [true, false],
  ),
  mountRow(
    ['BindOptions.ReadOnlyForceRecursive'],
    'makes mounts below read-only',
    { Type: 'bind', Source: '/dev', ReadOnly: true, BindOptions: { ReadOnlyForceRecursive: true } },
    async (look) => [await isReadOnly(look), (await look.mount(`${AT}/shm`))?.options.includes('ro')],
    [true, true],
  ),
  mountRow(
    ['VolumeOptions.NoCopy'],
    'leaves a new volume empty',
    { Type: 'volume', Target: '/etc', VolumeOptions: { NoCopy: true } },
    (look) => look.shell('ls /etc/passwd 2>&1'),
    'ls: /etc/passwd: No such file or directory',
  ),
  mountRow(
    ['VolumeOptions.DriverConfig.Options'],
    'what the volume is made of',
    {
      Type: 'volume',
      Source: 'made-of-memory',
      VolumeOptions: { DriverConfig: { Options: { type: 'tmpfs', device: 'tmpfs', o: 'size=2m' } } },
    },
    async (look) => {
      const mount = await look.mount(AT);
      return [mount?.type, mount?.superOptions.includes('size=2048k')];
    },
    ['tmpfs', true],
  ),
  mountRow(
    ['VolumeOptions.Labels', 'VolumeOptions.DriverConfig.Name'],
    'of the new volume',
    {
      Type: 'volume',
      Source: 'labelled',
      VolumeOptions: { Labels: { a: '1' }, DriverConfig: { Name: 'local' } },
    },
    async (look) => {
      const { Labels, Driver } = await volumeOf(look);
      return { Labels, Driver };
    },
    { Labels: { a: '1' }, Driver: 'local' },
  ),
  {
    field: 'HostConfig.Mounts.VolumeOptions.Subpath',
    ask: async (world) => {
      const neighbour = await world.neighbour({ Binds: ['parted:/v'] });
      await world.engine.exec(neighbour, ['sh', '-c', 'mkdir -p /v/a/b && echo hello >/v/a/b/c']);
      const VolumeOptions = { Subpath: 'a/b' };
      return { HostConfig: { Mounts: [{ Type: 'volume', Source: 'parted', Target: AT, VolumeOptions }] } };
    },
    observe: (look) => look.inside('cat', `${AT}/c`),
    expected: 'hello',
  },
  mountRow(
    ['TmpfsOptions.SizeBytes', 'TmpfsOptions.Mode'],
    'tmpfs',
    { Type: 'tmpfs', TmpfsOptions: { SizeBytes: 1024 * 1024, Mode: 0o1711 } },
    async (look) => (await look.mount(AT))?.superOptions.filter((each) => /size|mode/.test(each)),
    ['size=1024k', 'mode=1711'],
  ),
  mountRow(
    ['TmpfsOptions.Options'],
    'tmpfs',
    { Type: 'tmpfs', TmpfsOptions: { Options: [['noexec']] } },
    async (look) => (await look.mount(AT))?.options.includes('noexec'),
    true,
  ),
  ...propagationRows,
];
