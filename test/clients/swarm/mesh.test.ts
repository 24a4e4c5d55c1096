import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ServiceInspect } from '../../../api/types/swarm/service.ts';
import { until } from '../../support/engine/http.ts';
import { needsEngine } from '../../support/needs.ts';
import { byHost, HEALTH, pages, PROGRAM, SERVICE_MOUNTS, tasksOf } from '../../support/swarm/hosts/pages.ts';
import { TestSwarm } from '../../support/swarm/hosts/test-swarm.ts';

/** One manager and two workers, driven by the docker CLI as people do. The tests build on each other. */
needsEngine('docker-cli', 'etcd')('the routing mesh of a swarm of three', () => {
  let swarm: TestSwarm;

  beforeAll(async () => {
    swarm = await TestSwarm.start(3);
    await swarm.init();
    await swarm.join(2, 'worker');
    await swarm.join(3, 'worker');
  });
  afterAll(() => swarm[Symbol.asyncDispose]());

  const create = (name: string, ...options: string[]): Promise<string> =>
    swarm.must(
      1,
      'service',
      'create',
      '--name',
      name,
      '--detach=false',
      '--stop-grace-period',
      '2s',
      ...options,
      ...SERVICE_MOUNTS,
      'busybox',
      ...pages('serve', '80'),
    );
  /** What a URL answers to a program of a node; `failed` where nothing does. */
  const fetched = async (node: number, url: string): Promise<string> =>
    (await swarm.node(node).daemon.fetch(url)).trim() || 'failed';
  const answers = async (node: number, url: string, count: number): Promise<string[]> => {
    const lines = [];
    for (let at = 0; at < count; at += 1) {
      lines.push(await fetched(node, url));
    }
    return lines;
  };
  /** What a service's task of a node says that it is. */
  const hostOf = async (node: number, service: string): Promise<string> => {
    const task = (await tasksOf(swarm, service)).find((each) => each.node === node);
    return task?.container.slice(0, 12) ?? '';
  };
  const addr = (node: number): string => swarm.node(node).addr;
  const answered = (node: number, url: string): Promise<void> =>
    until(`${url} to answer`, async () => !(await fetched(node, url)).startsWith('failed'));
  const refused = (node: number, url: string): Promise<void> =>
    until(`${url} to be refused`, async () => (await fetched(node, url)).startsWith('failed'));

  test('a published port: every node answers, at its address and to itself at 127.0.0.1', async () => {
    await create(
      'web',
      ...HEALTH,
      '--publish',
      '8080:80',
      '--replicas',
      '2',
      '--constraint',
      'node.hostname!=n3',
    );
    const { Endpoint } = await swarm.node(1).daemon.http.ok<ServiceInspect>('GET', '/services/web');
    expect(Endpoint?.Ports).toEqual([
      { Protocol: 'tcp', TargetPort: 80, PublishedPort: 8080, PublishMode: 'ingress' },
    ]);
    for (const node of [1, 2, 3]) {
      await answered(1, `http://${addr(node)}:8080/`);
      await answered(node, 'http://127.0.0.1:8080/');
      await until(
        'both tasks to answer',
        async () => byHost(await answers(1, `http://${addr(node)}:8080/`, 4)).size === 2,
      );
    }
    expect(await swarm.must(1, 'service', 'ls', '--format', '{{.Ports}}')).toBe('*:8080->80/tcp');
  });

  test('a port that names no number gets one from 30000 on, and keeps it over updates', async () => {
    await create('any', '--publish', 'target=80');
    const port = async (): Promise<number> => {
      const { Endpoint } = await swarm.node(1).daemon.http.ok<ServiceInspect>('GET', '/services/any');
      return Endpoint?.Ports?.[0]?.PublishedPort ?? 0;
    };
    const first = await port();
    expect(first).toBeGreaterThanOrEqual(30_000);
    await swarm.must(1, 'service', 'update', '--detach=false', '--env-add', 'A=1', 'any');
    expect(await port()).toBe(first);
    await answered(3, `http://${addr(3)}:${first}/`);
    await swarm.must(1, 'service', 'rm', 'any');
    await refused(3, `http://${addr(3)}:${first}/`);
  });

  test('update: a port is added and another one removed while requests go on', async () => {
    await swarm.must(1, 'service', 'update', '--detach=false', '--publish-add', '8082:80', 'web');
    for (const node of [1, 2, 3]) {
      await answered(1, `http://${addr(node)}:8082/`);
    }
    expect(byHost(await answers(1, `http://${addr(3)}:8080/`, 10)).size).toBe(2);
    // The CLI removes by the port of the task: both.
    const options = ['--publish-rm', '80', '--publish-add', '8081:80'];
    await swarm.must(1, 'service', 'update', '--detach=false', ...options, 'web');
    for (const node of [1, 2, 3]) {
      await refused(1, `http://${addr(node)}:8080/`);
      await refused(1, `http://${addr(node)}:8082/`);
    }
    await answered(2, `http://${addr(2)}:8081/`);
  });

  test('the same port of a second service is refused, and given when the first one goes', async () => {
    const second = await swarm.docker(
      1,
      'service',
      'create',
      '--name',
      'second',
      '--publish',
      '8081:80',
      'busybox',
    );
    expect(second.err).toContain("port '8081' is already in use by service 'web'");
  });

  test('rolling update under load through the mesh: no request is lost', async () => {
    const over = new AbortController();
    const failures: string[] = [];
    let good = 0;
    const load = (async (): Promise<void> => {
      for (let at = 0; !over.signal.aborted; at += 1) {
        const url = `http://${addr((at % 3) + 1)}:8081/`;
        const answer = await fetched(1, url);
        if (answer.startsWith('failed')) {
          failures.push(url);
        } else {
          good += 1;
        }
      }
    })();
    await swarm.must(
      1,
      'service',
      'update',
      '--detach=false',
      '--env-add',
      'B=1',
      '--update-order',
      'start-first',
      '--update-monitor',
      '500ms',
      'web',
    );
    over.abort();
    await load;
    expect(failures).toEqual([]);
    expect(good).toBeGreaterThan(10);
  });

  test('a port that a program of a host has stays its own; the other nodes answer', async () => {
    const [file, ...args] = swarm
      .node(3)
      .daemon.netns.enter(
        'python3',
        '-c',
        'import socket,time\ns=socket.create_server(("",8090))\nprint("up",flush=True)\ntime.sleep(3600)',
      );
    const program = spawn(file, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    await once(program.stdout, 'data');
    try {
      await create('taken', '--publish', '8090:80', '--constraint', 'node.hostname==n1');
      await answered(1, `http://${addr(2)}:8090/`);
      expect(await fetched(1, `http://${addr(3)}:8090/`)).toMatch(/^failed/);
      expect((await swarm.docker(3, 'info')).err).toContain(
        'WARNING: port 8090/tcp of service taken is not answered on this node: ',
      );
    } finally {
      program.kill('SIGKILL');
    }
    await answered(1, `http://${addr(3)}:8090/`);
    expect((await swarm.docker(2, 'run', '--rm', '--publish', '8090:80', 'busybox', 'true')).err).toContain(
      'port is already allocated',
    );
    await swarm.must(1, 'service', 'rm', 'taken');
  });

  test('a node off the network: within seconds no other node leads a client to its tasks', async () => {
    // A task on each node, whatever became of the others before.
    await create('everywhere', '--mode', 'global', '--publish', '8210:80');
    const url = `http://${addr(3)}:8210/`;
    await until('all tasks to answer', async () => byHost(await answers(1, url, 6)).size === 3);
    let good = 0;
    swarm.lan.plug(2, 'out');
    try {
      await until('answers without a failure', async () => {
        good = (await fetched(1, url)).startsWith('failed') ? 0 : good + 1;
        return good === 20;
      });
      // Before the manager finds that it is lost.
      expect(await swarm.must(1, 'node', 'inspect', '--format', '{{.Status.State}}', 'n2')).toBe('ready');
    } finally {
      swarm.lan.plug(2, 'in');
    }
    await until('all tasks to answer again', async () => byHost(await answers(1, url, 6)).size === 3);
    await swarm.must(1, 'service', 'rm', 'everywhere');
  });

  test('nft flush ruleset, a kill -9 of a node and of the manager: the port is back', async () => {
    const url = `http://${addr(3)}:8081/`;
    await swarm.node(3).daemon.netns.run('nft', 'flush', 'ruleset');
    await answered(1, url);
    await swarm.node(3).daemon.kill9();
    await answered(1, url);
    await swarm.node(3).daemon.up();
    await answered(1, url);
    await swarm.node(1).daemon.kill9();
    await answered(2, url);
    await swarm.node(1).daemon.up();
    await until('the manager', async () => (await swarm.docker(1, 'service', 'ls')).code === 0);
    await answered(1, url);
    expect(await tasksOf(swarm, 'web')).toHaveLength(2);
  });

  test('a service that prefers local tasks: these see who calls, TCP and UDP; elsewhere all answer', async () => {
    const label = 'berth.ingress.prefer-local';
    const wrong = await swarm.docker(1, 'service', 'create', '--label', `${label}=yes`, 'busybox');
    expect(wrong.err).toContain(`Labels: ${label}: "yes" is neither "true" nor "false"`);
    const near = ['--label', `${label}=true`, '--mode', 'global', '--constraint', 'node.hostname!=n3'];
    await create('near', ...near, '--publish', '8200:80');
    const options = [...near, '--publish', '8201:53/udp', '--detach', ...SERVICE_MOUNTS];
    await swarm.must(1, 'service', 'create', '--name', 'echo', ...options, 'busybox', ...pages('echo', '53'));
    const shout = (node: number): Promise<string> =>
      swarm.node(3).daemon.netns.run('python3', PROGRAM, 'shout', addr(node), '8201', '1');
    const url = (node: number): string => `http://${addr(node)}:8200/`;
    const near1 = `${await hostOf(1, 'near')} ${addr(3)}`;
    const sees = (node: number, answer: string): Promise<void> =>
      until(`${answer} at node ${node}`, async () => (await fetched(3, url(node))) === answer);

    await sees(1, near1);
    expect(new Set(await answers(3, url(1), 6))).toEqual(new Set([near1]));
    await sees(2, `${await hostOf(2, 'near')} ${addr(3)}`);
    await until('the answer of a datagram', async () => !(await shout(1)).startsWith('failed'));
    await until('the answer of the other', async () => !(await shout(2)).startsWith('failed'));
    expect(await shout(1)).toBe(`${await hostOf(1, 'echo')} ${addr(3)}\n`);
    expect(await shout(2)).toBe(`${await hostOf(2, 'echo')} ${addr(3)}\n`);
    await until('both at the third node', async () => byHost(await answers(1, url(3), 4)).size === 2);
    expect((await answers(1, url(3), 2)).join(' ')).not.toContain(addr(1));
    await answered(1, 'http://127.0.0.1:8200/');

    await swarm.node(1).daemon.kill9();
    expect(await fetched(3, url(1))).toBe(near1);
    await swarm.node(1).daemon.up();
    await until('the manager', async () => (await swarm.docker(1, 'service', 'ls')).code === 0);
    await sees(1, near1);

    await swarm.must(1, 'service', 'update', '--detach', '--constraint-add', 'node.hostname!=n1', 'near');
    await until('the other task through node 1', async () => {
      const [answer = ''] = await answers(3, url(1), 1);
      return answer.startsWith(`${await hostOf(2, 'near')} `) && !answer.endsWith(addr(3));
    });
    await swarm.must(1, 'service', 'update', '--detach', '--label-rm', label, 'near');
    await until('the ordinary way at node 2', async () => !(await fetched(3, url(2))).endsWith(addr(3)));
    await swarm.must(1, 'service', 'rm', 'near', 'echo');
  });

  test('ports of mode host and UDP stand beside the mesh', async () => {
    await create(
      'beside',
      '--publish',
      'mode=host,target=80,published=8100',
      '--constraint',
      'node.hostname==n2',
    );
    await answered(1, `http://${addr(2)}:8100/`);
    expect(await fetched(1, `http://${addr(3)}:8100/`)).toMatch(/^failed/);
    await swarm.must(1, 'service', 'rm', 'beside', 'web');
    await refused(1, `http://${addr(2)}:8081/`);
  });
});
