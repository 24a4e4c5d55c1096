import type { ServiceSpec } from '../../../api/types/swarm/service.ts';
import { notImplemented } from '../../../daemon/base/errors.ts';

/**
 * Throws not_implemented, naming the field, for what no node of this engine can put in force: better than a service
 * that seems to have it. Pure.
 */
export function refuseUnsupported({ TaskTemplate: task }: ServiceSpec): void {
  const container = task?.ContainerSpec;
  if (container?.Privileges?.CredentialSpec) {
    throw notImplemented('ContainerSpec.Privileges.CredentialSpec is for Windows containers only');
  }
  if (container?.Configs?.some((config) => config.Runtime !== undefined)) {
    throw notImplemented('ContainerSpec.Configs: a config of target Runtime is for Windows containers only');
  }
  if (container?.Isolation && container.Isolation !== 'default') {
    throw notImplemented(`ContainerSpec.Isolation ${container.Isolation} is for Windows containers only`);
  }
  for (const mount of container?.Mounts ?? []) {
    if (mount.Type === 'npipe' || mount.Type === 'cluster') {
      throw notImplemented(`ContainerSpec.Mounts: mounts of type ${mount.Type} are not supported`);
    }
  }
}
