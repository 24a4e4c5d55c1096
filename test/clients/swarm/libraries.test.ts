import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import Docker from 'dockerode';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { TaskInspect as Task } from '../../../api/types/swarm/task.ts';
import { until } from '../../support/engine/http.ts';
import { needsEngine } from '../../support/needs.ts';
import { TestSwarm } from '../../support/swarm/hosts/test-swarm.ts';

const SCRIPT = path.join(import.meta.dirname, 'swarm_client.py');
const run = promisify(execFile);

needsEngine(
  'docker-cli',
  'etcd',
  'dockerode',
  'python3-docker',
)('client libraries on a swarm', () => {
  let swarm: TestSwarm;

  beforeAll(async () => {
    swarm = await TestSwarm.start(2);
    await swarm.init();
    await swarm.join(2, 'worker');
  });
  afterAll(() => swarm[Symbol.asyncDispose]());

  test.each([undefined, 'v1.24', 'v1.30', 'v1.41'])(
    'dockerode at %s: a service from create to remove',
    async (version) => {
      const { socket } = swarm.node(1).daemon.paths;
      const docker = new Docker({ socketPath: socket, ...(version === undefined ? {} : { version }) });
      const { id } = (await docker.createService(spec(2))) as unknown as { id: string };
      const service = docker.getService(id);
      const running = async (): Promise<number> => {
        const tasks: Task[] = await docker.listTasks({
          filters: JSON.stringify({ service: ['rode'], 'desired-state': ['running'] }),
        });
        return tasks.filter(({ Status }) => Status.State === 'running').length;
      };
      await until('two tasks', async () => (await running()) === 2);
      const { Version } = (await service.inspect()) as { Version: { Index: number } };
      await service.update({ ...spec(3), version: Version.Index });
      await until('three tasks', async () => (await running()) === 3);
      await expect(service.update({ ...spec(4), version: Version.Index })).rejects.toMatchObject({
        statusCode: 500,
        message: expect.stringContaining('update out of sequence'),
      });
      expect(new Set((await docker.listNodes()).map(({ Description }) => Description?.Hostname))).toEqual(
        new Set(['n1', 'n2']),
      );
      await service.remove();
      await until('no task', async () => (await docker.listTasks()).length === 0);
    },
  );

  test.each(['auto', '1.24', '1.41'])('a program of docker-py at version %s', async (version) => {
    const url = `unix://${swarm.node(1).daemon.paths.socket}`;
    const { stdout } = await run('/usr/bin/python3', [SCRIPT, url, version], { timeout: 120_000 });
    expect(JSON.parse(stdout)).toEqual({
      nodes: expect.arrayContaining(['n1', 'n2']),
      swarm: 'default',
      created: ['py', 2],
      updated: [3, ['A=2']],
      scaled: 1,
      list: ['py'],
      gone: true,
    });
  });
});

/** A service that sleeps. */
function spec(replicas: number): Docker.CreateServiceOptions {
  return {
    Name: 'rode',
    TaskTemplate: {
      ContainerSpec: { Image: 'busybox', Command: ['sleep', '3600'] },
      Networks: [{ Target: 'none' }],
    },
    Mode: { Replicated: { Replicas: replicas } },
  };
}
