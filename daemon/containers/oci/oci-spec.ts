import type { ExecCreateRequest } from '../../../api/types/exec.ts';
import { cgroupsPathOf } from '../../../runtime/cgroups/paths.ts';
import { injectCdi } from '../../../runtime/cdi/inject.ts';
import type { OciProcess, OciSpec } from '../../../runtime/runc/spec-types.ts';
import { invariant } from '../../base/errors.ts';
import type { Sandbox } from '../../networks/sandbox/sandbox.ts';
import type { Container } from '../state/container.ts';
import type { ContainerContext } from '../context.ts';
import { runningNamespaceOwner } from '../resources/namespace-owner.ts';
import { hubTokenVariables } from '../resources/hub-token.ts';
import { linkVariables } from '../resources/links.ts';
import { buildExecProcess } from './process.ts';
import { translate } from './translate.ts';
import { readAccountFiles, resolveUser } from './user.ts';
import { containerFiles } from '../resources/container-files.ts';
import { hasQuota } from '../resources/storage-limit.ts';
import { containerOfMode } from '../request/namespaces.ts';
import type { ContainerSpec } from '../request/container-spec.ts';
import { requestedDevices } from '../request/device-requests.ts';
import { readBlockDevices, readDevice, readHostDevices } from './host-devices.ts';
import { checkPropagation } from './propagation.ts';
import type { LaunchFacts } from './translate.ts';

const NAMESPACE_FILES = { network: 'net', pid: 'pid', ipc: 'ipc' } as const;

/** The runtime's configuration of a container whose root is mounted and whose network is there. */
export function makeOciSpec(
  context: ContainerContext,
  container: Container,
  {
    rootPath,
    sandbox,
    pinnedSources,
  }: { rootPath: string; sandbox: Sandbox; pinnedSources: ReadonlyMap<string, string> },
): OciSpec {
  const { facts, defaults, dataRoot, volumePaths, cgroupParent } = context;
  const { id, spec } = container;
  const { NetworkMode, PidMode, IpcMode } = spec.hostConfig;
  const pidNamespacePath = foreignNamespace(context, PidMode, 'pid');
  const ipcNamespacePath = foreignNamespace(context, IpcMode, 'ipc');
  const { describedDevices } = context;
  const edits = describedDevices.edits(requestedDevices(spec.hostConfig, () => describedDevices.names()));
  const translated = translate(spec, {
    host: facts,
    defaults,
    ...readLaunchFacts(spec, rootPath),
    ownVariables: ownVariables(context, container),
    rootPath,
    cgroupsPath: cgroupsPathOf(facts.cgroup.driver, spec.hostConfig.CgroupParent || cgroupParent, id),
    // Joined by its process: the namespace that it runs in, whatever became of the namespace's owner.
    netnsPath: sandbox.netnsPath && (foreignNamespace(context, NetworkMode, 'network') ?? sandbox.netnsPath),
    ...(pidNamespacePath !== undefined && { pidNamespacePath }),
    ...(ipcNamespacePath !== undefined && { ipcNamespacePath }),
    sharedMemory: containerFiles(dataRoot, id).sharedMemory,
    // With another container's network its names come too.
    files: containerFiles(dataRoot, sandbox.ownerId),
    volumePaths,
    pinnedSources,
    hasQuota: hasQuota(context, container),
  });
  return injectCdi(translated, edits, readDevice);
}

/** A further process for a running container. Throws invalid_argument for what the request gets wrong. */
export function makeExecProcess(
  context: ContainerContext,
  container: Container,
  request: ExecCreateRequest,
): OciProcess {
  const { facts, defaults, rootfs } = context;
  const { id, layerIds, spec } = container;
  const root = rootfs.layout(id, layerIds).merged;
  return buildExecProcess(spec, request, {
    host: facts,
    defaults,
    ownVariables: ownVariables(context, container),
    user: resolveUser(
      request.User || spec.config.User || '',
      readAccountFiles(root),
      spec.hostConfig.GroupAdd ?? [],
    ),
  });
}

function ownVariables(context: ContainerContext, container: Container): string[] {
  return [
    ...linkVariables(context, container),
    ...hubTokenVariables(context, container),
    ...container.unstoredVariables,
  ];
}

function foreignNamespace(
  context: ContainerContext,
  mode: string,
  type: keyof typeof NAMESPACE_FILES,
): string | undefined {
  const namespaceOwnerId = containerOfMode(mode);
  if (namespaceOwnerId === undefined) {
    return undefined;
  }
  const { pid } = runningNamespaceOwner(context, namespaceOwnerId, type).run.process;
  invariant(pid > 0, 'a running container has a process');
  return `/proc/${pid}/ns/${NAMESPACE_FILES[type]}`;
}

/**
 * Looks up what `translate` needs of the host and of the mounted root: the user, devices, mount propagation.
 * Throws invalid_argument with dockerd's texts. Call it when the root is mounted, before anything runs in it.
 */
export function readLaunchFacts(
  spec: ContainerSpec,
  rootPath: string,
): Pick<LaunchFacts, 'user' | 'devices' | 'blockDevices'> {
  checkPropagation(spec.mounts);
  return {
    user: resolveUser(spec.config.User ?? '', readAccountFiles(rootPath), spec.hostConfig.GroupAdd ?? []),
    devices: readHostDevices(spec.hostConfig),
    blockDevices: readBlockDevices(spec.hostConfig),
  };
}
