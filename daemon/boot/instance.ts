import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { CgroupDriver } from '../../runtime/cgroups/detect.ts';
import type { Config } from './config/settings.ts';

/**
 * Everything in the kernel and on disk that this daemon calls its own, by name. All of it derives from the
 * configuration, so that several daemons share a host without meeting, and a sweep knows which daemon owns what.
 */
export interface Instance {
  /** Bridge of the default network, if there is to be one. */
  bridge: string;
  hasDefaultNetwork: boolean;
  /** True when the bridge was made by the administrator and is only used. */
  isForeignBridge: boolean;
  nftTable: string;
  /** Starts every interface name of ours; exactly 5 characters, and 10 follow. No two instances' begin alike. */
  interfacePrefix: string;
  /** `/berth` for cgroupfs, `berth.slice` for systemd. */
  cgroupParent: (driver: CgroupDriver) => string;
  /** From `exec-opts`; null = the host decides. */
  cgroupDriver: CgroupDriver | null;
  paths: InstancePaths;
}

export interface InstancePaths {
  dataRoot: string;
  execRoot: string;
  database: string;
  layers: string;
  containers: string;
  volumes: string;
  /** Directories of cache mounts of builds. */
  builds: string;
  /** Half-written things; emptied at each start. */
  temporary: string;
  /** Where network namespaces are pinned. */
  networkNamespaces: string;
  /** Where those of overlay networks are pinned. */
  overlayNamespaces: string;
  /** What is known of a swarm's networks. */
  overlayFiles: string;
}

/** Characters of an interface name, by the kernel (IFNAMSIZ without its NUL). */
const INTERFACE_NAME_MAX = 15;

/** Pure. */
export function instanceOf(config: Config): Instance {
  const { instance, dataRoot, execRoot } = config;
  const suffix = instance === '' ? '' : `-${instance}`;
  return {
    bridge: config.bridge === 'none' || config.bridge === '' ? bridgeName(instance) : config.bridge,
    hasDefaultNetwork: config.bridge !== 'none',
    isForeignBridge: config.bridge !== '' && config.bridge !== 'none',
    nftTable: instance === '' ? 'berth' : `berth_${instance.replaceAll('-', '_')}`,
    interfacePrefix: interfacePrefix(instance),
    cgroupParent: (driver) =>
      config.cgroupParent ||
      // A dash in the name of a slice means nesting, which has no place here.
      (driver === 'systemd' ? `berth${suffix.replaceAll('-', '_')}.slice` : `/berth${suffix}`),
    cgroupDriver: cgroupDriver(config.execOpts),
    paths: {
      dataRoot,
      execRoot,
      database: join(dataRoot, 'berth.db'),
      layers: join(dataRoot, 'layers'),
      containers: join(dataRoot, 'containers'),
      volumes: join(dataRoot, 'volumes'),
      builds: join(dataRoot, 'builds'),
      temporary: join(dataRoot, 'tmp'),
      networkNamespaces: join(execRoot, 'netns'),
      overlayNamespaces: join(execRoot, 'overlays'),
      overlayFiles: join(dataRoot, 'overlays'),
    },
  };
}

function bridgeName(instance: string): string {
  if (instance === '') {
    return 'berth0';
  }
  const name = `berth-${instance}`;
  return name.length <= INTERFACE_NAME_MAX ? name : `br-${digest(instance).toString(36).slice(0, 12)}`;
}

/** `berth`, or `b`, a digit and three characters of the name's digest: never `berth`. */
function interfacePrefix(instance: string): string {
  if (instance === '') {
    return 'berth';
  }
  const number = digest(instance);
  return `b${number % 10n}${(number / 10n).toString(36).padStart(3, '0').slice(0, 3)}`;
}

function digest(text: string): bigint {
  return createHash('sha256').update(text).digest().readBigUInt64BE();
}

function cgroupDriver(execOpts: readonly string[]): CgroupDriver | null {
  const asked = execOpts.at(-1);
  if (asked === undefined) {
    return null;
  }
  return asked === 'native.cgroupdriver=systemd' ? 'systemd' : 'cgroupfs';
}
