import { tryParseReference } from '../../../storage/references/reference.ts';
import type { Rollout, RolloutPort } from '../../../swarm/leader/rollouts.ts';
import type { ServiceImage } from '../../hub/deployments/deployment-news.ts';
import type { Deployments } from '../../hub/deployments/deployments.ts';

interface OpenHub {
  deployments: Pick<Deployments, 'tell'>;
  /** By which images of the hub are named: `127.0.0.1:5010`. */
  hosts: readonly string[];
}

/** Leads what a swarm's leader tells of services to the hub, which is there after the swarm is. */
export class ServiceRollouts implements RolloutPort {
  #hub: OpenHub | undefined;

  open(hub: OpenHub | undefined): void {
    this.#hub = hub;
  }

  wants(image: string): boolean {
    return this.#named(image) !== undefined;
  }

  /** Does nothing before the hub is there: the leader tells again. */
  async tell(rollouts: readonly Rollout[]): Promise<void> {
    await this.#hub?.deployments.tell(
      rollouts.flatMap(({ image, ...rollout }) => {
        const named = this.#named(image);
        return named === undefined ? [] : [{ ...rollout, ...named }];
      }),
    );
  }

  #named(image: string): Pick<ServiceImage, 'owner' | 'repository' | 'tag' | 'digest'> | undefined {
    const reference = tryParseReference(image);
    const [owner, repository, ...more] = reference?.path.split('/') ?? [];
    const isOfHub = reference !== undefined && this.#hub?.hosts.includes(reference.domain) === true;
    return !isOfHub || owner === undefined || repository === undefined || more.length > 0
      ? undefined
      : { owner, repository, tag: reference.tag ?? null, digest: reference.digest ?? null };
  }
}
