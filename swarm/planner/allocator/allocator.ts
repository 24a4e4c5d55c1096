import type { AttachmentRecord } from '../../objects/attachment.ts';
import { remove, type Write } from '../../objects/parts.ts';
import type { Attention } from '../attention.ts';
import type { ClusterState } from '../state/cluster-state.ts';
import { newNode, type Service } from '../state/entries.ts';
import { Addresses } from './addresses.ts';
import { decideAttachment, type AttachmentRefusal, type AttachmentWish } from './attachments.ts';
import { allocateNode, missesAddress } from './node-addresses.ts';
import { allocatePorts } from './ports.ts';
import { holdTasks, withAddresses, type Held } from './task-addresses.ts';
import { allocateVips, hasSpareVip, missingVips } from './vips.ts';

/**
 * What is there once in the swarm: published ports, and addresses in its networks. Who found nothing free is looked at
 * again as soon as something is, not after a time.
 */
export class Allocator {
  readonly addresses: Addresses;
  readonly #state: ClusterState;
  /** Services that have not been given their ports. */
  readonly #withoutPorts = new Set<string>();
  /** Services that have not been given all of their virtual addresses. */
  readonly #withoutVips = new Set<string>();
  readonly #nodesWithout = new Set<string>();

  constructor(state: ClusterState) {
    this.#state = state;
    this.addresses = new Addresses(state);
  }

  begin(attention: Attention): void {
    this.addresses.begin();
    for (const { id, run } of this.#state.services.values()) {
      if (run?.portsError !== undefined) {
        this.#withoutPorts.add(id);
      }
    }
    for (const { network, node } of this.#state.attachments.values()) {
      attention.networks.add(network);
      attention.nodes.add(node);
    }
    for (const id of this.#state.nodeAddresses.keys()) {
      attention.nodes.add(id);
    }
  }

  /** Marks those that waited for an address where one was freed. */
  wake(attention: Attention): void {
    const { services, nodes, ingress } = this.#state;
    for (const id of this.#withoutVips) {
      const service = services.get(id);
      const missing = service?.record ? missingVips(this.#state, service, service.record) : [];
      if (missing.length === 0) {
        this.#withoutVips.delete(id);
      } else if (missing.some((network) => this.addresses.room(network.id) > 0)) {
        attention.services.add(id);
      }
    }
    for (const id of this.#nodesWithout) {
      const node = nodes.get(id);
      if (node === undefined || ingress === undefined || !missesAddress(this.#state, node)) {
        this.#nodesWithout.delete(id);
      } else if (this.addresses.room(ingress.id) > 0) {
        attention.nodes.add(id);
      }
    }
  }

  /** Ports and virtual addresses of a service. Each write has to be applied before the next one is asked for. */
  *endpointOf(service: Service): Iterable<Write> {
    const { record } = service;
    if (record === undefined) {
      return;
    }
    yield* allocatePorts(this.#state, service, record);
    // Each one is decided on what the other has written: both are parts of one record.
    yield* allocateVips(this.#state, this.addresses, service, record);
    if (missingVips(this.#state, service, record).length > 0) {
      this.#withoutVips.add(service.id);
    }
  }

  lookAtNode(id: string): Write[] {
    const node = this.#state.nodes.get(id) ?? newNode(id);
    const writes = allocateNode(this.#state, this.addresses, node);
    if (writes.length === 0 && missesAddress(this.#state, node)) {
      this.#nodesWithout.add(node.id);
    }
    return writes;
  }

  /** Nobody is in a network that is gone, but for tasks that run there still. */
  lookAtNetwork(id: string): Write[] {
    return this.#state.networks.has(id)
      ? []
      : [...this.#state.attachments.values()]
          .filter(({ network }) => network === id)
          .map((attachment) => remove('attachment', attachment.id));
  }

  hold(now: number): Held {
    return holdTasks(this.#state, this.addresses, now);
  }

  withAddresses(write: Write, now: number): Write[] {
    return withAddresses(this.#state, this.addresses, write, now);
  }

  /** What lets a container of a node into a network, or why nothing does. */
  attach(wish: AttachmentWish, now: number): AttachmentRecord | AttachmentRefusal {
    return decideAttachment(this.#state, this.addresses, wish, now);
  }

  /** What a change leads to, after the state has it. */
  follow(write: Write, attention: Attention): void {
    if (write.part === 'network') {
      this.addresses.forget(write.id);
    } else if (write.part === 'serviceRun' || (write.part === 'service' && write.value === null)) {
      this.#portsChanged(write.id, attention);
    }
  }

  /** A task of a service was changed or removed: it may have been the last one that needed an address of it. */
  followTask(service: string, attention: Attention): void {
    const entry = this.#state.services.get(service);
    if (entry !== undefined && hasSpareVip(this.#state, entry)) {
      attention.services.add(service);
    }
  }

  /** Ports may have become free. */
  #portsChanged(changed: string, attention: Attention): void {
    if (this.#state.services.get(changed)?.run?.portsError === undefined) {
      this.#withoutPorts.delete(changed);
      this.#withoutPorts.forEach((id) => attention.services.add(id));
    } else {
      this.#withoutPorts.add(changed);
    }
  }
}
