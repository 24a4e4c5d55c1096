import type { OciMount } from '../../../runtime/runc/spec-types.ts';
import { invariant, unreachable } from '../../base/errors.ts';
import type { ContainerSpec } from '../request/container-spec.ts';
import type { EngineDefaults } from '../request/engine-defaults.ts';
import { sortByDepth } from '../request/mounts/mount-points.ts';
import type { BindMount, ResolvedMount, VolumeMount } from '../request/mounts/resolved-mount.ts';
import { hasInit, INIT_PATH } from './process.ts';

export interface MountFacts {
  defaults: EngineDefaults;
  /** Files of the engine that appear in /etc. */
  files: { hostname: string; hosts: string; resolvConf: string };
  /** Where on the host /dev/shm is when the container shares it. */
  sharedMemory: string;
  /** Directory on the host of each volume, by name. */
  volumePaths: ReadonlyMap<string, string>;
  /** Where on the host the part of a volume or the image is that is to be seen, by destination. */
  pinnedSources: ReadonlyMap<string, string>;
  initPath: string | undefined;
  recursiveReadOnly: boolean;
}

type OwnMountFacts = Pick<MountFacts, 'files' | 'volumePaths' | 'pinnedSources' | 'recursiveReadOnly'>;

/** The kernel's own file systems, as every Docker-compatible engine shows them. */
const KERNEL_MOUNTS: readonly Required<OciMount>[] = [
  { destination: '/proc', type: 'proc', source: 'proc', options: ['nosuid', 'noexec', 'nodev'] },
  {
    destination: '/dev',
    type: 'tmpfs',
    source: 'tmpfs',
    options: ['nosuid', 'strictatime', 'mode=755', 'size=65536k'],
  },
  {
    destination: '/dev/pts',
    type: 'devpts',
    source: 'devpts',
    options: ['nosuid', 'noexec', 'newinstance', 'ptmxmode=0666', 'mode=0620', 'gid=5'],
  },
  { destination: '/sys', type: 'sysfs', source: 'sysfs', options: ['nosuid', 'noexec', 'nodev', 'ro'] },
  {
    destination: '/sys/fs/cgroup',
    type: 'cgroup',
    source: 'cgroup',
    options: ['ro', 'nosuid', 'noexec', 'nodev'],
  },
  { destination: '/dev/mqueue', type: 'mqueue', source: 'mqueue', options: ['nosuid', 'noexec', 'nodev'] },
];

/** Every mount of a container, in the order they are made. Pure. */
export function translateMounts(spec: ContainerSpec, facts: MountFacts): OciMount[] {
  const isFree = freeTest(spec);
  return [
    ...kernelMounts(spec).filter(isFree),
    ...sharedMemory(spec, facts).filter(isFree),
    ...ownMounts(spec, facts),
    ...initBinary(spec, facts),
  ];
}

/** Those of the specification, and the engine's files in /etc: what a container has of files beside its root. Pure. */
export function ownMounts(spec: ContainerSpec, facts: OwnMountFacts): OciMount[] {
  return sortByDepth([
    ...identityFiles(spec, facts).filter(freeTest(spec)),
    ...spec.mounts.map((mount) => translateMount(mount, facts)),
  ]);
}

function freeTest(spec: ContainerSpec): (mount: OciMount) => boolean {
  const taken = new Set(spec.mounts.map((mount) => mount.destination));
  return ({ destination }) =>
    !taken.has(destination) && !(taken.has('/dev') && destination.startsWith('/dev/'));
}

function kernelMounts(spec: ContainerSpec): OciMount[] {
  const writable = spec.hostConfig.Privileged ? ['/sys', '/sys/fs/cgroup'] : [];
  return KERNEL_MOUNTS.map((mount) => ({
    ...mount,
    options: mount.options.filter((option) => option !== 'ro' || !writable.includes(mount.destination)),
  }));
}

function sharedMemory({ hostConfig }: ContainerSpec, facts: MountFacts): OciMount[] {
  const destination = '/dev/shm';
  const shared = (source: string): OciMount[] => [
    { destination, type: 'bind', source, options: ['rbind', 'rprivate'] },
  ];
  switch (hostConfig.IpcMode) {
    case 'none':
      return [];
    case 'host':
      return shared('/dev/shm');
    case 'private':
      return [
        {
          destination,
          type: 'tmpfs',
          source: 'shm',
          options: ['nosuid', 'noexec', 'nodev', 'mode=1777', `size=${hostConfig.ShmSize}`],
        },
      ];
    default:
      // `shareable` or `container:<id>`.
      return shared(facts.sharedMemory);
  }
}

function identityFiles({ hostConfig, ofCommand }: ContainerSpec, { files }: OwnMountFacts): OciMount[] {
  if (ofCommand) {
    // As BuildKit has them: nobody writes to them, and /etc/hostname is the image's own.
    const locked = ['nosuid', 'noexec', 'nodev', 'rbind', 'ro'];
    return [
      { destination: '/etc/resolv.conf', type: 'bind', source: files.resolvConf, options: locked },
      { destination: '/etc/hosts', type: 'bind', source: files.hosts, options: locked },
    ];
  }
  const options = ['rbind', ...(hostConfig.ReadonlyRootfs ? ['ro'] : []), 'rprivate'];
  return [
    { destination: '/etc/resolv.conf', type: 'bind', source: files.resolvConf, options },
    { destination: '/etc/hostname', type: 'bind', source: files.hostname, options },
    { destination: '/etc/hosts', type: 'bind', source: files.hosts, options },
  ];
}

function initBinary(spec: ContainerSpec, facts: MountFacts): OciMount[] {
  if (!hasInit(spec, facts.defaults)) {
    return [];
  }
  invariant(facts.initPath !== undefined, 'a container with Init was created without an init binary');
  return [{ destination: INIT_PATH, type: 'bind', source: facts.initPath, options: ['bind', 'ro'] }];
}

function translateMount(mount: ResolvedMount, facts: OwnMountFacts): OciMount {
  const { destination } = mount;
  switch (mount.type) {
    case 'bind':
      return { destination, type: 'bind', source: mount.source, options: bindOptions(mount, facts) };
    case 'volume':
      return {
        destination,
        type: 'bind',
        source: volumePath(mount, facts),
        options: ['rbind', ...(mount.rw ? [] : [readOnlyOption(facts)])],
      };
    case 'image':
      return {
        destination,
        type: 'bind',
        source: facts.pinnedSources.get(destination) ?? '',
        options: ['rbind', readOnlyOption(facts)],
      };
    case 'tmpfs':
      return { destination, type: 'tmpfs', source: 'tmpfs', options: mount.options };
    default:
      return unreachable(mount);
  }
}

function bindOptions(mount: BindMount, facts: OwnMountFacts): string[] {
  const readOnly = mount.readOnlyDepth === 'top' ? 'ro' : readOnlyOption(facts);
  return [mount.nonRecursive ? 'bind' : 'rbind', ...(mount.rw ? [] : [readOnly]), mount.propagation];
}

/** `ro` alone leaves mounts below the source writable. */
function readOnlyOption({ recursiveReadOnly }: OwnMountFacts): string {
  return recursiveReadOnly ? 'rro' : 'ro';
}

function volumePath(mount: VolumeMount, { volumePaths, pinnedSources }: OwnMountFacts): string {
  if (mount.subpath) {
    // Never the whole volume instead.
    return pinnedSources.get(mount.destination) ?? '';
  }
  const path = volumePaths.get(mount.name);
  invariant(path !== undefined, `no path for volume ${mount.name}`);
  return path;
}

/** What the container's root must propagate so that its shared and slave binds work (mount_namespaces(7)). */
export function rootPropagation(mounts: readonly ResolvedMount[]): 'shared' | 'rslave' | undefined {
  const wanted = mounts.flatMap((mount) => (mount.type === 'bind' ? [mount.propagation] : []));
  if (wanted.some((propagation) => propagation.endsWith('shared'))) {
    return 'shared';
  }
  return wanted.some((propagation) => propagation.endsWith('slave')) ? 'rslave' : undefined;
}
