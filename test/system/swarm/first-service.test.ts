import { expect, test } from 'vitest';
import { describeEngine } from '../../support/engine/engine.ts';

describeEngine('a new swarm', (engine) => {
  test('takes a service with a published port as soon as it is there', async () => {
    for (let round = 0; round < 5; round += 1) {
      await engine.http.ok('POST', '/swarm/init', { ListenAddr: '127.0.0.1:0', AdvertiseAddr: '127.0.0.1' });
      const { status, text } = await engine.http.request('POST', '/services/create', {
        body: {
          Name: 'web',
          TaskTemplate: { ContainerSpec: { Image: 'busybox' } },
          Mode: { Replicated: { Replicas: 0 } },
          EndpointSpec: { Ports: [{ TargetPort: 80 }] },
        },
      });
      expect({ status, text }).toMatchObject({ status: 201 });
      await engine.http.ok('POST', '/swarm/leave?force=1');
    }
  });

  test('has its first node ready as soon as it is there', async () => {
    const states: unknown[] = [];
    for (let round = 0; round < 5; round += 1) {
      await engine.http.ok('POST', '/swarm/init', { ListenAddr: '127.0.0.1:0', AdvertiseAddr: '127.0.0.1' });
      const nodes = await engine.http.ok<{ Status: { State: string } }[]>('GET', '/nodes');
      states.push(...nodes.map(({ Status }) => Status.State));
      await engine.http.ok('POST', '/swarm/leave?force=1');
    }
    expect(states).toEqual(['ready', 'ready', 'ready', 'ready', 'ready']);
  });
});
