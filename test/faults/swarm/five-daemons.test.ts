import { afterAll, beforeAll, expect, test } from 'vitest';
import type { TaskInspect as Task } from '../../../api/types/swarm/task.ts';
import { until } from '../../support/engine/http.ts';
import { processes } from '../../support/engine/cleanup.ts';
import { needsEngine } from '../../support/needs.ts';
import { TestSwarm } from '../../support/swarm/hosts/test-swarm.ts';
import { agrees } from '../../support/swarm/oracle/swarm-differences.ts';

/** A node that is lost is taken for down after three heartbeats of 5 s and replaced, beside load. */
const LOST_MS = 90_000;

/** Three managers and two workers; what runs must come back to what is wanted after each fault. */
needsEngine(
  'docker-cli',
  'etcd',
  'etcdctl',
)('a swarm of five under faults', () => {
  let swarm: TestSwarm;

  beforeAll(async () => {
    swarm = await TestSwarm.start(5);
    await swarm.init();
    await swarm.join(2, 'manager');
    await swarm.join(3, 'manager');
    await swarm.join(4, 'worker');
    await swarm.join(5, 'worker');
    await swarm.must(
      1,
      'service',
      'create',
      '--name',
      'web',
      '--replicas',
      '10',
      '--network',
      'none',
      '--stop-grace-period',
      '1s',
      '--restart-delay',
      '100ms',
      '--detach=false',
      'busybox',
      'sleep',
      '3600',
    );
  });
  afterAll(() => swarm[Symbol.asyncDispose]());

  /** By what a manager says; throws while it has no answer. */
  const running = async (manager: number, service = 'web'): Promise<Task[]> => {
    const filters = encodeURIComponent(JSON.stringify({ service: [service], 'desired-state': ['running'] }));
    const tasks = await swarm.node(manager).daemon.http.ok<Task[]>('GET', `/tasks?filters=${filters}`);
    return tasks.filter(({ Status }) => Status.State === 'running');
  };
  const converged = (manager: number, count: number): Promise<void> =>
    until(
      `${count} tasks by n${manager}`,
      async () => {
        try {
          return (await running(manager)).length === count;
        } catch {
          return false;
        }
      },
      LOST_MS,
    );
  /** Containers of tasks on all nodes that live, by `docker ps`. */
  const containers = async (): Promise<string[]> => {
    const lists = await Promise.all(
      swarm.nodes.map(({ daemon }, index) =>
        daemon.isRunning()
          ? swarm.must(index + 1, 'ps', '--no-trunc', '--format', '{{.ID}}', '--filter', 'is-task=true')
          : Promise.resolve(''),
      ),
    );
    return lists.flatMap((list) => list.split('\n')).filter((id) => id !== '');
  };
  const leader = async (asked: number): Promise<number> => {
    const list = await swarm.must(asked, 'node', 'ls', '--format', '{{.Hostname}} {{.ManagerStatus}}');
    return Number(/n(\d) Leader/.exec(list)?.[1]);
  };

  test('117: kill -9 of the leader in the middle of scaling: another one goes on, and it comes back', async () => {
    const first = await leader(1);
    const other = first === 1 ? 2 : 1;
    const scaling = swarm.docker(other, 'service', 'scale', '--detach=true', 'web=15');
    await swarm.node(first).daemon.kill9();
    await scaling;
    await swarm.docker(other, 'service', 'scale', '--detach=true', 'web=15');
    await until(
      'a leader',
      async () => ![Number.NaN, first].includes(await leader(other).catch(() => Number.NaN)),
      LOST_MS,
    );
    await swarm.node(first).daemon.up();
    await converged(other, 15);
    await converged(first, 15);
    await agrees(swarm, LOST_MS);
  });

  test('48: kill -9 of the leader in the middle of an update: the next one ends it', async () => {
    const first = await leader(1);
    const other = first === 1 ? 2 : 1;
    await swarm.must(
      other,
      'service',
      'update',
      '--detach=true',
      '--env-add',
      'A=1',
      '--update-parallelism',
      '2',
      'web',
    );
    await swarm.node(first).daemon.kill9();
    await until(
      'the update to end',
      async () => {
        const state = await swarm.docker(
          other,
          'service',
          'inspect',
          '--format',
          '{{.UpdateStatus.State}}',
          'web',
        );
        return state.out.trim() === 'completed';
      },
      2 * LOST_MS,
    );
    await swarm.node(first).daemon.up();
    await converged(other, 15);
    expect((await running(other)).every(({ Spec }) => Spec.ContainerSpec?.Env?.[0] === 'A=1')).toBe(true);
    await agrees(swarm, LOST_MS);
  });

  test('kill -9 of the etcd of a manager: it comes back, and nothing is lost', async () => {
    const { paths } = swarm.node(1).daemon;
    const etcd = processes().find(({ commandLine }) => commandLine.includes(`--data-dir=${paths.dataRoot}`));
    process.kill(etcd?.pid ?? 0, 'SIGKILL');
    await swarm.must(2, 'service', 'scale', '--detach=true', 'web=12');
    await converged(1, 12);
    await agrees(swarm, LOST_MS);
  });

  test('102: kill -9 of a worker: its tasks run on, and are reported again', async () => {
    const { daemon } = swarm.node(4);
    const before = await swarm.must(4, 'ps', '--quiet', '--no-trunc');
    await daemon.kill9();
    await daemon.up();
    expect(await swarm.must(4, 'ps', '--quiet', '--no-trunc')).toBe(before);
    await converged(1, 12);
    await agrees(swarm, LOST_MS);
  });

  test('7: a lost worker: its tasks are replaced elsewhere, and it stops the old ones when it is back', async () => {
    swarm.lan.plug(5, 'out');
    await until(
      'n5 to be down',
      async () =>
        (await swarm.must(1, 'node', 'ls', '--format', '{{.Hostname}} {{.Status}}')).includes('n5 Down'),
      LOST_MS,
    );
    await converged(1, 12);
    swarm.lan.plug(5, 'in');
    await until(
      'n5 to be ready',
      async () =>
        (await swarm.must(1, 'node', 'ls', '--format', '{{.Hostname}} {{.Status}}')).includes('n5 Ready'),
      LOST_MS,
    );
    await agrees(swarm, LOST_MS);
  });

  test('119: quorum lost: reads answer, writes say why, tasks run; all is back with a manager', async () => {
    // A host that came back may still end what others run in its place.
    await until('12 containers', async () => (await containers()).length === 12, LOST_MS);
    await swarm.node(2).daemon.kill9();
    killEtcd(2);
    await swarm.node(3).daemon.kill9();
    killEtcd(3);
    await until(
      'the text',
      async () => {
        const said = await swarm.docker(1, 'service', 'scale', '--detach=true', 'web=13');
        return /The swarm does not have a leader\..* Seen from here: .*n2 \(.*:2377\) is unreachable/.test(
          said.err,
        );
      },
      LOST_MS,
    );
    expect((await swarm.must(4, 'ps', '--quiet')).split('\n').length).toBeGreaterThan(0);
    await swarm.node(2).daemon.up();
    await swarm.node(3).daemon.up();
    await until(
      'a leader',
      async () => (await swarm.docker(1, 'service', 'scale', '--detach=true', 'web=13')).code === 0,
      LOST_MS,
    );
    await converged(1, 13);
    await agrees(swarm, LOST_MS);
  });

  test('107, 112: tokens and the root rotate under load, and every node goes along', async () => {
    const old = await swarm.must(1, 'swarm', 'join-token', '--quiet', 'worker');
    await swarm.must(1, 'swarm', 'join-token', '--rotate', '--quiet', 'worker');
    const extra = await swarm.add();
    const refused = await swarm.docker(6, 'swarm', 'join', '--token', old, `${swarm.node(1).addr}:2377`);
    expect(refused.err).toContain('A valid join token is necessary to join this cluster');
    await swarm.join(6, 'worker');
    const scaling = swarm.must(2, 'service', 'scale', 'web=18');
    await swarm.must(1, 'swarm', 'ca', '--rotate', '--quiet');
    await scaling;
    await converged(1, 18);
    const statuses = await swarm.must(1, 'node', 'ls', '--format', '{{.Hostname}} {{.TLSStatus}}');
    expect(statuses.split('\n').filter((line) => !line.endsWith('Ready'))).toEqual([]);
    expect(extra.hostname).toBe('n6');
    await agrees(swarm, LOST_MS);
  });

  function killEtcd(number: number): void {
    const { dataRoot } = swarm.node(number).daemon.paths;
    for (const { pid, commandLine } of processes()) {
      if (commandLine.includes(`--data-dir=${dataRoot}`)) {
        process.kill(pid, 'SIGKILL');
      }
    }
  }
});
