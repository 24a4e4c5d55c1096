import { readdirSync } from 'node:fs';
import path from 'node:path';
import type { ContainerInspect } from '../../../api/types/container.ts';
import type { ServiceInspect } from '../../../api/types/swarm/service.ts';
import { wrongDatagrams, wrongSecrets } from './more-ways.ts';
import { BOXES } from './steps.ts';
import type { VictimSwarm } from './victim-swarm.ts';
import { ECHO, NETWORK, PAGES, portOf } from './wishes.ts';

/** A container of a task that runs. */
export interface Runner {
  /** From 1. */
  node: number;
  container: string;
  service: string;
  /** What its page says. */
  hostname: string;
  /** Its address in `NETWORK`. */
  address: string;
  /** All of its addresses of IPv6. */
  addresses6: string[];
}

/** What is wrong with addresses, names and published ports; one sentence each. Empty answers are differences. */
export async function waysOf(victim: VictimSwarm): Promise<string[]> {
  const services = await victim.swarm.node(1).daemon.http.ok<ServiceInspect[]>('GET', '/services');
  const inspected = await Promise.all(victim.swarm.nodes.map((_, index) => containersOn(victim, index + 1)));
  const runners = inspected.flatMap((list, index) => list.map((container) => runnerOf(container, index + 1)));
  const boxes = await boxesOf(victim);
  const found = await Promise.all([
    givenTwice(victim, services, [...inspected, boxes]),
    wrongNames(victim, services, runners, boxes),
    wrongAnswers(victim, runners),
    wrongDatagrams(victim, runners),
    wrongSecrets(victim, runners),
  ]);
  return found.flat();
}

/** Containers that users ran in the network. */
async function boxesOf({ swarm, wishes }: VictimSwarm): Promise<ContainerInspect[]> {
  return await Promise.all(
    [...wishes.boxes].map(([name, node]) =>
      swarm.node(node).daemon.http.ok<ContainerInspect>('GET', `/containers/${name}/json`),
    ),
  );
}

async function containersOn({ swarm }: VictimSwarm, node: number): Promise<ContainerInspect[]> {
  const { http } = swarm.node(node).daemon;
  const filters = encodeURIComponent(JSON.stringify({ 'is-task': ['true'] }));
  const list = await http.ok<{ Id: string }[]>('GET', `/containers/json?filters=${filters}`);
  return await Promise.all(list.map(({ Id }) => http.ok<ContainerInspect>('GET', `/containers/${Id}/json`)));
}

function runnerOf({ Id, Config, NetworkSettings }: ContainerInspect, node: number): Runner {
  return {
    node,
    container: Id,
    service: Config.Labels?.['com.docker.swarm.service.name'] ?? '',
    hostname: Config.Hostname ?? '',
    address: NetworkSettings.Networks[NETWORK]?.IPAddress ?? '',
    addresses6: Object.values(NetworkSettings.Networks).flatMap(({ GlobalIPv6Address = '' }) =>
      GlobalIPv6Address === '' ? [] : [GlobalIPv6Address],
    ),
  };
}

/** Addresses that two have, of whatever kind they are: containers, services and nodes. */
async function givenTwice(
  { swarm }: VictimSwarm,
  services: readonly ServiceInspect[],
  containers: readonly (readonly ContainerInspect[])[],
): Promise<string[]> {
  const given = [
    ...services.flatMap(({ Spec, Endpoint }) =>
      (Endpoint?.VirtualIPs ?? []).map(({ NetworkID, Addr = '' }) => ({
        at: `${NetworkID} ${bare(Addr)}`,
        owner: `service ${Spec.Name ?? ''}`,
      })),
    ),
    ...containers.flat().flatMap(({ Name, NetworkSettings }) =>
      Object.values(NetworkSettings.Networks).flatMap(({ NetworkID, IPAddress, GlobalIPv6Address = '' }) =>
        [IPAddress, ...(GlobalIPv6Address === '' ? [] : [GlobalIPv6Address])].map((address = '') => ({
          at: `${NetworkID} ${address}`,
          owner: `container ${Name}`,
        })),
      ),
    ),
  ];
  // Each node answers at the addresses of services, as at the gateways.
  const vips = new Set(given.map(({ at, owner }) => (owner.startsWith('service') ? at : '')));
  const ofNodes = await Promise.all(swarm.nodes.map((_, index) => nodeAddresses(swarm, index + 1)));
  given.push(...ofNodes.flat().filter(({ at }) => !vips.has(at)));
  const owners = grouped(given, ({ at }) => at);
  return [...owners].flatMap(([at, found]) =>
    found.length > 1 ? [`${at} was given to ${found.map(({ owner }) => owner).join(' and to ')}`] : [],
  );
}

/** What the kernel of a node has as its own in the namespaces of overlay networks, but for the common gateways. */
async function nodeAddresses(
  swarm: VictimSwarm['swarm'],
  node: number,
): Promise<{ at: string; owner: string }[]> {
  const { daemon, hostname } = swarm.node(node);
  const folder = path.join(daemon.paths.execRoot, 'overlays');
  const lists = await Promise.all(
    readdirSync(folder).map(async (network) => {
      const file = path.join(folder, network);
      const said = await daemon.netns.run('nsenter', `--net=${file}`, 'ip', '-j', '-4', 'addr');
      const links: { addr_info: { local: string }[] }[] = JSON.parse(said);
      return links
        .flatMap(({ addr_info }) => addr_info.map(({ local }) => local))
        .filter((address) => address.startsWith('10.') && !address.endsWith('.1'))
        .map((address) => ({ at: `${network} ${address}`, owner: `node ${hostname}` }));
    }),
  );
  return lists.flat();
}

/** What a task of each node is answered when it asks for the names of all services, and behind them. */
async function wrongNames(
  { swarm, wishes }: VictimSwarm,
  services: readonly ServiceInspect[],
  runners: readonly Runner[],
  boxes: readonly ContainerInspect[],
): Promise<string[]> {
  const network = await swarm.node(1).daemon.http.ok<{ Id: string }>('GET', `/networks/${NETWORK}`);
  const names = new Map(
    services.flatMap(({ Spec: { Name = '' }, Endpoint }) => {
      const vip = Endpoint?.VirtualIPs?.find(({ NetworkID }) => NetworkID === network.Id)?.Addr ?? '';
      const tasks = runners.filter(({ service }) => service === Name).map(({ address }) => address);
      return [
        [Name, bare(vip)],
        [`tasks.${Name}`, tasks.toSorted().join(' ')],
      ];
    }),
  );
  for (const gone of [...PAGES, ...BOXES].filter((name) => !wishes.services.has(name))) {
    names.set(gone, '');
  }
  for (const { Name, NetworkSettings } of boxes) {
    names.set(Name.slice(1), NetworkSettings.Networks[NETWORK]?.IPAddress || 'an address');
  }
  // Tasks of the other network know more addresses.
  const inOne = runners.filter(({ service }) => service !== ECHO);
  const askers = [...grouped(inOne, ({ node }) => node).values()].flatMap((list) => list.slice(0, 1));
  const asked = [...names].map(
    ([name, expected]) =>
      `echo "${name} = $(nslookup -type=a ${name} 127.0.0.11 2>/dev/null | ` +
      `sed -n '/^Name:/,$s/^Address: //p' | sort | tr '\\n' ' ')"` +
      (expected === '' || name.startsWith('tasks.') || name === ECHO
        ? ''
        : `; wget -q -O /dev/null http://${expected}/ || echo "${name} is silent at ${expected}"`),
  );
  const lists = await Promise.all(
    askers.map(async ({ node, container }) => {
      const said = await swarm.must(node, 'exec', container, 'sh', '-c', asked.join('; '));
      const lines = said.split('\n').map((line) => line.trim());
      const expected = [...names].map(([name, addresses]) => `${name} = ${addresses}`.trim());
      return [
        ...lines.filter((line) => !expected.includes(line)).map((line) => `n${node} says ${line}`),
        ...expected.filter((line) => !lines.includes(line)).map((line) => `n${node} does not say ${line}`),
      ];
    }),
  );
  return lists.flat();
}

/** At the published port of each service each node answers for all of its tasks; nobody does for one that is gone. */
async function wrongAnswers({ swarm, wishes }: VictimSwarm, runners: readonly Runner[]): Promise<string[]> {
  const differences: string[] = [];
  for (const service of PAGES) {
    const port = portOf(service);
    const count = wishes.services.get(service) ?? 0;
    const expected = runners.filter((runner) => runner.service === service).map(({ hostname }) => hostname);
    const asked = swarm.nodes.map(async ({ addr, hostname, daemon }) => {
      const answers = new Set<string>();
      // A node takes the tasks in turn.
      for (let at = 0; at < Math.max(1, count); at += 1) {
        answers.add((await swarm.node(1).daemon.fetch(`http://${addr}:${port}/`)).trim());
      }
      answers.add((await daemon.fetch(`http://127.0.0.1:${port}/`)).trim());
      const said = [...answers].toSorted().join(' ');
      return said === expected.toSorted().join(' ')
        ? []
        : [`at port ${port} of ${hostname} answered "${said}", there are ${expected.join(' ') || 'none'}`];
    });
    differences.push(...(await Promise.all(asked)).flat());
  }
  return differences;
}

function grouped<Item, Key>(items: readonly Item[], keyOf: (item: Item) => Key): Map<Key, Item[]> {
  const groups = new Map<Key, Item[]>();
  for (const item of items) {
    groups.set(keyOf(item), [...(groups.get(keyOf(item)) ?? []), item]);
  }
  return groups;
}

function bare(address: string): string {
  return address.split('/')[0] ?? '';
}
