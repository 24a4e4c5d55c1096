import { formatIp, isSubnet4, parseAnyCidr, parseIp } from '../../daemon/base/addresses/ip.ts';
import type { ChangedPart } from '../../swarm/cluster/cluster.ts';
import type { NetworkAddresses, NetworkRecord } from '../../swarm/objects/network.ts';
import { isTerminal } from '../../swarm/objects/task-state.ts';
import type { TaskRecord } from '../../swarm/objects/task.ts';
import { isIn } from '../../swarm/planner/allocator/pools.ts';
import { isIngress } from '../../swarm/planner/state/port-claim.ts';
import type { World } from './world.ts';

/**
 * Looks after each transaction whether an address or a published port is given twice, and whether addresses are in
 * their network. It reads the records by itself, and shares no index with the planner.
 */
export class AddressOracle {
  readonly #world: World;
  readonly #tasks = new Map<string, TaskRecord>();
  readonly #ended = new Set<string>();
  /** Those that were removed too: who is in them still is. */
  readonly #networks = new Map<string, NetworkRecord>();
  /** What each record holds: addresses with their network, and ports. */
  readonly #heldBy = new Map<string, readonly string[]>();
  readonly #holders = new Map<string, Set<string>>();

  /** How often something was looked at. */
  checks = 0;

  constructor(world: World) {
    this.#world = world;
    world.store.cluster.subscribe((changed) => this.#hear(changed));
  }

  /** Several transactions may come at once. */
  #hear(changed: readonly ChangedPart[]): void {
    let touched = new Set<string>();
    for (const [index, part] of changed.entries()) {
      this.#take(part).forEach((claim) => touched.add(claim));
      if (changed[index + 1]?.revision !== part.revision) {
        touched.forEach((claim) => this.#check(claim, part.revision));
        touched = new Set();
      }
    }
  }

  #take({ write }: ChangedPart): readonly string[] {
    const { id } = write;
    if (write.part === 'network' && write.value !== null) {
      this.#networks.set(id, write.value);
    }
    if (write.part === 'task') {
      if (write.value === null) {
        this.#tasks.delete(id);
      } else {
        this.#tasks.set(id, write.value);
      }
      return this.#holdTask(id);
    }
    if (write.part === 'status') {
      if (write.value !== null && isTerminal(write.value.state)) {
        this.#ended.add(id);
      } else {
        this.#ended.delete(id);
      }
      return this.#holdTask(id);
    }
    if (write.part === 'attachment') {
      return this.#hold(`attachment ${id}`, this.#addresses(write.value === null ? [] : [write.value]));
    }
    if (write.part === 'nodeAddresses') {
      return this.#hold(`node ${id}`, this.#addresses(write.value?.networks));
    }
    if (write.part === 'serviceRun') {
      const ports = (write.value?.ports ?? []).filter((port) => isIngress(port) && port.PublishedPort);
      return this.#hold(`service ${id}`, [
        ...this.#addresses(write.value?.vips),
        ...ports.map(({ Protocol, PublishedPort }) => `port ${Protocol ?? 'tcp'}/${PublishedPort}`),
      ]);
    }
    return [];
  }

  #holdTask(id: string): readonly string[] {
    const record = this.#tasks.get(id);
    const isHolding = record?.node !== undefined && !this.#ended.has(id);
    return this.#hold(`task ${id}`, this.#addresses(isHolding ? record.networks : []));
  }

  /** Answers what it holds that it did not hold before. */
  #hold(holder: string, claims: readonly string[]): readonly string[] {
    const before = new Set(this.#heldBy.get(holder) ?? []);
    for (const claim of before) {
      this.#holders.get(claim)?.delete(holder);
    }
    for (const claim of claims) {
      const holders = this.#holders.get(claim) ?? new Set();
      holders.add(holder);
      this.#holders.set(claim, holders);
    }
    this.#heldBy.set(holder, claims);
    return claims.filter((claim) => !before.has(claim));
  }

  #addresses(given: readonly NetworkAddresses[] | undefined): string[] {
    return (given ?? []).flatMap(({ network, addresses }) =>
      addresses.map((address) => `address ${network} ${address}`),
    );
  }

  /** The leader has heard of a task's end before the store has it. */
  #isOver(holder: string): boolean {
    const [kind, id = ''] = holder.split(' ');
    const node = this.#world.nodes.get(this.#tasks.get(id)?.node ?? '');
    return kind === 'task' && (node === undefined || node.hasEnded(id));
  }

  #check(claim: string, revision: number): void {
    this.checks += 1;
    const all = [...(this.#holders.get(claim) ?? [])];
    const holders = all.length > 1 ? all.filter((holder) => !this.#isOver(holder)) : all;
    const [kind, network = '', address = ''] = claim.split(' ');
    const wrong = [
      ...(holders.length > 1 ? [`is given to ${holders.join(' and ')}`] : []),
      ...(kind === 'address' && holders.length > 0 ? wrongOf(this.#networks.get(network), address) : []),
    ];
    for (const text of wrong) {
      this.#world.fail(`at revision ${revision} ${claim} ${text}`);
    }
  }
}

function wrongOf(network: NetworkRecord | undefined, text: string): string[] {
  const address = parseIp(text);
  for (const { Subnet = '', Gateway } of network?.overlay?.ipam.config ?? []) {
    const subnet = parseAnyCidr(Subnet)?.subnet;
    if (subnet !== undefined && address !== undefined && isIn(subnet, address)) {
      const last = isSubnet4(subnet) ? subnet.base + 2 ** (32 - subnet.prefixLength) - 1 : undefined;
      return [
        ...(text === Gateway ? ['is the gateway'] : []),
        ...(text === formatIp(subnet.base) ? ['is the network itself'] : []),
        ...(last !== undefined && text === formatIp(last) ? ['is the broadcast address'] : []),
      ];
    }
  }
  return ['is in no subnet of its network'];
}
