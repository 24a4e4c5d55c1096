import { constraintsFit } from '../placement/constraint.ts';
import type { Demand } from '../placement/demand.ts';
import { platformFits } from '../placement/platform.ts';
import { pluginsFit } from '../placement/plugins.ts';
import type { NodeLoad } from './node-load.ts';

/** Tasks of one service that ask for the same: they are placed together. */
export interface Asking {
  demand: Demand;
  /** Tasks of the service on a node, as `maxReplicas` counts them. */
  readonly tasksOn: (node: NodeLoad) => number;
}

/** A reason to keep a task off a node. The sentence of the same filter tells why a task has no node. */
interface Filter {
  fits(node: NodeLoad, asking: Asking): boolean;
  explain(nodes: number): string;
}

const counted = (nodes: number): string => (nodes === 1 ? '1 node' : `${nodes} nodes`);

/** Judged anew for each task: what other tasks hold changes while a group is being placed. */
const ROOM = {
  resources: {
    fits: (node, { demand }) => node.hasResourcesFor(demand),
    explain: (nodes) => `insufficient resources on ${counted(nodes)}`,
  },
  hostPort: {
    fits: (node, { demand }) => node.hasPortsFor(demand),
    explain: (nodes) => `host-mode port already in use on ${counted(nodes)}`,
  },
  maxReplicas: {
    fits: (node, { demand, tasksOn }) => demand.maxReplicas === 0 || tasksOn(node) < demand.maxReplicas,
    explain: () => 'max replicas per node limit exceed',
  },
} as const satisfies Record<string, Filter>;

/** Judged once per node and template: only a change of the node changes the answer. */
const KIND = {
  plugin: {
    fits: ({ traits }, { demand }) => pluginsFit(demand.plugins, traits.plugins),
    explain: (nodes) => `missing plugin on ${counted(nodes)}`,
  },
  constraint: {
    fits: ({ traits }, { demand }) => constraintsFit(demand.constraints, traits),
    explain: (nodes) => `scheduling constraints not satisfied on ${counted(nodes)}`,
  },
  platform: {
    fits: ({ traits }, { demand }) => platformFits(demand.platforms, traits.platform),
    explain: (nodes) => `unsupported platform on ${counted(nodes)}`,
  },
} as const satisfies Record<string, Filter>;

const READY: Filter = {
  fits: (node) => node.takesTasks,
  explain: (nodes) => `${counted(nodes)} not available for new tasks`,
};

/** In swarmkit's order: the first that refuses a node is the one that is told. */
const FILTERS: readonly Filter[] = [
  READY,
  ROOM.resources,
  KIND.plugin,
  KIND.constraint,
  KIND.platform,
  ROOM.hostPort,
  ROOM.maxReplicas,
];

const ROOM_FILTERS: readonly Filter[] = Object.values(ROOM);
const KIND_FILTERS: readonly Filter[] = Object.values(KIND);

export function fits(node: NodeLoad, asking: Asking): boolean {
  return FILTERS.every((filter) => filter.fits(node, asking));
}

export function hasRoom(node: NodeLoad, asking: Asking): boolean {
  return ROOM_FILTERS.every((filter) => filter.fits(node, asking));
}

export function isOfKind(node: NodeLoad, asking: Asking): boolean {
  return KIND_FILTERS.every((filter) => filter.fits(node, asking));
}

/**
 * Why none of these nodes takes the task: what refused most nodes first, in swarmkit's words. Empty where one takes it,
 * or where there is no node.
 */
export function explain(nodes: Iterable<NodeLoad>, asking: Asking): string {
  const refused = FILTERS.map((filter) => ({ filter, count: 0 }));
  for (const node of nodes) {
    const first = refused.find(({ filter }) => !filter.fits(node, asking));
    if (first !== undefined) {
      first.count += 1;
    }
  }
  return refused
    .filter(({ count }) => count > 0)
    .toSorted((a, b) => b.count - a.count)
    .map(({ filter, count }) => filter.explain(count))
    .join('; ');
}
