import { afterAll, beforeAll, expect, test } from 'vitest';
import type { EventMessage } from '../../../api/types/system.ts';
import type { ServiceInspect } from '../../../api/types/swarm/service.ts';
import type { TaskInspect } from '../../../api/types/swarm/task.ts';
import { TestDaemon } from '../../support/engine/daemon.ts';
import { jsonLines, until } from '../../support/engine/http.ts';
import { needsEngine } from '../../support/needs.ts';
import { untilNow } from '../../support/engine/until-now.ts';

const filters = (value: object): string => encodeURIComponent(JSON.stringify(value));

needsEngine('etcd')('swarm events', () => {
  let daemon: TestDaemon;

  beforeAll(async () => {
    daemon = await TestDaemon.start();
    await daemon.loadBusybox();
    await daemon.http.ok('POST', '/swarm/init', {
      ListenAddr: '127.0.0.1:2377',
      AdvertiseAddr: '127.0.0.1:2377',
    });
  });
  afterAll(() => daemon[Symbol.asyncDispose]());

  async function running(): Promise<number> {
    const tasks = await daemon.http.ok<TaskInspect[]>(
      'GET',
      `/tasks?filters=${filters({ service: ['web'], '_up-to-date': ['true'] })}`,
    );
    return tasks.filter(({ Status }) => Status.State === 'running').length;
  }

  /** Of services, one line each. */
  async function told(): Promise<string[]> {
    const query = `since=1&until=${untilNow()}&filters=${filters({ scope: ['swarm'], type: ['service'] })}`;
    const { text } = await daemon.http.request('GET', `/events?${query}`);
    // What the daemon has sent, as it says itself.
    return (jsonLines(text) as EventMessage[]).map(
      ({ Action, Actor, scope }) => `${scope} ${Action} ${JSON.stringify(Actor.Attributes)}`,
    );
  }

  test('a service is told of from its beginning to its end, across a daemon that is killed', async () => {
    const spec = {
      Name: 'web',
      TaskTemplate: {
        ContainerSpec: { Image: 'busybox:latest', Command: ['sleep', '1000'] },
        Networks: [{ Target: 'none' }],
      },
    };
    await daemon.http.ok('POST', '/services/create', spec);
    await until('the task', async () => (await running()) === 1);
    await daemon.restart();
    await until('the manager', async () => (await daemon.http.request('GET', '/services')).status === 200);
    const service = await daemon.http.ok<ServiceInspect>('GET', '/services/web');
    await daemon.http.ok('POST', `/services/web/update?version=${service.Version.Index}`, {
      ...service.Spec,
      Mode: { Replicated: { Replicas: 2 } },
    });
    await until('two tasks', async () => (await running()) === 2);
    await daemon.http.ok('DELETE', '/services/web');
    await until('no task', async () => (await daemon.http.ok<unknown[]>('GET', '/tasks')).length === 0);
    expect(await told()).toEqual([
      'swarm create {"name":"web"}',
      'swarm update {"name":"web","replicas.old":"1","replicas.new":"2"}',
      'swarm remove {"name":"web"}',
    ]);
    await daemon.http.ok('POST', '/swarm/leave?force=1');
  });
});
