import { afterEach, beforeEach, expect, test } from 'vitest';
import { limits } from '../../../daemon/base/limits.ts';
import { createNetwork } from '../../../swarm/control/networks/create.ts';
import { AttachedSwarm } from '../../support/swarm/attached-swarm.ts';
import { nodeWrites } from '../../support/swarm/builders.ts';
import { SeededRandom } from '../../support/seeded-random.ts';

/** The subnets of hosts, which managers and nodes tell each other to keep networks of the swarm off them. */
let swarm: AttachedSwarm;

beforeEach(async () => {
  swarm = await AttachedSwarm.start(['m1'], nodeWrites('n1'), nodeWrites('n2'));
  await swarm.startNode('n1');
  await swarm.startNode('n2');
});

afterEach(async () => {
  await swarm[Symbol.asyncDispose]();
});

const cluster = () => swarm.manager('m1').manager.cluster;
const known = (node: string) => cluster().part('nodeDescription', node)?.subnets;

/** The nodes' engines have other networks now; it is looked at every 20 s. */
async function have(subnets: Record<string, string[]>): Promise<void> {
  for (const [node, own] of Object.entries(subnets)) {
    swarm.executor(node).hostSubnets = own;
  }
  for (let passedMs = 0; passedMs < limits.swarmDescribeMs + 1_000; passedMs += 3_000) {
    await swarm.pass(3_000);
  }
}

async function create(
  Name: string,
  Subnet?: string,
): Promise<{ warning: string; subnet: string | undefined }> {
  const context = {
    cluster: cluster(),
    clock: swarm.rig.clock,
    random: new SeededRandom(Name.length),
    managers: { list: () => [] },
    localNetwork: () => undefined,
    hostSubnets: () => [],
  };
  const { Id, Warning } = await createNetwork(context, {
    Name,
    Driver: 'overlay',
    ...(Subnet && { IPAM: { Config: [{ Subnet }] } }),
  });
  await swarm.pass(100);
  return { warning: Warning, subnet: cluster().state.networks.get(Id)?.overlay?.ipam.config[0]?.Subnet };
}

test('nodes tell what they are in: with a session, and when it has changed', async () => {
  expect(known('n1')).toBe(undefined);
  await have({ n1: ['10.0.0.0/23', '192.168.0.7/24'] });
  expect([known('n1'), known('n2')]).toEqual([['10.0.0.0/23', '192.168.0.7/24'], undefined]);
  swarm.executor('n2').hostSubnets = ['172.18.0.0/16'];
  await swarm.startNode('n2');
  expect(known('n2')).toEqual(['172.18.0.0/16']);
  await have({ n1: [] });
  expect(known('n1')).toBe(undefined);
});

test('a subnet that a node is in, by an interface or by a network of its own, is not chosen', async () => {
  await have({ n1: ['10.0.0.0/23'], n2: ['10.0.2.9/24', 'fd00::5/64'] });
  expect(await create('a')).toEqual({ warning: '', subnet: '10.0.3.0/24' });
});

test('one that is asked for is taken, with a warning of what its tasks will not reach', async () => {
  await have({ n1: ['10.7.0.0/16'], n2: ['10.7.3.9/24'] });
  expect(await create('a', '10.7.3.0/24')).toEqual({
    subnet: '10.7.3.0/24',
    warning:
      'network a: subnet 10.7.3.0/24 overlaps with 10.7.0.0/16 of node host1, 10.7.3.0/24 overlaps with 10.7.3.0/24 ' +
      'of node host1: what else is there its tasks do not reach',
  });
  expect(await create('b', '10.8.0.0/24')).toEqual({ subnet: '10.8.0.0/24', warning: '' });
});

test('what is none, and what is too much, is left out: a node may be in other hands', async () => {
  const many = Array.from({ length: 1_000 }, (_, at) => `10.${at >> 8}.${at & 255}.0/24`);
  await have({ n1: ['nothing', '10.0.0.0/99', '10.1.0.0/24'], n2: many });
  expect(known('n1')).toEqual(['10.1.0.0/24']);
  expect(known('n2')).toHaveLength(limits.swarmNodeSubnetsMax);
});
