import { beforeAll, expect, test } from 'vitest';
import type { TaskInspect } from '../../../api/types/swarm/task.ts';
import type { NetworkInspect } from '../../../api/types/system.ts';
import { describeEngine } from '../../support/engine/engine.ts';
import { until } from '../../support/engine/http.ts';

const query = (filters: object): string => `filters=${encodeURIComponent(JSON.stringify(filters))}`;

/** One task, which takes three seconds to end. */
function serviceIn(network: string): object {
  const script = 'trap "sleep 3; exit 0" TERM; while :; do sleep 0.1; done';
  return {
    Name: 'web',
    TaskTemplate: {
      ContainerSpec: { Image: 'busybox:latest', Command: ['sh', '-c', script] },
      Networks: [{ Target: network }],
    },
  };
}

describeEngine(
  'tasks in networks of a swarm',
  (engine) => {
    beforeAll(async () => {
      const addr = '127.0.0.1:2377';
      await engine.http.ok('POST', '/swarm/init', { ListenAddr: addr, AdvertiseAddr: addr });
      await until('the ingress network', async () => (await status('GET', '/networks/ingress')) === 200);
    });
    const status = async (method: string, path: string): Promise<number> =>
      (await engine.http.request(method, path)).status;
    const inspect = (ref: string): Promise<NetworkInspect> => engine.http.ok('GET', `/networks/${ref}`);
    /** Answers the address of the only container. */
    const begin = async (): Promise<string> => {
      await engine.http.ok('POST', '/networks/create', { Name: 'shop', Driver: 'overlay' });
      await engine.http.ok('POST', '/services/create', serviceIn('shop'));
      await until('the task', async () => Object.keys((await inspect('shop')).Containers).length === 1);
      const [found] = Object.values((await inspect('shop')).Containers);
      return found?.IPv4Address ?? '';
    };

    test('what runs in a network is told, also in one that is made anew under its name', async () => {
      const address = await begin();
      expect(address).toMatch(/^10\.0\.\d+\.\d+\/24$/);
      await until('the service', async () => {
        const { Services } = await inspect('shop?verbose=true');
        return Services?.['web']?.Tasks[0]?.EndpointIP === address.replace('/24', '');
      });
      const old = await inspect('shop');
      expect(old.Services).toBeUndefined();
      expect(old.Peers).toEqual([{ Name: expect.stringMatching(/^[0-9a-z]{12}$/), IP: '127.0.0.1' }]);

      await engine.http.ok('DELETE', '/services/web');
      await until('the old one is free', async () => (await status('DELETE', '/networks/shop')) === 204);
      await begin();
      expect((await inspect('shop')).Id).not.toBe(old.Id);
      const tasks = async (): Promise<unknown> => {
        const list = await engine.http.ok<TaskInspect[]>('GET', `/tasks?${query({ service: ['web'] })}`);
        return list.map(({ Status }) => [Status.State, Status.Err]);
      };
      await expect.poll(tasks).toEqual([['running', undefined]]);
      await engine.http.ok('DELETE', '/services/web');
      await until('no container', async () => (await engine.list()).length === 0);
      await engine.http.ok('DELETE', '/networks/shop');
      // With it the node's own way into the ingress network goes.
      await engine.http.ok('POST', '/swarm/leave?force=true');
    });
  },
  {},
);
