import type { CgroupDriver } from '../cgroups/detect.ts';
import { boundingSetOf } from '../security/capabilities.ts';
import { readCgroupFacts } from './cgroup-facts.ts';
import type { ComponentName } from './components.ts';
import { readComponents } from './components.ts';
import type { HostFacts, HostRlimit } from './facts.ts';
import type { HostSource } from './source.ts';
import { isAtLeast } from './version.ts';
import { hostWarnings } from './warnings.ts';

/** Reads everything; the only slow part is asking the helper programs for their versions (a few ms each). */
export async function readHostFacts(
  source: HostSource,
  options: {
    cgroupDriver: CgroupDriver;
    /** Paths from the configuration; absent = looked up on the PATH. */
    paths?: Partial<Record<ComponentName, string>>;
  },
): Promise<HostFacts> {
  const read = (path: string): string => source.read(path)?.trim() ?? '';
  const status = read('/proc/self/status');
  const release = parseOsRelease(source.read('/etc/os-release') ?? source.read('/usr/lib/os-release') ?? '');
  const components = await readComponents(source, options.paths ?? {});
  const kernelVersion = read('/proc/sys/kernel/osrelease');
  const facts = {
    hostname: read('/proc/sys/kernel/hostname'),
    kernelVersion,
    operatingSystem: release.get('PRETTY_NAME') ?? release.get('NAME') ?? 'Linux',
    osVersion: release.get('VERSION_ID') ?? '',
    architecture: source.architecture,
    imageArchitecture: imageArchitectures[source.architecture] ?? source.architecture,
    cpus: countList(/^Cpus_allowed_list:\s*(\S+)$/m.exec(status)?.[1] ?? '0'),
    memoryBytes: Number(/^MemTotal:\s*(\d+) kB$/m.exec(read('/proc/meminfo'))?.[1] ?? 0) * 1024,
    cgroup: readCgroupFacts(source, options.cgroupDriver),
    cgroupNamespaces: source.exists('/proc/self/ns/cgroup'),
    userNamespaces: Number(read('/proc/sys/user/max_user_namespaces') || 0) > 0,
    seccomp: /^Seccomp:/m.test(status),
    apparmor:
      read('/sys/module/apparmor/parameters/enabled') === 'Y' &&
      source.exists('/sys/kernel/security/apparmor/profiles'),
    selinux: source.exists('/sys/fs/selinux/enforce'),
    overlay: hasOverlay(source, kernelVersion),
    ipv4Forwarding: read('/proc/sys/net/ipv4/ip_forward') === '1',
    bridgeNfIptables: read('/proc/sys/net/bridge/bridge-nf-call-iptables') === '1',
    bridgeNfIp6tables: read('/proc/sys/net/bridge/bridge-nf-call-ip6tables') === '1',
    recursiveReadOnly: isAtLeast(kernelVersion, '5.12') && isAtLeast(components.runc?.version ?? '0', '1.1'),
    thermalThrottlePaths: thermalThrottlePaths(source),
    boundingSet: boundingSetOf(status),
    rlimits: parseLimits(read('/proc/self/limits')),
    oomScoreAdj: Number(read('/proc/self/oom_score_adj') || 0),
    components,
  };
  return { ...facts, warnings: hostWarnings(facts) };
}

/** uname(2) machine names -> GOARCH, the vocabulary of images and of seccomp profiles. */
const imageArchitectures: Record<string, string> = {
  x86_64: 'amd64',
  aarch64: 'arm64',
  armv7l: 'arm',
  i686: '386',
  riscv64: 'riscv64',
  s390x: 's390x',
  ppc64le: 'ppc64le',
  loongarch64: 'loong64',
};

/** Names of proc(5) limits -> the names clients use for ulimits. */
const limitNames: Record<string, string> = {
  'Max cpu time': 'cpu',
  'Max file size': 'fsize',
  'Max data size': 'data',
  'Max stack size': 'stack',
  'Max core file size': 'core',
  'Max resident set': 'rss',
  'Max processes': 'nproc',
  'Max open files': 'nofile',
  'Max locked memory': 'memlock',
  'Max file locks': 'locks',
  'Max pending signals': 'sigpending',
  'Max msgqueue size': 'msgqueue',
  'Max nice priority': 'nice',
  'Max realtime priority': 'rtprio',
  'Max realtime timeout': 'rttime',
};

function parseLimits(text: string): Record<string, HostRlimit> {
  const entries = [...text.matchAll(/^(Max [a-z ]+?)\s{2,}(\d+|unlimited)\s+(\d+|unlimited)\b/gm)];
  return Object.fromEntries(
    entries.flatMap(([, title = '', soft = '', hard = '']) => {
      const name = limitNames[title];
      return name === undefined ? [] : [[name, { soft: limitOf(soft), hard: limitOf(hard) }]];
    }),
  );
}

function limitOf(word: string): number | null {
  return word === 'unlimited' ? null : Number(word);
}

function parseOsRelease(text: string): Map<string, string> {
  const lines = [...text.matchAll(/^([A-Z_]+)=(["']?)(.*)\2$/gm)];
  return new Map(lines.map(([, key = '', , value = '']) => [key, value]));
}

/** Numbers in a list like `0-3,8`. */
function countList(list: string): number {
  return list.split(',').reduce((sum, range) => {
    const [first = 0, last = first] = range.split('-').map(Number);
    return sum + last - first + 1;
  }, 0);
}

/** There, or a module that the first mount loads: after a boot it is not loaded yet. */
function hasOverlay(source: HostSource, kernelVersion: string): boolean {
  return (
    /\boverlay$/m.test(source.read('/proc/filesystems') ?? '') ||
    /\/overlay\.ko(\.\w+)?:/.test(source.read(`/lib/modules/${kernelVersion}/modules.dep`) ?? '')
  );
}

function thermalThrottlePaths(source: HostSource): string[] {
  const last = /(\d+)\s*$/.exec(source.read('/sys/devices/system/cpu/possible') ?? '')?.[1] ?? '0';
  return Array.from(
    { length: Number(last) + 1 },
    (_, cpu) => `/sys/devices/system/cpu/cpu${cpu}/thermal_throttle`,
  ).filter((path) => source.exists(path));
}
