import { lstatSync, readdirSync, realpathSync, statSync } from 'node:fs';
import type { BigIntStats } from 'node:fs';
import { join } from 'node:path';
import type { DeviceMapping } from '../../../api/types/host-config.ts';
import type { OciDevice, OciDeviceRule } from '../../../runtime/runc/spec-types.ts';
import { errnoOf, ifThere, errorText, invalidArgument, invariant } from '../../base/errors.ts';
import type { NormalHostConfig } from '../request/container-spec.ts';
import type { DeviceNumber } from './resources.ts';

/** Device nodes a container gets beside the default ones, and what it may do with them. */
export interface HostDevices {
  devices: OciDevice[];
  rules: OciDeviceRule[];
}

/** Directories of /dev whose contents are not devices of the host, or are made anew in every container. */
const SKIPPED_DIRECTORIES = new Set(['pts', 'shm', 'fd', 'mqueue', '.lxc', '.lxd-mounts', '.udev']);
/** A container's console is its own. */
const CONSOLE = '/dev/console';

/**
 * Looks up the devices of the host that a container is given: those asked for, and with Privileged all there are.
 * The paths are the client's, and a client is as good as root here. Throws invalid_argument for one that is no device.
 */
export function readHostDevices(host: NormalHostConfig): HostDevices {
  const mappings = host.Devices ?? [];
  if (!host.Privileged) {
    const found = mappings.map(readMapping);
    return { devices: found.flatMap(({ devices }) => devices), rules: found.flatMap(({ rules }) => rules) };
  }
  const elsewhere = mappings.filter(({ PathOnHost, PathInContainer }) => PathOnHost !== PathInContainer);
  return {
    devices: [...walk('/dev'), ...elsewhere.flatMap((mapping) => readMapping(mapping).devices)],
    rules: [],
  };
}

/** As `readBlockDevices`, but what is no block device any more is left out. */
export function knownBlockDevices(host: NormalHostConfig): Map<string, DeviceNumber> {
  const found = blockPaths(host).map(
    (path) => [path, statSync(path, { bigint: true, throwIfNoEntry: false })] as const,
  );
  return new Map(
    found.flatMap(([path, stat]) =>
      stat?.isBlockDevice() === true ? [[path, numberOf(stat)] as const] : [],
    ),
  );
}

/** Device numbers of paths named in Blkio limits. Throws invalid_argument for one that is no block device. */
export function readBlockDevices(host: NormalHostConfig): Map<string, DeviceNumber> {
  return new Map(
    blockPaths(host).map((path) => {
      const stat = statBlockDevice(path);
      if (!stat.isBlockDevice()) {
        throw invalidArgument(`Blkio limits: ${path} is not a block device`);
      }
      return [path, numberOf(stat)];
    }),
  );
}

function blockPaths(host: NormalHostConfig): string[] {
  const named = [
    ...(host.BlkioWeightDevice ?? []),
    ...(host.BlkioDeviceReadBps ?? []),
    ...(host.BlkioDeviceWriteBps ?? []),
    ...(host.BlkioDeviceReadIOps ?? []),
    ...(host.BlkioDeviceWriteIOps ?? []),
  ];
  return named.map(({ Path }) => Path);
}

function statBlockDevice(path: string): BigIntStats {
  try {
    return statSync(path, { bigint: true });
  } catch (error) {
    throw invalidArgument(`Blkio limits: stat ${path}: ${reason(error)}`, { cause: error });
  }
}

function readMapping(mapping: DeviceMapping): HostDevices {
  const { PathOnHost, PathInContainer = PathOnHost, CgroupPermissions: access = 'rwm' } = mapping;
  const devices = findDevices(PathOnHost, PathInContainer);
  return {
    devices,
    rules: devices.map(({ type, major, minor }) => ({
      allow: true,
      type: type === 'b' ? 'b' : 'c',
      ...(major !== undefined && { major }),
      ...(minor !== undefined && { minor }),
      access,
    })),
  };
}

/** The device node at a path of the host. Throws invalid_argument where there is none. */
export function readDevice(path: string): OciDevice {
  const [device] = findDevices(path, path);
  invariant(device !== undefined, `${path} is a device`);
  return device;
}

function findDevices(pathOnHost: string, pathInContainer: string): OciDevice[] {
  const fail = (why: string, cause?: unknown): Error =>
    invalidArgument(`error gathering device information while adding custom device "${pathOnHost}": ${why}`, {
      cause,
    });
  try {
    const resolved = realpathSync(pathOnHost);
    const stat = lstatSync(resolved, { bigint: true });
    const devices = stat.isDirectory()
      ? walk(resolved).map((device) => ({
          ...device,
          path: pathInContainer + device.path.slice(resolved.length),
        }))
      : [toDevice(pathInContainer, stat)].filter((device) => device !== undefined);
    if (devices.length > 0) {
      return devices;
    }
  } catch (error) {
    throw fail(reason(error), error);
  }
  throw fail('not a device node');
}

/** Every device node below a directory of the host. */
function walk(directory: string): OciDevice[] {
  return readdirSync(directory, { withFileTypes: true }).flatMap((entry) => {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) {
      return SKIPPED_DIRECTORIES.has(entry.name) ? [] : walk(path);
    }
    if ((!entry.isCharacterDevice() && !entry.isBlockDevice()) || path === CONSOLE) {
      return [];
    }
    const device = statIfThere(path);
    return device === undefined ? [] : [device];
  });
}

function statIfThere(path: string): OciDevice | undefined {
  // Unplugged since the directory was read.
  return ifThere(() => toDevice(path, lstatSync(path, { bigint: true })));
}

function toDevice(path: string, stat: BigIntStats): OciDevice | undefined {
  if (!stat.isCharacterDevice() && !stat.isBlockDevice()) {
    return undefined;
  }
  return {
    type: stat.isBlockDevice() ? 'b' : 'c',
    path,
    ...numberOf(stat),
    fileMode: Number(stat.mode & 0o7777n),
    uid: Number(stat.uid),
    gid: Number(stat.gid),
  };
}

/** makedev(3): the major number is split around the minor one. */
function numberOf({ rdev }: BigIntStats): DeviceNumber {
  return {
    major: Number(((rdev >> 8n) & 0xfffn) | ((rdev >> 32n) & 0xfffff000n)),
    minor: Number((rdev & 0xffn) | ((rdev >> 12n) & 0xffffff00n)),
  };
}

function reason(error: unknown): string {
  return errnoOf(error) === 'ENOENT' ? 'no such file or directory' : errorText(error);
}
