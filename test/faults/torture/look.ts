import type { ServiceInspect } from '../../../api/types/swarm/service.ts';
import type { TaskInspect } from '../../../api/types/swarm/task.ts';
import { until } from '../../support/engine/http.ts';
import type { VictimSwarm } from './victim-swarm.ts';
import { waysOf } from './ways.ts';

/** A lost node is replaced after three heartbeats, a lost leader within seconds; all of it beside load. */
const QUIET_MS = 150_000;

/** What is wrong with a healed swarm once it had the time to be as it is wanted; one sentence each. */
export async function look(victim: VictimSwarm): Promise<string[]> {
  const problems: string[] = [];
  let last: string[] = [];
  await until(
    'the swarm to be as it is wanted',
    async () => {
      last = await differencesOf(victim).catch((error: unknown) => [String(error)]);
      return last.length === 0;
    },
    QUIET_MS,
  ).catch(() => problems.push(...last));
  return problems;
}

async function differencesOf(victim: VictimSwarm): Promise<string[]> {
  const { swarm } = victim;
  const wanted = victim.wishes.services;
  const differences: string[] = [];
  const containers = new Set(await containersOf(victim));
  for (const manager of [1, 2, 3]) {
    const { http } = swarm.node(manager).daemon;
    const services = await http.ok<ServiceInspect[]>('GET', '/services');
    const names = new Map(services.map(({ ID, Spec }) => [ID, Spec.Name ?? '']));
    const tasks = (await http.ok<TaskInspect[]>('GET', '/tasks')).filter(
      ({ Status, DesiredState }) => Status.State === 'running' && DesiredState === 'running',
    );
    const said = [...names.values()].toSorted().join();
    const expected = [...wanted.keys()].toSorted().join();
    if (said !== expected) {
      differences.push(`n${manager} has the services ${said}, wanted are ${expected}`);
    }
    for (const [service, count] of wanted) {
      const running = tasks.filter(({ ServiceID = '' }) => names.get(ServiceID) === service).length;
      if (running !== count) {
        differences.push(`n${manager} sees ${running} tasks of ${service} running, wanted are ${count}`);
      }
    }
    const told = tasks.map(({ Status }) => Status.ContainerStatus?.ContainerID ?? '');
    const strange = told.filter((id) => !containers.has(id));
    if (strange.length > 0 || told.length !== containers.size) {
      differences.push(`n${manager} tells of ${told.length} containers, there are ${containers.size}`);
    }
  }
  // What answers is told only of a swarm that runs what it should.
  return differences.length > 0 ? differences : await waysOf(victim);
}

/** Containers of tasks that run, on all nodes. */
async function containersOf({ swarm }: VictimSwarm): Promise<string[]> {
  const lists = await Promise.all(
    swarm.nodes.map((_, index) =>
      swarm.must(index + 1, 'ps', '--no-trunc', '--quiet', '--filter', 'is-task=true'),
    ),
  );
  return lists.flatMap((list) => list.split('\n')).filter((id) => id !== '');
}
