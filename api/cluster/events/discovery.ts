import type { ClusterResult, ClusterRoute } from '../family.ts';

/** The version of Kubernetes whose events these are: clients compare it with their own. */
const KUBERNETES = { major: '1', minor: '32' } as const;

const VERBS = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'];

const RESOURCE = {
  name: 'events',
  singularName: 'event',
  namespaced: true,
  kind: 'Event',
  verbs: VERBS,
  shortNames: ['ev'],
} as const;

const GROUP = {
  name: 'events.k8s.io',
  versions: [{ groupVersion: 'events.k8s.io/v1', version: 'v1' }],
  preferredVersion: { groupVersion: 'events.k8s.io/v1', version: 'v1' },
};

/** What clients ask before all else: which kinds of object there are. */
export const discoveryRoutes: readonly ClusterRoute[] = [
  fixed('discovery.api', '/api', () => ({
    kind: 'APIVersions',
    versions: ['v1'],
    serverAddressByClientCIDRs: [],
  })),
  fixed('discovery.apis', '/apis', () => ({ kind: 'APIGroupList', apiVersion: 'v1', groups: [GROUP] })),
  fixed('discovery.group', '/apis/events.k8s.io', () => ({ kind: 'APIGroup', apiVersion: 'v1', ...GROUP })),
  fixed('discovery.events', '/apis/events.k8s.io/v1', () => resources('events.k8s.io/v1')),
  fixed('discovery.core', '/api/v1', () => resources('v1')),
  {
    ...fixed('discovery.version', '/version', () => ({
      ...KUBERNETES,
      gitVersion: `v${KUBERNETES.major}.${KUBERNETES.minor}.0+berth`,
      gitCommit: '',
      gitTreeState: 'clean',
      buildDate: '1970-01-01T00:00:00Z',
      goVersion: 'none',
      compiler: 'none',
      platform: 'linux/amd64',
    })),
    isOpen: true,
  },
];

function resources(groupVersion: string): object {
  return { kind: 'APIResourceList', apiVersion: 'v1', groupVersion, resources: [RESOURCE] };
}

function fixed(id: string, path: string, body: () => object): ClusterRoute {
  return { id, method: 'GET', path, handler: () => jsonResult(200, body()) };
}

export function jsonResult(status: number, body: object): ClusterResult {
  return { kind: 'answer', status, body: JSON.stringify(body) };
}
