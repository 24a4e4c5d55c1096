import { createHash } from 'node:crypto';
import type { ContainerConfig } from '../../../../api/types/container.ts';
import type { HostConfig, MountRequest } from '../../../../api/types/host-config.ts';
import { invalidArgument } from '../../../base/errors.ts';
import { checkVolumeName } from '../../../../storage/volumes/volume-name.ts';
import { parseBind, PROPAGATIONS } from './binds.ts';
import type { BindMount, ImageMount, ResolvedMount, TmpfsMount, VolumeMount } from './resolved-mount.ts';
import { cleanPath, problemOfDestination } from '../container-path.ts';
import { abridged, notSupportedYet, problemOfLength } from '../refuse.ts';
import { tmpfsOptions, tmpfsTextOf } from './tmpfs-options.ts';

/** The mode dockerd shows for a volume without one; means something with SELinux only. */
const SHARED_LABEL = 'z';

export interface MountInput {
  id: string;
  config: ContainerConfig;
  hostConfig: HostConfig;
  selinux: boolean;
  recursiveReadOnly: boolean;
  hostPathExists: (path: string) => boolean;
  /** The id of the image of this name; undefined when there is none. */
  findImage: (ref: string) => string | undefined;
  /** Of the containers in VolumesFrom: whatever this container has of its own at a destination comes first. */
  inherited: readonly ResolvedMount[];
}

/**
 * Everything mounted into a container: Binds, Mounts, Tmpfs, then the mounts of VolumesFrom and an anonymous volume
 * for each of Volumes that nothing else covers. Sorted by depth, so that no mount hides one made before. Pure but for
 * `hostPathExists` and `findImage`.
 */
export function resolveMounts(input: MountInput): ResolvedMount[] {
  const { config, hostConfig } = input;
  const explicit = [
    ...(hostConfig.Binds ?? []).map((text) => ofBind(text, input)),
    ...(hostConfig.Mounts ?? []).map((request) => ofMountRequest(request, input)),
  ];
  const taken = new Map<string, ResolvedMount>();
  for (const mount of [...explicit, ...Object.entries(hostConfig.Tmpfs ?? {}).map(ofTmpfs)]) {
    if (taken.has(mount.destination)) {
      throw invalidArgument(`Duplicate mount point: ${mount.destination}`);
    }
    taken.set(mount.destination, mount);
  }
  for (const mount of input.inherited) {
    if (!taken.has(mount.destination)) {
      taken.set(mount.destination, mount);
    }
  }
  for (const path of Object.keys(config.Volumes ?? {})) {
    const problem = problemOfDestination(path);
    if (problem !== undefined) {
      throw invalidArgument(`invalid volume specification: '${abridged(path)}': ${problem}`);
    }
    const destination = cleanPath(path);
    if (!taken.has(destination)) {
      taken.set(destination, volume(input, { name: '', destination, mode: '', readOnly: false }));
    }
  }
  return sortByDepth([...taken.values()]);
}

/** Parents before children; otherwise in the order given. */
export function sortByDepth<T extends { destination: string }>(mounts: readonly T[]): T[] {
  const depth = (mount: T): number => mount.destination.split('/').length;
  return mounts.toSorted((one, other) => depth(one) - depth(other));
}

function ofBind(text: string, input: MountInput): ResolvedMount {
  const bind = parseBind(text);
  if (input.selinux && /(?:^|,)[zZ](?:,|$)/.test(bind.mode)) {
    // Without SELinux there are no labels to change, so there the letter has nothing to do.
    throw notSupportedYet('Binds', text);
  }
  if (bind.kind === 'volume') {
    return volume(input, { ...bind, name: bind.source, mode: bind.mode || SHARED_LABEL });
  }
  return {
    type: 'bind',
    source: bind.source,
    destination: bind.destination,
    mode: bind.mode,
    rw: !bind.readOnly,
    propagation: bind.propagation || 'rprivate',
    createMountpoint: true,
    nonRecursive: false,
    readOnlyDepth: 'recursive-if-possible',
  };
}

function ofTmpfs([path, options]: [string, string]): TmpfsMount {
  const problem = problemOfDestination(path);
  if (problem !== undefined) {
    throw invalidArgument(problem);
  }
  return tmpfs(cleanPath(path), options, true);
}

function tmpfs(destination: string, text: string, isHidden: boolean): TmpfsMount {
  const options = tmpfsOptions(text);
  return { type: 'tmpfs', destination, mode: '', rw: !options.includes('ro'), options, isHidden };
}

/** Of Binds and Volumes, for which VolumeDriver is. */
function volume(
  { id, hostConfig }: Pick<MountInput, 'id' | 'hostConfig'>,
  from: { name: string; destination: string; mode: string; readOnly: boolean; noCopy?: boolean },
): VolumeMount {
  const anonymous = from.name === '';
  return {
    type: 'volume',
    // Derived rather than drawn: building a spec twice gives the same volumes.
    name: anonymous ? createHash('sha256').update(`${id}\0${from.destination}`).digest('hex') : from.name,
    anonymous,
    destination: from.destination,
    mode: from.mode,
    rw: !from.readOnly,
    driver: hostConfig.VolumeDriver ?? '',
    driverOptions: {},
    labels: {},
    noCopy: from.noCopy ?? false,
  };
}

/** Of Docker Desktop, where files are shared with another system; here all mean the same. */
const CONSISTENCIES: ReadonlySet<string> = new Set(['', 'default', 'consistent', 'cached', 'delegated']);

function ofMountRequest(request: MountRequest, input: MountInput): ResolvedMount {
  const type = request.Type ?? '';
  const fail = (why: string): Error => invalidArgument(`invalid mount config for type "${type}": ${why}`);
  const foreign = (
    [
      ['BindOptions', 'bind'],
      ['VolumeOptions', 'volume'],
      ['TmpfsOptions', 'tmpfs'],
      ['ImageOptions', 'image'],
    ] as const
  ).find(([field, owner]) => owner !== type && request[field]);
  if (foreign) {
    throw fail(`field ${foreign[0]} must not be specified`);
  }
  if (!CONSISTENCIES.has(request.Consistency ?? '')) {
    throw fail(`invalid Consistency: ${request.Consistency}`);
  }
  const target = request.Target ?? '';
  const problem = target === '' ? 'field Target must not be empty' : problemOfDestination(target);
  if (problem !== undefined) {
    throw fail(problem);
  }
  switch (type) {
    case 'bind':
      return ofBindRequest(request, cleanPath(target), input, fail);
    case 'volume':
      return ofVolumeRequest(request, cleanPath(target), input, fail);
    case 'tmpfs':
      if (request.Source) {
        throw fail('field Source must not be specified');
      }
      return tmpfs(cleanPath(target), tmpfsTextOf(request.TmpfsOptions, request.ReadOnly ?? false), false);
    case 'image':
      return ofImageRequest(request, cleanPath(target), input, fail);
    case 'cluster':
    case 'npipe':
      throw notSupportedYet('Mounts.Type', type);
    case '':
    default:
      throw fail('mount type unknown');
  }
}

type Fail = (why: string) => Error;

function ofBindRequest(request: MountRequest, destination: string, input: MountInput, fail: Fail): BindMount {
  const { Source: source = '', BindOptions: options = {}, ReadOnly: readOnly = false } = request;
  const propagation = options.Propagation || 'rprivate';
  const createMountpoint = options.CreateMountpoint ?? false;
  if (source === '') {
    throw fail('field Source must not be empty');
  }
  if (!PROPAGATIONS.includes(propagation)) {
    throw fail(`invalid propagation mode: ${propagation}`);
  }
  const tooLong = problemOfLength(source);
  if (tooLong !== undefined) {
    throw fail(`Source: ${tooLong}`);
  }
  if (!source.startsWith('/')) {
    throw fail(`invalid mount path: '${source}' mount path must be absolute`);
  }
  if (!createMountpoint && !input.hostPathExists(source)) {
    throw fail(`bind source path does not exist: ${source}`);
  }
  return {
    type: 'bind',
    source: cleanPath(source),
    destination,
    mode: '',
    rw: !readOnly,
    propagation,
    createMountpoint,
    nonRecursive: options.NonRecursive ?? false,
    readOnlyDepth: readOnlyDepth(options, readOnly, input.recursiveReadOnly, fail),
  };
}

function readOnlyDepth(
  options: NonNullable<MountRequest['BindOptions']>,
  readOnly: boolean,
  isPossible: boolean,
  fail: Fail,
): BindMount['readOnlyDepth'] {
  if (options.ReadOnlyForceRecursive) {
    if (options.ReadOnlyNonRecursive) {
      throw fail('mount options conflict: ReadOnlyNonRecursive && ReadOnlyForceRecursive');
    }
    if (!readOnly) {
      throw fail('mount options conflict: !ReadOnly && BindOptions.ReadOnlyForceRecursive');
    }
    if (!isPossible) {
      throw fail('recursively read-only mounts need Linux 5.12 and runc 1.1 or later');
    }
    return 'recursive';
  }
  return options.ReadOnlyNonRecursive ? 'top' : 'recursive-if-possible';
}

function ofVolumeRequest(
  request: MountRequest,
  destination: string,
  input: MountInput,
  fail: Fail,
): VolumeMount {
  const { Source: name = '', VolumeOptions: options = {} } = request;
  if (name !== '') {
    checkVolumeName(name);
  }
  if (request.ReadOnly && name === '') {
    throw fail('must not set ReadOnly mode when using anonymous volumes');
  }
  const { Subpath: subpath = '' } = options;
  if (subpath !== '' && name === '') {
    throw fail('must not set Subpath when using anonymous volumes');
  }
  checkSubpath(subpath, 'volume', fail);
  return {
    ...volume(input, { name, destination, mode: SHARED_LABEL, readOnly: request.ReadOnly ?? false }),
    noCopy: options.NoCopy ?? false,
    // One that does not exist is refused where volumes are made.
    driver: options.DriverConfig?.Name ?? '',
    driverOptions: options.DriverConfig?.Options ?? {},
    labels: options.Labels ?? {},
    ...(subpath !== '' && { subpath }),
  };
}

/** Nothing of an image can be written to, so that `ReadOnly` says what is so in any case. */
function ofImageRequest(
  request: MountRequest,
  destination: string,
  { findImage }: MountInput,
  fail: Fail,
): ImageMount {
  const { Source: image = '', ImageOptions: { Subpath: subpath = '' } = {} } = request;
  if (image === '') {
    throw fail('field Source must not be empty');
  }
  checkSubpath(subpath, 'image', fail);
  const imageId = findImage(image);
  if (imageId === undefined) {
    // Not not_found: the docker CLI takes a 404 of create for the container's own image and would pull that.
    throw fail(`No such image: ${abridged(image)}`);
  }
  return {
    type: 'image',
    image,
    imageId,
    destination,
    mode: '',
    rw: false,
    ...(subpath !== '' && { subpath }),
  };
}

function checkSubpath(subpath: string, owner: string, fail: Fail): void {
  const tooLong = problemOfLength(subpath);
  if (tooLong !== undefined) {
    throw fail(`Subpath: ${tooLong}`);
  }
  if (subpath !== '' && !isLocalPath(subpath)) {
    throw fail(`subpath must be a relative path within the ${owner}`);
  }
}

/** By its letters alone; where links in there lead is seen at each start. */
function isLocalPath(path: string): boolean {
  const up = path.split('/').reduce(
    ({ depth, lowest }, name) => {
      const next = depth + (name === '..' ? -1 : name === '' || name === '.' ? 0 : 1);
      return { depth: next, lowest: Math.min(lowest, next) };
    },
    { depth: 0, lowest: 0 },
  );
  return !path.startsWith('/') && !path.includes('\0') && up.lowest >= 0;
}
