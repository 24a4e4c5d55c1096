import { PortAllocator } from '../../../../../daemon/networks/sandbox/port-allocator.ts';
import { Mesh } from '../../../../../daemon/networks/overlay/mesh/mesh.ts';
import { ALL_SERVE } from '../../../../../daemon/networks/overlay/reach/reach.ts';
import { silentLogger } from '../../../../../daemon/base/logger.ts';
import type { HostPort } from '../../../../../runtime/network/port-reservations.ts';
import type { MeshPort } from '../../../../../runtime/network/overlay/settings.ts';
import { ManualClock } from '../../../../support/fakes/manual-clock.ts';

/** The mesh with the real allocator; host and kernel are lists. */
export class MeshRig {
  readonly clock = new ManualClock();
  /** Ports that programs of the host have. */
  readonly foreign = new Set<number>();
  /** What was done, in order. */
  readonly done: string[] = [];
  readonly #reserved = new Set<number>();
  #set: readonly MeshPort[] = [];
  refuses = false;
  readonly allocator = new PortAllocator({
    kernel: {
      reserve: ({ hostPort, hostAddress }: HostPort) => {
        if (this.foreign.has(hostPort)) {
          throw Object.assign(new Error('taken'), { code: 'EADDRINUSE' });
        }
        this.#reserved.add(hostPort);
        if (hostAddress === 0) {
          this.done.push(`hold ${hostPort}`);
        }
      },
      release: ({ hostPort, hostAddress }: HostPort) => {
        if (this.#reserved.delete(hostPort) || hostAddress === 0n) {
          this.done.push(...(hostAddress === 0 ? [`release ${hostPort}`] : []));
        }
      },
    },
    log: silentLogger,
  });
  readonly mesh = new Mesh({
    kernel: {
      mesh: (ports) => {
        if (this.refuses) {
          throw new Error('no memory');
        }
        this.#set = ports;
        this.done.push(`set ${ports.map(({ published }) => published).join(' ')}`);
      },
    },
    hostPorts: this.allocator,
    serving: ALL_SERVE,
    clock: this.clock,
    log: silentLogger,
  });

  /** A swarm with one service, which publishes these and no others. */
  publish(...published: number[]): void {
    const ports = published.map((port) => ({ protocol: 'tcp' as const, published: port, target: 80 }));
    const services = [{ id: 's1', name: 'web', ports }];
    const none = { endpoints: [], removedEndpoints: [], removedServices: [] };
    this.mesh.apply({ full: true, local: '', ...none, services });
  }

  held(): string[] {
    return [...this.#reserved].map(String).toSorted();
  }

  /** Ports in the kernel. */
  set(): string[] {
    return this.#set.map(({ published }) => String(published)).toSorted();
  }
}
