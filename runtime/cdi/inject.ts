import type { OciDevice, OciDeviceRule, OciHook, OciSpec } from '../runc/spec-types.ts';
import type { CdiDeviceNode, CdiEdits } from './cdi-spec.ts';

/** Type and number of a device node of the host. Throws where there is none. */
export type DeviceLookup = (path: string) => Pick<OciDevice, 'type' | 'major' | 'minor' | 'fileMode'>;

/** The runtime's configuration with what devices bring, in the order given. Pure but for `lookUp`. */
export function injectCdi(spec: OciSpec, edits: readonly CdiEdits[], lookUp: DeviceLookup): OciSpec {
  return edits.reduce((before, each) => withEdits(before, each, lookUp), spec);
}

function withEdits(spec: OciSpec, edits: CdiEdits, lookUp: DeviceLookup): OciSpec {
  const { process, linux } = spec;
  const nodes = (edits.deviceNodes ?? []).map((node) => deviceOf(node, spec, lookUp));
  const paths = new Set(nodes.map(({ path }) => path));
  const devices = [...(linux.devices ?? []).filter(({ path }) => !paths.has(path)), ...nodes];
  const rules = (edits.deviceNodes ?? []).map((node, at) => ruleOf(node, nodes[at]));
  const hooks = hooksOf(spec, edits);
  const gids = [...new Set([...(process.user.additionalGids ?? []), ...(edits.additionalGids ?? [])])];
  return {
    ...spec,
    process: {
      ...process,
      env: withVariables(process.env, edits.env ?? []),
      user: { ...process.user, ...(gids.length > 0 && { additionalGids: gids }) },
    },
    mounts: [...spec.mounts, ...mountsOf(edits)],
    ...(hooks && { hooks }),
    linux: {
      ...linux,
      ...(devices.length > 0 && { devices }),
      resources: {
        ...linux.resources,
        ...(rules.length > 0 && { devices: [...(linux.resources.devices ?? []), ...rules.flat()] }),
      },
    },
  };
}

function nameOf(pair: string): string {
  return pair.slice(0, pair.indexOf('='));
}

/** A variable takes the place of one of its name. */
function withVariables(before: readonly string[], added: readonly string[]): string[] {
  const names = new Set(added.map(nameOf));
  return [...before.filter((pair) => !names.has(nameOf(pair))), ...added];
}

function mountsOf({ mounts = [] }: CdiEdits): OciSpec['mounts'] {
  return mounts
    .map(({ hostPath, containerPath, type, options = ['rbind', 'nosuid', 'nodev', 'ro'] }) => ({
      destination: containerPath,
      source: hostPath,
      type: type ?? 'bind',
      options,
    }))
    .toSorted((one, other) => one.destination.split('/').length - other.destination.split('/').length);
}

/** A process that is not root's owns what it is given, unless the file says who does. */
function deviceOf(node: CdiDeviceNode, { process: { user } }: OciSpec, lookUp: DeviceLookup): OciDevice {
  const isTold = node.type !== undefined && (node.type === 'p' || (node.major ?? 0) > 0);
  const found = isTold ? undefined : lookUp(node.hostPath ?? node.path);
  const type = node.type ?? found?.type ?? 'c';
  const major = isTold ? node.major : found?.major;
  const minor = isTold ? node.minor : found?.minor;
  const fileMode = node.fileMode ?? found?.fileMode;
  const uid = node.uid ?? (user.uid > 0 ? user.uid : undefined);
  const gid = node.gid ?? (user.gid > 0 ? user.gid : undefined);
  return {
    path: node.path,
    type,
    ...(major !== undefined && { major }),
    ...(minor !== undefined && { minor }),
    ...(fileMode !== undefined && { fileMode }),
    ...(uid !== undefined && { uid }),
    ...(gid !== undefined && { gid }),
  };
}

function ruleOf({ permissions = '' }: CdiDeviceNode, device: OciDevice | undefined): OciDeviceRule[] {
  if (device === undefined || device.type === 'p') {
    return [];
  }
  const { type, major, minor } = device;
  return [
    {
      allow: true,
      type: type === 'b' ? 'b' : 'c',
      ...(major !== undefined && { major }),
      ...(minor !== undefined && { minor }),
      access: permissions || 'rwm',
    },
  ];
}

function hooksOf({ hooks }: OciSpec, { hooks: added = [] }: CdiEdits): OciSpec['hooks'] {
  if (added.length === 0) {
    return hooks;
  }
  const result: NonNullable<OciSpec['hooks']> = { ...hooks };
  for (const { hookName, path, args, env, timeout } of added) {
    const hook: OciHook = { path, ...(args && { args }), ...(env && { env }), ...(timeout && { timeout }) };
    result[hookName] = [...(result[hookName] ?? []), hook];
  }
  return result;
}
