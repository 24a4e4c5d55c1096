import type { WebsiteStatus } from '../../hub/notes/schema/website-status.ts';
import path from 'node:path';
import type { Swarm } from '../../../swarm/swarm.ts';
import { systemClock } from '../../base/clock.ts';
import type { Rollback } from '../../base/rollback.ts';
import type { Containers } from '../../containers/containers.ts';
import { LocalSet } from '../../hub/records/move/local-set.ts';
import type { Images } from '../../images/images.ts';
import type { Base } from '../parts.ts';
import { Aside } from './aside.ts';
import { composeHub, type ComposedHub } from './compose-hub.ts';
import { ContainerTokens } from './container-tokens.ts';
import { HubPlace } from './hub-place.ts';
import { ServiceRollouts } from './service-rollouts.ts';
import type { Membership } from '../records/standing.ts';

/** What other parts are made with, which are there before the hub is. */
export interface HubDoors {
  place: HubPlace;
  aside: Aside;
  tokens: ContainerTokens;
  rollouts: ServiceRollouts | undefined;
}

/** The place is there also without a hub: what a swarm has of its records must not be lost with it. */
export function composeHubDoors(
  { deps: { config, log }, database }: Base,
  membership: () => Membership | undefined,
): HubDoors {
  const local = new LocalSet(database);
  const aside = new Aside(path.join(config.dataRoot, 'hub', 'aside'), local);
  return {
    place: new HubPlace({ clock: systemClock, log, local, deliveries: database, aside, membership }),
    aside,
    tokens: new ContainerTokens({ log }),
    rollouts: config.hubAddress === '' ? undefined : new ServiceRollouts(),
  };
}

/** To be called when the swarm is there: at the end the hub goes before it, and nowhere else. */
export async function openHub(
  { deps: { config, log }, database }: Base,
  parts: Rollback,
  { place, aside, tokens, rollouts }: HubDoors,
  others: {
    swarm: Swarm;
    images: Images;
    containers: Containers;
    websites: { websiteStatus: WebsiteStatus };
  },
): Promise<ComposedHub | undefined> {
  const { swarm, images, containers, websites } = others;
  const websiteStatus: WebsiteStatus = (all) => websites.websiteStatus(all);
  parts.defer('end the hub', () => place[Symbol.asyncDispose]());
  const hub = await composeHub({ config, database, log, swarm, images, place, aside, websiteStatus });
  rollouts?.open(hub);
  // In a swarm other hosts have containers with tokens too.
  const isOther = (id: string): boolean => place.isShared && containers.nameOf(id) === undefined;
  await tokens.open(hub, (id) => containers.isLive(id) || isOther(id));
  return hub;
}
