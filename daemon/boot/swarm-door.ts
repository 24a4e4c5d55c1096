import type { SwarmNetworks } from '../../api/types/swarm/networks.ts';
import type { Swarm } from '../../swarm/swarm.ts';
import type { SwarmAccess } from '../networks/sandbox/swarm-attachments.ts';

/**
 * The swarm's networks for containers, which are there before the swarm is: those that are started with the daemon wait
 * until it is open.
 */
export class SwarmDoor implements SwarmAccess {
  #swarm: Pick<Swarm, 'networks' | 'role'> | undefined;
  #opened!: (networks: SwarmNetworks) => void;
  readonly #networks = new Promise<SwarmNetworks>((resolve) => {
    this.#opened = resolve;
  });

  open(swarm: Pick<Swarm, 'networks' | 'role'>): void {
    this.#swarm = swarm;
    this.#opened(swarm.networks);
  }

  async attach(...request: Parameters<SwarmNetworks['attach']>): ReturnType<SwarmNetworks['attach']> {
    return await (await this.#networks).attach(...request);
  }

  async detach(...request: Parameters<SwarmNetworks['detach']>): Promise<void> {
    await (await this.#networks).detach(...request);
  }

  /** A worker knows of none: the leader finds it when the container is let in. */
  find(ref: string): { id: string; name: string } | undefined {
    if (this.#swarm?.role === 'active/worker') {
      return { id: '', name: ref };
    }
    const all = this.#swarm?.networks.list() ?? [];
    const found = all.find(({ Id }) => Id === ref) ?? all.find(({ Name }) => Name === ref);
    return found && { id: found.Id, name: found.Name };
  }
}
