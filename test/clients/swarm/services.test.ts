import { writeFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { until } from '../../support/engine/http.ts';
import { needsEngine } from '../../support/needs.ts';
import { TestSwarm } from '../../support/swarm/hosts/test-swarm.ts';

/** Three managers and two workers, driven by the docker CLI as people do. The tests build on each other. */
needsEngine('docker-cli', 'etcd')('docker CLI on a swarm of five', () => {
  let swarm: TestSwarm;

  beforeAll(async () => {
    swarm = await TestSwarm.start(5);
  });
  afterAll(() => swarm[Symbol.asyncDispose]());

  /** Running tasks of a service by node. */
  const placed = async (service: string): Promise<string[]> => {
    const lines = await swarm.must(
      1,
      'service',
      'ps',
      '--filter',
      'desired-state=running',
      '--format',
      '{{.Node}} {{.CurrentState}}',
      service,
    );
    return lines
      .split('\n')
      .filter((line) => line.includes(' Running'))
      .map((line) => line.split(' ')[0] ?? '')
      .toSorted();
  };
  /** What ignores SIGTERM, as sleep does as process 1, is killed after a second. */
  const soon = [
    '--detach=false',
    '--network',
    'none',
    '--stop-grace-period',
    '1s',
    '--restart-delay',
    '100ms',
  ];
  const sleeper = [...soon, 'busybox', 'sleep', '3600'];

  test('swarm init, join, promote: three managers and two workers are ready', async () => {
    await swarm.init();
    await swarm.join(2, 'manager');
    await swarm.join(3, 'worker');
    await swarm.join(4, 'worker');
    await swarm.join(5, 'worker');
    expect(await swarm.must(1, 'node', 'promote', 'n3')).toBe('Node n3 promoted to a manager in the swarm.');
    await until('three managers', async () => {
      const list = await swarm.must(
        1,
        'node',
        'ls',
        '--format',
        '{{.Hostname}} {{.Status}} {{.ManagerStatus}}',
      );
      return (
        list.split('\n').toSorted().join(', ') ===
        'n1 Ready Leader, n2 Ready Reachable, n3 Ready Reachable, n4 Ready , n5 Ready '.trimEnd()
      );
    });
    expect((await swarm.docker(4, 'node', 'ls')).err).toContain(
      "This node is not a swarm manager. Worker nodes can't be used to view or modify cluster state.",
    );
  });

  test('service create: tasks are spread evenly, seen from every manager', async () => {
    await swarm.must(1, 'service', 'create', '--name', 'web', '--replicas', '5', ...sleeper);
    expect(await placed('web')).toEqual(['n1', 'n2', 'n3', 'n4', 'n5']);
    for (const manager of [1, 2, 3]) {
      expect(await swarm.must(manager, 'service', 'ls', '--format', '{{.Name}} {{.Replicas}}')).toBe(
        'web 5/5',
      );
    }
  });

  test('scale, update, rollback: the converging CLI ends, with the tasks of the new specification', async () => {
    await swarm.must(2, 'service', 'scale', 'web=7');
    expect(await placed('web')).toHaveLength(7);
    await swarm.must(
      1,
      'service',
      'update',
      '--update-parallelism',
      '3',
      '--env-add',
      'A=1',
      '--detach=false',
      'web',
    );
    const inspected = await swarm.must(
      1,
      'service',
      'inspect',
      '--format',
      '{{.UpdateStatus.State}} {{.Spec.TaskTemplate.ContainerSpec.Env}}',
      'web',
    );
    expect(inspected).toBe('completed [A=1]');
    await swarm.must(1, 'service', 'rollback', '--detach=false', 'web');
    expect(
      await swarm.must(
        1,
        'service',
        'inspect',
        '--format',
        '{{.Spec.TaskTemplate.ContainerSpec.Env}}',
        'web',
      ),
    ).toBe('[]');
    await swarm.must(1, 'service', 'scale', 'web=5');
  });

  test('node update --availability drain: tasks move away, and stay away until it is active again', async () => {
    await swarm.must(1, 'node', 'update', '--availability', 'drain', 'n5');
    await until('n5 to be empty', async () => {
      const nodes = await placed('web');
      return nodes.length === 5 && !nodes.includes('n5');
    });
    await until('no container on n5', async () => (await swarm.must(5, 'ps', '--quiet')) === '');
    await swarm.must(1, 'node', 'update', '--availability', 'active', 'n5');
  });

  test('secret and config: each task finds them as files, in memory, and they go with it', async () => {
    const { paths } = swarm.node(1).daemon;
    writeFileSync(`${paths.root}/secret`, 'hidden');
    writeFileSync(`${paths.root}/config`, 'shown');
    await swarm.must(1, 'secret', 'create', 's1', `${paths.root}/secret`);
    await swarm.must(1, 'config', 'create', 'c1', `${paths.root}/config`);
    await swarm.must(
      1,
      'service',
      'create',
      '--name',
      'files',
      '--constraint',
      'node.hostname==n4',
      '--detach=false',
      '--secret',
      's1',
      '--config',
      'source=c1,target=/etc/c1,mode=0400',
      '--network',
      'none',
      'busybox',
      'sh',
      '-c',
      'cat /run/secrets/s1; echo; cat /etc/c1; stat -c " %a" /etc/c1; sleep 3600',
    );
    await until(
      'the log',
      async () => (await swarm.must(1, 'service', 'logs', '--raw', 'files')) === 'hidden\nshown 400',
    );
    const used = await swarm.docker(1, 'secret', 'rm', 's1');
    expect(used.err).toContain("secret 's1' is in use by the following service: files");
    await swarm.must(1, 'service', 'rm', 'files');
    await swarm.must(1, 'secret', 'rm', 's1');
    await swarm.must(1, 'config', 'rm', 'c1');
  });

  test('jobs: as many tasks end as are asked for', async () => {
    await swarm.must(
      1,
      'service',
      'create',
      '--name',
      'job',
      '--mode',
      'replicated-job',
      '--replicas',
      '6',
      '--max-concurrent',
      '3',
      '--network',
      'none',
      '--detach=false',
      'busybox',
      'true',
    );
    expect(await swarm.must(1, 'service', 'ls', '--filter', 'name=job', '--format', '{{.Replicas}}')).toBe(
      '0/3 (6/6 completed)',
    );
    await swarm.must(1, 'service', 'rm', 'job');
  });

  test('stack deploy: a compose file with a secret, a config, a host port and a job comes up and goes', async () => {
    const folder = swarm.node(1).daemon.paths.root;
    writeFileSync(`${folder}/word`, 'compose');
    writeFileSync(`${folder}/stack.yml`, STACK);
    await swarm.must(1, 'stack', 'deploy', '--detach=false', '--compose-file', `${folder}/stack.yml`, 'app');
    await until('the page', async () => {
      const task = (
        await swarm.must(
          1,
          'service',
          'ps',
          '--filter',
          'desired-state=running',
          '--format',
          '{{.Node}}',
          'app_page',
        )
      ).split('\n')[0];
      const node = swarm.nodes.find(({ hostname }) => hostname === task);
      return (await node?.daemon.fetch('http://127.0.0.1:8089/')) === 'compose';
    });
    expect(await swarm.must(1, 'stack', 'services', '--format', '{{.Name}} {{.Mode}}', 'app')).toBe(
      'app_once replicated job\napp_page replicated',
    );
    await swarm.must(1, 'stack', 'rm', 'app');
    await until(
      'nothing of the stack',
      async () => (await swarm.must(1, 'stack', 'ls', '--format', '{{.Name}}')) === '',
    );
    await until('no task', async () => {
      const lists = await Promise.all(
        swarm.nodes.map((_, index) =>
          swarm.must(index + 1, 'ps', '--all', '--quiet', '--filter', 'name=app_'),
        ),
      );
      return lists.every((list) => list === '');
    });
  });

  test('service logs --follow: lines of every task, also of those that come later', async () => {
    await swarm.must(
      1,
      'service',
      'create',
      '--name',
      'talk',
      '--replicas',
      '2',
      ...soon,
      '--env',
      'SLOT={{.Task.Slot}}',
      'busybox',
      'sh',
      '-c',
      'while true; do echo "slot $SLOT"; sleep 1; done',
    );
    const following = swarm.begin(3, 'service', 'logs', '--follow', '--raw', 'talk');
    await swarm.must(1, 'service', 'scale', 'talk=3');
    await until('lines of each', () =>
      ['slot 1\n', 'slot 2\n', 'slot 3\n'].every((line) => following.out().includes(line)),
    );
    await swarm.must(1, 'service', 'rm', 'talk');
    const { out } = await following.said;
    expect(new Set(out.trimEnd().split('\n'))).toEqual(new Set(['slot 1', 'slot 2', 'slot 3']));
  });

  test('node rm: a node that left goes, one that is ready is refused', async () => {
    expect((await swarm.docker(1, 'node', 'rm', 'n5')).err).toMatch(/is not down and can't be removed/);
    await swarm.must(5, 'swarm', 'leave');
    expect(await swarm.must(5, 'ps', '--all', '--quiet')).toBe('');
    await until('n5 to be down', async () =>
      (await swarm.must(1, 'node', 'ls', '--format', '{{.Hostname}} {{.Status}}')).includes('n5 Down'),
    );
    await swarm.must(1, 'node', 'rm', 'n5');
    await swarm.must(1, 'service', 'rm', 'web');
    await until('no container left', async () => {
      const lists = await Promise.all(
        [1, 2, 3, 4].map((number) => swarm.must(number, 'ps', '--all', '--quiet')),
      );
      return lists.every((list) => list === '');
    });
  });
});

const STACK = `
version: "3.9"
services:
  page:
    image: busybox
    command: sh -c 'mkdir /www && cp /run/secrets/word /www/index.html && exec httpd -f -p 80 -h /www'
    networks: [bridge]
    ports: [{target: 80, published: 8089, protocol: tcp, mode: host}]
    secrets: [word]
    configs: [{source: word, target: /etc/word}]
    deploy: {replicas: 1}
  once:
    image: busybox
    command: "true"
    networks: [none]
    deploy: {mode: replicated-job, replicas: 2}
networks:
  bridge: {external: true, name: bridge}
  none: {external: true, name: none}
secrets:
  word: {file: ./word}
configs:
  word: {file: ./word}
`;
