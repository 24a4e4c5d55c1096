import type { ContainerCreateRequest } from '../../../api/types/container.ts';

/** Warnings of what means something else than it says, in dockerd's words. Pure. */
export function outdatedWarnings(request: ContainerCreateRequest): string[] {
  const { VolumeDriver, Mounts, PortBindings } = request.HostConfig ?? {};
  const isIdleDriver =
    Boolean(VolumeDriver) &&
    (Mounts ?? []).some(({ Type, VolumeOptions }) => Type === 'volume' && !VolumeOptions?.DriverConfig?.Name);
  const empty = Object.entries(PortBindings ?? {}).flatMap(([port, bindings]) =>
    (bindings ?? []).length === 0 ? [port] : [],
  );
  return [
    ...(request.MacAddress
      ? [
          'The container-wide MacAddress field is now deprecated. It should be specified in EndpointsConfig instead.',
        ]
      : []),
    ...(isIdleDriver
      ? [
          "WARNING: the container-wide volume-driver configuration is ignored for volumes specified via 'mount'. " +
            "Use '--mount type=volume,volume-driver=...' instead",
        ]
      : []),
    ...(empty.length > 0
      ? [
          `Following container port(s) have an empty list of port-bindings: ${empty.join(', ')}. ` +
            'Such bindings will be discarded in a future version.',
        ]
      : []),
  ];
}
