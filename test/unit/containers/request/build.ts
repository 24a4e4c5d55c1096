import type { ContainerConfig, ContainerCreateRequest } from '../../../../api/types/container.ts';
import type { HostConfig } from '../../../../api/types/host-config.ts';
import { buildSpec } from '../../../../daemon/containers/request/build-spec.ts';
import type { ContainerSpec } from '../../../../daemon/containers/request/container-spec.ts';
import { engineDefaults } from '../../../../daemon/containers/request/engine-defaults.ts';
import type { EngineDefaults } from '../../../../daemon/containers/request/engine-defaults.ts';
import type { OtherContainer } from '../../../../daemon/containers/request/namespaces.ts';
import type { HostFacts } from '../../../../runtime/host/facts.ts';
import { capableHost } from './host-facts.ts';

export const CONTAINER_ID = 'c0ffee'.padEnd(64, '0');
export const NEIGHBOUR_ID = 'beef'.padEnd(64, '1');

const neighbour: OtherContainer = {
  id: NEIGHBOUR_ID,
  hostname: 'next',
  domainname: 'door',
  networkMode: 'default',
  mounts: [
    {
      type: 'volume',
      name: 'shared',
      anonymous: true,
      driver: 'local',
      driverOptions: {},
      labels: {},
      noCopy: false,
      destination: '/shared',
      mode: 'z',
      rw: true,
    },
  ],
};

/** The specification of a request for an image whose command is `sh`; `neighbour` exists, `/missing` does not. */
export function build(
  request: ContainerCreateRequest,
  world: {
    facts?: HostFacts;
    image?: ContainerConfig;
    defaults?: EngineDefaults;
    isPlatformAsked?: boolean;
  } = {},
): { spec: ContainerSpec; warnings: string[] } {
  return buildSpec({
    id: CONTAINER_ID,
    request: { Image: 'busybox', ...request },
    image: {
      id: 'sha256:1',
      layerIds: [1],
      config: { Cmd: ['sh'], ...world.image },
      os: 'linux',
      architecture: 'amd64',
    },
    isPlatformAsked: world.isPlatformAsked ?? false,
    facts: world.facts ?? capableHost,
    defaults: world.defaults ?? engineDefaults,
    findContainer: (ref) => (ref === 'neighbour' ? neighbour : undefined),
    findNetwork: (ref) =>
      ['default', 'bridge', 'host', 'none', 'red'].includes(ref)
        ? { id: `id-of-${ref}`, name: ref === 'default' ? 'bridge' : ref }
        : undefined,
    hostPathExists: (path) => path !== '/missing',
    describedDevices: () => ['nvidia.com/gpu=0', 'nvidia.com/gpu=all', 'vendor.com/net=a'],
    findImage: (ref) => (ref === 'tools' ? 'sha256:7' : undefined),
  });
}

export function buildHost(HostConfig: HostConfig, facts?: HostFacts): ReturnType<typeof build> {
  return build({ HostConfig }, facts && { facts });
}
