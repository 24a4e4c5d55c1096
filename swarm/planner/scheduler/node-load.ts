import type { GenericResource } from '../../../api/types/swarm/task.ts';
import type { Demand } from '../placement/demand.ts';
import { GenericSupply } from '../placement/generic-supply.ts';
import type { NodeTraits } from '../placement/traits.ts';

/** A node's resources as it described them. */
export interface NodeResources {
  nanoCpus: number;
  memoryBytes: number;
  generic: readonly GenericResource[];
}

/** What a task holds of its node from the moment it is assigned until it has ended. */
export interface Holding {
  task: string;
  node: string;
  service: string;
  demand: Demand;
  /** What it was given of the generic resources it asked for. */
  generic: readonly GenericResource[];
  /** Tasks that are to be shut down hold what they hold, but do not count when tasks are spread. */
  counts: boolean;
}

/** A node as the scheduler sees it: what it is, what its tasks hold, what is left. */
export class NodeLoad {
  readonly id: string;
  /** Where ties put it: see `LoadOrder`. */
  readonly ring: number;
  /** A small number that no other node of the table has: the place in arrays about all nodes. */
  readonly index: number;
  traits: NodeTraits;
  /** Ready and active. */
  takesTasks: boolean;
  /** Tasks that count. */
  total = 0;
  /** The total by which the node stands in the order; follows `total` when a group has been placed. */
  level = 0;
  readonly holdings = new Set<Holding>();
  #nanoCpus = 0;
  #memoryBytes = 0;
  #generic = new GenericSupply([]);
  #described: NodeResources;
  /** How many tasks hold each published host port. */
  readonly #hostPorts = new Map<string, number>();

  constructor(place: { index: number; ring: number }, facts: NodeFacts) {
    this.id = facts.traits.id;
    this.index = place.index;
    this.ring = place.ring;
    this.traits = facts.traits;
    this.takesTasks = facts.takesTasks;
    this.#described = facts.resources;
    this.#measure();
  }

  update({ traits, takesTasks, resources }: NodeFacts): void {
    this.traits = traits;
    this.takesTasks = takesTasks;
    this.#described = resources;
    this.#measure();
  }

  hasResourcesFor({ nanoCpus, memoryBytes, generic }: Demand): boolean {
    return nanoCpus <= this.#nanoCpus && memoryBytes <= this.#memoryBytes && this.#generic.hasEnough(generic);
  }

  hasPortsFor({ hostPorts }: Demand): boolean {
    return !hostPorts.some((port) => this.#hostPorts.has(port));
  }

  /** What a task with this demand would be given of the generic resources; undefined where there is too little. */
  chooseGeneric(demand: Demand): GenericResource[] | undefined {
    return this.#generic.choose(demand.generic);
  }

  /** Leaves `total` to `NodeTable`, which knows what counts and keeps the order. */
  hold(holding: Holding): void {
    this.holdings.add(holding);
    this.#nanoCpus -= holding.demand.nanoCpus;
    this.#memoryBytes -= holding.demand.memoryBytes;
    this.#generic.take(holding.generic);
    for (const port of holding.demand.hostPorts) {
      this.#hostPorts.set(port, (this.#hostPorts.get(port) ?? 0) + 1);
    }
  }

  release(holding: Holding): void {
    if (!this.holdings.delete(holding)) {
      return;
    }
    this.#nanoCpus += holding.demand.nanoCpus;
    this.#memoryBytes += holding.demand.memoryBytes;
    for (const port of holding.demand.hostPorts) {
      const users = (this.#hostPorts.get(port) ?? 0) - 1;
      if (users > 0) {
        this.#hostPorts.set(port, users);
      } else {
        this.#hostPorts.delete(port);
      }
    }
    if (holding.generic.length > 0) {
      this.#measureGeneric();
    }
  }

  #measure(): void {
    this.#nanoCpus = this.#described.nanoCpus;
    this.#memoryBytes = this.#described.memoryBytes;
    for (const { demand } of this.holdings) {
      this.#nanoCpus -= demand.nanoCpus;
      this.#memoryBytes -= demand.memoryBytes;
    }
    this.#measureGeneric();
  }

  /** Counted anew and not given back: the node may have changed what it has while a task held some of it. */
  #measureGeneric(): void {
    this.#generic = new GenericSupply(this.#described.generic);
    for (const { generic } of this.holdings) {
      this.#generic.take(generic);
    }
  }
}

/** All that the scheduler has to know of a node beside its tasks. */
export interface NodeFacts {
  traits: NodeTraits;
  takesTasks: boolean;
  resources: NodeResources;
}
