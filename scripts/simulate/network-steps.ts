import type { EndpointSpec, ServiceSpec } from '../../api/types/swarm/service.ts';
import { EngineError } from '../../daemon/base/errors.ts';
import { createNetwork } from '../../swarm/control/networks/create.ts';
import { removeNetwork } from '../../swarm/control/networks/remove.ts';
import type { NetworkAttachmentConfig } from '../../api/types/swarm/task.ts';
import type { NetworkRecord } from '../../swarm/objects/network.ts';
import type { SeededRandom } from '../../test/support/seeded-random.ts';
import { pick } from './choose.ts';
import { VirtualClock } from './virtual-clock.ts';
import type { Member, World } from './world.ts';

/** Few numbers, so that services want the same. */
const PORTS = 4;
const SUBNETS = 6;
const NO_MANAGERS = { list: () => [] };

/** A user's call; what the managers refuse the user lives with. */
async function call(world: World, act: () => Promise<unknown>): Promise<void> {
  try {
    await act();
  } catch (error) {
    if (!(error instanceof EngineError)) {
      world.failures.push(`a user's call: ${String(error)}`);
    }
  }
}

/** Some have a subnet with room for few. */
export function addNetwork(world: World, random: SeededRandom): void {
  const isSmall = random.below(2) === 0;
  const Subnet = `10.200.${random.below(SUBNETS)}.0/${pick(random, [26, 27, 28]) ?? 28}`;
  const request = {
    Name: `net${random.below(1e9).toString(36)}`,
    Driver: 'overlay',
    Attachable: random.below(4) > 0,
    EnableIPv6: random.below(4) === 0,
    ...(isSmall ? { IPAM: { Config: [{ Subnet }] } } : {}),
  };
  const context = {
    cluster: world.store.cluster,
    clock: new VirtualClock(world.queue, 0),
    random,
    managers: NO_MANAGERS,
    localNetwork: () => undefined,
    hostSubnets: () => [],
  };
  void call(world, () => createNetwork(context, request));
}

export function dropNetwork(world: World, random: SeededRandom): void {
  const network = pick(random, overlays(world));
  if (network !== undefined && !world.store.isFull) {
    const context = {
      cluster: world.store.cluster,
      clock: new VirtualClock(world.queue, 0),
      managers: NO_MANAGERS,
    };
    void call(world, () => removeNetwork(context, network.id));
  }
}

/** None, one or two of the swarm's networks. */
export function someNetworks(world: World, random: SeededRandom): NetworkAttachmentConfig[] {
  const all = overlays(world);
  const chosen = Array.from({ length: random.below(3) }, () => pick(random, all)?.id ?? '');
  return [...new Set(chosen)].flatMap((Target) => (Target === '' ? [] : [{ Target }]));
}

/** `service update --network-add` and `--network-rm`, `--endpoint-mode`, `--publish-add` and `--publish-rm`. */
export function reconnected(world: World, random: SeededRandom, spec: ServiceSpec): ServiceSpec {
  const { TaskTemplate, EndpointSpec: before, ...rest } = spec;
  const endpoint = random.below(2) === 0 ? before : someEndpoint(random);
  const Networks = random.below(3) === 0 ? TaskTemplate?.Networks : someNetworks(world, random);
  return {
    ...rest,
    TaskTemplate: { ...TaskTemplate, ...(Networks ? { Networks } : {}) },
    ...(endpoint ? { EndpointSpec: endpoint } : {}),
  };
}

/** Mode dnsrr publishes no ports in the routing mesh. */
export function someEndpoint(random: SeededRandom): EndpointSpec | undefined {
  switch (random.below(4)) {
    case 0:
      return { Mode: 'vip', Ports: [{ TargetPort: 80 }] };
    case 1:
      return { Mode: 'vip', Ports: [{ TargetPort: 80, PublishedPort: 30_000 + random.below(PORTS) }] };
    case 2:
      return { Mode: 'dnsrr' };
    default:
      return undefined;
  }
}

/** A container of a node, in an attachable network as a rule, with an address of its own choice now and then. */
export function attachContainer(world: World, random: SeededRandom): void {
  const node = pick(random, up(world));
  const network = pick(random, overlays(world));
  if (node !== undefined && network !== undefined) {
    const container = `c${random.below(1e9).toString(36)}`;
    const gateway = network.overlay?.ipam.config[0]?.Gateway ?? '';
    const asked = gateway.replace(/\d+$/, String(random.below(18)));
    const addresses = random.below(3) === 0 && asked !== '' ? [asked] : [];
    node.networks.attach({ network: network.id, container, names: [container], addresses });
  }
}

export function detachContainer(world: World, random: SeededRandom): void {
  const node = pick(
    random,
    up(world).filter(({ networks }) => networks.containers.size > 0),
  );
  const container = pick(random, [...(node?.networks.containers.values() ?? [])]);
  if (container !== undefined) {
    node?.networks.detach(container);
  }
}

function overlays(world: World): NetworkRecord[] {
  return world.store.all('network').filter(({ ingress, overlay }) => !ingress && overlay !== undefined);
}

function up(world: World): Member[] {
  return [...world.nodes.values()].filter(({ isUp }) => isUp);
}
