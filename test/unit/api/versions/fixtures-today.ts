/** As `fixtures.ts`, of the changes from API 1.45 on. */
import {
  CONTAINER,
  CONTAINER_SUMMARY,
  DISK_USAGE,
  IMAGE,
  IMAGE_SUMMARY,
  INFO,
  LEGACY_IMAGE,
  NETWORK,
} from '../../../support/api/fake-ports.ts';
import { STATS } from '../../../support/api/fake-stats.ts';
import type { Fixture } from './fixtures.ts';

/** A container in a network of its user's. */
const inNetworks = (endpoint: object, more: object = {}): object => ({
  ...more,
  ...(Object.keys(more).length > 0 && { Id: 'a1b2'.repeat(16) }),
  NetworkSettings: { Networks: { own: endpoint } },
});

export const FIXTURES_OF_TODAY: Readonly<Record<string, readonly Fixture[]>> = {
  'endpoint-aliases': [
    {
      kind: 'response',
      newest: inNetworks({ Aliases: ['web'] }, { State: { StartedAt: '2026-01-02T03:04:05Z' } }),
      older: inNetworks({ Aliases: ['web', 'a1b2a1b2a1b2'] }),
    },
    {
      kind: 'response',
      newest: inNetworks({ Aliases: null }, { State: { StartedAt: '0001-01-01T00:00:00Z' } }),
      older: inNetworks({ Aliases: null }),
    },
  ],
  'endpoint-aliases-in-list': [
    {
      kind: 'response',
      newest: [inNetworks({ Aliases: null }, { State: 'running' }), inNetworks({}, { State: 'created' })],
      older: [inNetworks({ Aliases: ['a1b2a1b2a1b2'] }), inNetworks({ Aliases: undefined })],
    },
  ],
  'endpoint-aliases-in-disk-usage': [
    {
      kind: 'response',
      newest: { Containers: [inNetworks({ Aliases: null }, { State: 'exited' })] },
      older: { Containers: [inNetworks({ Aliases: ['a1b2a1b2a1b2'] })] },
    },
  ],
  'image-container': [
    {
      kind: 'response',
      newest: IMAGE,
      legacy: LEGACY_IMAGE,
      older: { Container: '', ContainerConfig: { Cmd: ['x'] } },
    },
  ],
  'tmpfs-options': [
    {
      kind: 'request',
      older: { body: { HostConfig: { Mounts: [{ TmpfsOptions: { Mode: 1, Options: [['exec']] } }] } } },
      newest: { body: { HostConfig: { Mounts: [{ TmpfsOptions: { Mode: 1 } }] } } },
    },
  ],
  'container-summary-annotations': [
    {
      kind: 'response',
      newest: [{ HostConfig: { NetworkMode: 'host', Annotations: { a: 'b' } } }],
      older: [{ HostConfig: { NetworkMode: 'host', Annotations: undefined } }],
    },
  ],
  'event-image-create': [
    { kind: 'item', newest: { Type: 'image', Action: 'create' }, older: undefined },
    { kind: 'item', newest: { Type: 'image', Action: 'tag' }, older: { Type: 'image', Action: 'tag' } },
    { kind: 'item', newest: { Type: 'volume', Action: 'create' }, older: { Type: 'volume' } },
  ],
  'image-push-platform': [
    { kind: 'request', older: { query: 'tag=a&platform=x' }, newest: { query: 'tag=a' } },
  ],
  'image-list-manifests': [
    { kind: 'request', older: { query: 'all=1&manifests=1' }, newest: { query: 'all=1' } },
  ],
  'image-platform-parameter': [
    { kind: 'request', older: { query: 'names=a&platform=x' }, newest: { query: 'names=a' } },
  ],
  'image-manifests': [{ kind: 'request', older: { query: 'manifests=1' }, newest: { query: '' } }],
  'image-descriptor': [
    {
      kind: 'response',
      newest: { Id: 'a', Descriptor: { mediaType: 'm', digest: 'sha256:b', size: 1 } },
      older: { Id: 'a' },
    },
  ],
  'image-list-descriptor': [
    {
      kind: 'response',
      newest: [{ Id: 'a', Descriptor: { mediaType: 'm', digest: 'sha256:b', size: 1 } }],
      older: [{ Id: 'a' }],
    },
  ],
  'endpoint-gateway-priority': [
    {
      kind: 'response',
      newest: inNetworks({ GwPriority: 1, MacAddress: 'm' }),
      older: inNetworks({ GwPriority: undefined, MacAddress: 'm' }),
    },
  ],
  'endpoint-gateway-priority-in-list': [
    {
      kind: 'response',
      newest: [inNetworks({ GwPriority: 1 })],
      older: [inNetworks({ GwPriority: undefined })],
    },
  ],
  'endpoint-gateway-priority-in-disk-usage': [
    {
      kind: 'response',
      newest: { Containers: [inNetworks({ GwPriority: 1 })] },
      older: { Containers: [inNetworks({ GwPriority: undefined })] },
    },
  ],
  'network-enable-ipv4': [
    { kind: 'response', newest: [NETWORK], older: [{ EnableIPv4: undefined, EnableIPv6: false }] },
    { kind: 'response', newest: NETWORK, older: { EnableIPv4: undefined, EnableIPv6: false } },
  ],
  'image-inspect-platform': [{ kind: 'request', older: { query: 'platform=x' }, newest: { query: '' } }],
  'info-firewall': [{ kind: 'response', newest: INFO, older: { FirewallBackend: undefined, NCPU: 2 } }],
  'info-nondistributable-artifacts': [
    {
      kind: 'response',
      newest: INFO,
      older: {
        RegistryConfig: {
          AllowNondistributableArtifactsCIDRs: null,
          AllowNondistributableArtifactsHostnames: null,
          InsecureRegistryCIDRs: ['127.0.0.0/8'],
        },
      },
    },
  ],
  'info-expected-commits': [
    {
      kind: 'response',
      newest: { ...INFO, RuncCommit: { ID: 'c' } },
      older: { RuncCommit: { ID: 'c', Expected: 'c' }, InitCommit: { ID: '', Expected: '' } },
    },
  ],
  'info-discovered-devices': [
    { kind: 'response', newest: INFO, older: { DiscoveredDevices: undefined, CDISpecDirs: null } },
  ],
  'info-bridge-netfilter': [
    {
      kind: 'response',
      newest: { NCPU: 2 },
      legacy: { BridgeNfIptables: true, BridgeNfIp6tables: false },
      older: { BridgeNfIptables: true, BridgeNfIp6tables: false, NCPU: 2 },
    },
  ],
  'image-delete-platforms': [
    { kind: 'request', older: { query: 'force=1&platforms=x' }, newest: { query: 'force=1' } },
  ],
  'image-run-fields': [
    {
      kind: 'response',
      newest: IMAGE,
      legacy: LEGACY_IMAGE,
      older: { Config: { Hostname: 'h', Cmd: ['sh'] } },
    },
  ],
  'image-containers': [
    {
      kind: 'response',
      newest: [{ ...IMAGE_SUMMARY, Containers: 2 }],
      older: [{ Containers: -1, Size: 1000 }],
    },
  ],
  'legacy-network-settings': [
    {
      kind: 'response',
      newest: CONTAINER,
      older: {
        NetworkSettings: {
          Bridge: '',
          HairpinMode: false,
          LinkLocalIPv6Address: '',
          LinkLocalIPv6PrefixLen: 0,
          SecondaryIPAddresses: null,
          SecondaryIPv6Addresses: null,
          EndpointID: '',
          Gateway: '',
          IPAddress: '172.17.0.2',
          IPPrefixLen: 0,
          MacAddress: '',
          GlobalIPv6Address: '',
          GlobalIPv6PrefixLen: 0,
          IPv6Gateway: '',
          SandboxID: '',
        },
      },
    },
    {
      kind: 'response',
      newest: { NetworkSettings: { Networks: { a: { IPAddress: '10.0.0.2' } } } },
      older: { NetworkSettings: { IPAddress: '' } },
    },
  ],
  'container-summary-health': [
    { kind: 'response', newest: [CONTAINER_SUMMARY], older: [{ Health: undefined, State: 'running' }] },
  ],
  'disk-usage-health': [
    {
      kind: 'response',
      newest: DISK_USAGE,
      older: { Containers: [{ Health: undefined, State: 'running' }] },
    },
  ],
  'disk-usage-by-kind': [
    { kind: 'request', older: { query: 'verbose=1&type=image' }, newest: { query: 'type=image' } },
    {
      kind: 'response',
      newest: { ...DISK_USAGE, ImageUsage: {}, BuildCacheUsage: {} },
      older: { ImageUsage: undefined, BuildCacheUsage: undefined, LayersSize: 1000 },
    },
  ],
  'image-empty-fields': [
    {
      kind: 'response',
      newest: IMAGE,
      legacy: LEGACY_IMAGE,
      older: {
        Parent: '',
        Comment: '',
        DockerVersion: '',
        Author: '',
        Config: { Cmd: ['sh'], Entrypoint: null, Env: [], Labels: null, OnBuild: null, User: '' },
      },
    },
  ],
  'event-legacy-fields': [
    {
      kind: 'item',
      newest: { Type: 'container', Action: 'die', Actor: { ID: 'c', Attributes: { image: 'b' } } },
      older: { status: 'die', id: 'c', from: 'b', Action: 'die' },
    },
    {
      kind: 'item',
      newest: { Type: 'image', Action: 'prune', Actor: { ID: '', Attributes: { image: 'b' } } },
      older: { status: 'prune', id: undefined, from: undefined },
    },
    {
      kind: 'item',
      newest: { Type: 'volume', Action: 'mount', Actor: { ID: 'v', Attributes: {} } },
      older: { status: undefined, id: undefined, Action: 'mount' },
    },
  ],
  'network-status': [
    {
      kind: 'response',
      newest: { ...NETWORK, Status: { IPAM: {} } },
      older: { Status: undefined, Id: NETWORK.Id },
    },
  ],
  'stats-os-type': [
    { kind: 'response', newest: STATS, older: { os_type: undefined } },
    { kind: 'item', newest: { os_type: 'linux', name: 'a' }, older: { os_type: undefined, name: 'a' } },
  ],
  'image-identity': [
    {
      kind: 'response',
      newest: { ...IMAGE, Identity: { Pull: [{ Repository: 'docker.io/library/busybox' }] } },
      older: { Identity: undefined, Id: IMAGE.Id },
    },
  ],
  'container-update-device-rules': [
    {
      kind: 'request',
      older: {
        body: { BlkioDeviceReadBps: [], BlkioDeviceWriteBps: [{ Path: '/dev/sda', Rate: 1 }], Memory: 1 },
      },
      newest: { body: { BlkioDeviceWriteBps: [{ Path: '/dev/sda', Rate: 1 }], Memory: 1 } },
    },
  ],
  'unused-volume-driver': [
    {
      kind: 'response',
      newest: { Id: 'c', Warnings: ['WARNING: the container-wide volume-driver is ignored', 'b'] },
      older: { Id: 'c', Warnings: ['b'] },
    },
  ],
  'container-config-1.52': [
    {
      kind: 'response',
      newest: { Config: { Image: 'a' } },
      legacy: { MacAddress: 'm' },
      older: { Config: { Image: 'a', OnBuild: null, MacAddress: 'm' } },
    },
    {
      kind: 'response',
      newest: { Config: { OnBuild: ['RUN x'] } },
      older: { Config: { OnBuild: ['RUN x'], MacAddress: undefined } },
    },
  ],
  'empty-port-bindings': [
    {
      kind: 'response',
      newest: {
        Id: 'c',
        Warnings: ['Following container port(s) have an empty list of port-bindings: 80/tcp.'],
      },
      older: { Id: 'c', Warnings: [] },
    },
  ],
  'image-list-identity': [{ kind: 'request', older: { query: 'identity=1' }, newest: { query: '' } }],
};
