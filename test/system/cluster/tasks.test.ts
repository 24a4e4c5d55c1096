import { afterAll, beforeAll, expect, it } from 'vitest';
import { TestDaemon } from '../../support/engine/daemon.ts';
import { until } from '../../support/engine/http.ts';
import { needsEngine } from '../../support/needs.ts';

const EVENTS = '/cluster/apis/events.k8s.io/v1/events';

interface Told {
  type: string;
  reason: string;
  note: string;
  reportingController: string;
  metadata: { namespace: string; annotations?: Record<string, string> };
}

needsEngine()('tasks of a swarm as events', () => {
  let daemon: TestDaemon;
  beforeAll(async () => {
    daemon = await TestDaemon.start({
      config: { hub: { address: '127.0.0.1:5010' }, cluster: { address: '127.0.0.1:6450' } },
    });
    await daemon.loadBusybox();
    const address = '127.0.0.1:2377';
    await daemon.http.ok('POST', '/swarm/init', { ListenAddr: address, AdvertiseAddr: address });
  });
  afterAll(async () => {
    await daemon[Symbol.asyncDispose]();
  });

  async function told(): Promise<Told[]> {
    const query = `fieldSelector=${encodeURIComponent('regarding.kind=Task')}`;
    const answer = await daemon.http.request('GET', `${EVENTS}?${query}`);
    return answer.status === 200 ? (answer.json as { items: Told[] }).items : [];
  }

  /** Of a service. */
  const toldOf = async (service: string, reason: string): Promise<Told | undefined> =>
    (await told()).find((each) => each.reason === reason && each.note.startsWith(`task ${service}.`));

  async function create(name: string, command: string[], more: object = {}): Promise<void> {
    await daemon.http.ok('POST', '/services/create', {
      Name: name,
      Labels: { 'com.docker.stack.namespace': 'shop' },
      TaskTemplate: {
        ContainerSpec: { Image: 'busybox', Command: command },
        RestartPolicy: { Condition: 'none' },
        Networks: [{ Target: 'none' }],
        ...more,
      },
    });
  }

  it('the scheduler tells where a task goes, the dispatcher that it runs and how it ends, once each', async () => {
    await create('web', ['sh', '-c', 'exit 4']);
    await until('its end', async () => (await told()).some(({ reason }) => reason === 'Failed'));
    const events = (await told()).filter(({ note }) => note.includes(' web.1.'));
    expect(events.map(line).toSorted()).toEqual(
      expect.arrayContaining([
        'shop Normal Scheduled berth.engine/scheduler',
        'shop Warning Failed berth.engine/dispatcher',
      ]),
    );
    expect(new Set(events.map(line)).size).toBe(events.length);
    expect(events.find(({ reason }) => reason === 'Failed')?.note).toMatch(
      /^task web\.1\.\w+ has failed on \S+ \(exit code 4\)/,
    );
    expect(events[0]?.metadata.annotations?.['berth.engine/occurrence']).toMatch(/^[0-9a-f]{32}$/);
  });

  it('a task that fits no node is told with the reason', async () => {
    await create('lost', ['true'], { Placement: { Constraints: ['node.labels.disk==ssd'] } });
    await until('the refusal', async () => (await toldOf('lost', 'FailedScheduling')) !== undefined);
    expect(await toldOf('lost', 'FailedScheduling')).toMatchObject({
      type: 'Warning',
      note: expect.stringMatching(/^task lost\.1\.\w+ waits for a node: no suitable node \(/),
    });
  });

  it('an image that cannot be had is told', async () => {
    await daemon.http.ok('POST', '/services/create', {
      Name: 'none',
      TaskTemplate: {
        ContainerSpec: { Image: '127.0.0.1:9/nothing/here:1' },
        RestartPolicy: { Condition: 'none' },
        Networks: [{ Target: 'none' }],
      },
    });
    await until('the rejection', async () => (await toldOf('none', 'Rejected')) !== undefined);
    expect((await toldOf('none', 'Rejected'))?.note).toMatch(
      /^task none\.1\.\w+ could not be started on \S+: .+/,
    );
  });
});

function line({ metadata, type, reason, reportingController }: Told): string {
  return `${metadata.namespace} ${type} ${reason} ${reportingController}`;
}
