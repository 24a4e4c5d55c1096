import { execFileSync } from 'node:child_process';
import { expect } from 'vitest';
import { PAGE_PORT, soon, TASKS, type HostSwarm } from './host-swarm.ts';

/** Kept over a boot: what users know the swarm by. */
export interface Remembered {
  node: string;
  cluster: string;
  networks: string[];
  services: string[];
  vip: string;
}

/** Outlives a power cut: the test flushes it. */
export const MEMORY = '/var/tmp/berth-swarm.json';

export async function remembered(swarm: HostSwarm): Promise<Remembered> {
  const { Swarm } = await swarm.http.ok<{ Swarm: { NodeID: string; Cluster: { ID: string } } }>(
    'GET',
    '/info',
  );
  const ids = async (list: string): Promise<string[]> =>
    (await swarm.http.ok<{ Id?: string; ID?: string }[]>('GET', list))
      .map(({ Id, ID }) => Id ?? ID ?? '')
      .toSorted();
  return {
    node: Swarm.NodeID,
    cluster: Swarm.Cluster.ID,
    networks: await ids(`/networks?filters=${encodeURIComponent('{"scope":["swarm"]}')}`),
    services: await ids('/services'),
    vip: await swarm.vip('web'),
  };
}

/**
 * Everything that the two services promise: tasks run, both ports answer at both addresses of this host, the virtual
 * address and all names lead to the tasks, and nothing is there twice. Waits for what has to come.
 */
export async function expectAllServed(swarm: HostSwarm): Promise<void> {
  for (const service of ['web', 'pool']) {
    await swarm.running(service);
    await soon(
      `${TASKS} containers of ${service}`,
      async () => (await swarm.containers(service)).length === TASKS,
    );
  }
  const names = await swarm.pages(swarm.address);
  expect(await swarm.pages('127.0.0.1')).toEqual(names);
  const hosts = (await swarm.containers('web')).map((id) => id.slice(0, 12));
  expect(names).toEqual(hosts.toSorted());
  await expectNames(swarm);
  const vip = await swarm.vip('web');
  await soon('both tasks to answer at the virtual address', async () => {
    const answered = new Set<string>();
    for (let at = 0; at < TASKS; at += 1) {
      answered.add(await swarm.fromClient(`http://${vip}/`));
    }
    return answered.size === TASKS && !answered.has('');
  });
  expectOnce();
}

async function expectNames(swarm: HostSwarm): Promise<void> {
  const vip = await swarm.vip('web');
  await soon('the name of the service', async () => (await swarm.addresses('web')).join() === vip);
  for (const [name, service] of [
    ['tasks.web', 'web'],
    ['pool', 'pool'],
  ] as const) {
    const own = await addressesOf(swarm, service);
    expect(new Set(own).size).toBe(TASKS);
    await soon(
      `${name} to be ${own.join()}`,
      async () => (await swarm.addresses(name)).join() === own.join(),
    );
  }
}

/** Addresses of a service's tasks in `shop`, as the tasks themselves say. */
async function addressesOf(swarm: HostSwarm, service: string): Promise<string[]> {
  const tasks = await swarm.tasks(service);
  return tasks
    .flatMap(({ NetworksAttachments }) => NetworksAttachments ?? [])
    .filter(({ Network }) => Network.Spec.Name === 'shop')
    .map(({ Addresses }) => Addresses?.[0]?.split('/')[0] ?? '')
    .toSorted();
}

/** One store, and each published port in one rule of the host. */
function expectOnce(): void {
  const processes = execFileSync('ps', ['-e', '-o', 'comm='], { encoding: 'utf8' }).split('\n');
  expect(processes.filter((name) => name === 'etcd')).toHaveLength(1);
  const rules = execFileSync('nft', ['list', 'ruleset'], { encoding: 'utf8' });
  expect(rules.match(new RegExp(`\\b${PAGE_PORT} : `, 'g'))).toHaveLength(1);
}
