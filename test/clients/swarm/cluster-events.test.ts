import { afterAll, beforeAll, expect, test } from 'vitest';
import { anEvent } from '../../support/cluster/event.ts';
import { watchEvents, type Frame, type WatchClient } from '../../support/cluster/watch-client.ts';
import { killProcessesNaming } from '../../support/engine/cleanup.ts';
import { until, type Answer } from '../../support/engine/http.ts';
import { needsEngine } from '../../support/needs.ts';
import { HubAt } from '../../support/swarm/hosts/hub-at.ts';
import { TestSwarm } from '../../support/swarm/hosts/test-swarm.ts';
import { untilNow } from '../../support/engine/until-now.ts';

const GROUP = '/cluster/apis/events.k8s.io/v1';
const OF_DEFAULT = `${GROUP}/namespaces/default/events`;
const MERGE = { 'Content-Type': 'application/merge-patch+json' };

interface Listed {
  metadata: { resourceVersion: string };
  items: {
    metadata: { name: string; annotations?: Record<string, string> };
    reason: string;
    regarding: { kind: string; name: string; uid: string };
  }[];
}

/** Three hosts with the cluster interface. The tests build on each other. */
needsEngine('docker-cli', 'etcd')('events of the cluster in a swarm', () => {
  let swarm: TestSwarm;
  const watches: WatchClient[] = [];

  beforeAll(async () => {
    swarm = await TestSwarm.start(3, {
      config: { hub: { address: '127.0.0.1:5010' }, cluster: { address: '127.0.0.1:6450' } },
    });
  });
  afterAll(async () => {
    watches.forEach((watch) => watch[Symbol.dispose]());
    await swarm[Symbol.asyncDispose]();
  });

  const ask = async (number: number, method: string, target: string, body?: object): Promise<Answer> => {
    const { http } = swarm.node(number).daemon;
    const headers = method === 'PATCH' ? MERGE : {};
    return await http.request(method, target, { headers, ...(body && { body }) });
  };

  const list = async (number: number, selector = ''): Promise<Listed> =>
    await swarm.node(number).daemon.http.ok('GET', `${GROUP}/events?fieldSelector=${selector}`);

  const names = async (number: number, selector = ''): Promise<string[]> =>
    (await list(number, selector)).items.map(({ metadata }) => metadata.name);

  /** Events that a client has made: their reason is none of the engine's. */
  const OWN = 'reportingController=example.com/deployer';

  const watch = (number: number, from: string): WatchClient => {
    const { socket } = swarm.node(number).daemon.paths;
    const query = `watch=1&fieldSelector=${OWN}&resourceVersion=${from}`;
    const client = watchEvents(socket, `${GROUP}/events?${query}`);
    watches.push(client);
    return client;
  };

  const create = async (number: number, name: string): Promise<void> => {
    expect((await ask(number, 'POST', OF_DEFAULT, anEvent(name))).status).toBe(201);
  };

  /** Whether a manager's own engine has told that another node than this one leads. */
  const tellsOfLeader = async (number: number, lost: number): Promise<boolean> => {
    const filters = encodeURIComponent(JSON.stringify({ type: ['node'], event: ['update'] }));
    const { text } = await ask(number, 'GET', `/events?since=1&until=${untilNow()}&filters=${filters}`);
    const elected = text.split('\n').filter((line) => line.includes('"leader.new":"true"'));
    return elected.some((line) => !line.includes(`"name":"n${lost}"`));
  };

  const isMade = async (number: number, name: string): Promise<boolean> => {
    const { status } = await ask(number, 'POST', OF_DEFAULT, anEvent(name));
    return status === 201 || (await ask(number, 'GET', `${OF_DEFAULT}/${name}`)).status === 200;
  };

  /** What a manager's events answer, or wait for their records. */
  const untilServed = async (number: number): Promise<void> => {
    const served = async (): Promise<boolean> => (await ask(number, 'GET', `${GROUP}/events`)).status === 200;
    await until(`the events of n${number}`, served, 60_000);
  };

  test('what one manager is told, all show, watch, change and remove', async () => {
    await create(2, 'alone');
    await swarm.init();
    await swarm.join(2, 'manager');
    await swarm.join(3, 'manager');
    for (const number of [1, 2, 3]) {
      await untilServed(number);
    }
    const { metadata } = await list(3);
    const onThird = watch(3, metadata.resourceVersion);
    // What a host was told before it joined has come along.
    expect(await names(3, OWN)).toEqual(['alone']);
    await create(1, 'first');
    await create(2, 'second');
    expect(told(await onThird.reached(2))).toEqual(['ADDED first', 'ADDED second']);
    for (const number of [1, 2, 3]) {
      await until(`n${number}`, async () => (await names(number, OWN)).length === 3);
    }
    // On another manager than the one that made it.
    expect(
      (await ask(3, 'PATCH', `${OF_DEFAULT}/first`, { metadata: { labels: { by: 'n3' } } })).status,
    ).toBe(200);
    await onThird.reached(3);
    expect((await ask(3, 'DELETE', `${OF_DEFAULT}/second`)).status).toBe(200);
    expect(told(await onThird.reached(4)).slice(2)).toEqual(['MODIFIED first', 'DELETED second']);
    await until('n1 to know', async () => (await ask(1, 'GET', `${OF_DEFAULT}/second`)).status === 404);
    expect((await ask(1, 'GET', `${OF_DEFAULT}/first`)).json).toMatchObject({
      metadata: { labels: { by: 'n3' } },
    });

    // A watch goes on at another manager where it was.
    const version = onThird.frames[1]?.object.metadata?.resourceVersion ?? '';
    const onFirst = watch(1, version);
    expect(await onFirst.reached(2)).toEqual(onThird.frames.slice(2));
  });

  test('changes of one event on all managers at the same time are all made', async () => {
    await create(1, 'shared');
    const at = `${OF_DEFAULT}/shared`;
    for (const number of [1, 2, 3]) {
      await until(`n${number}`, async () => (await ask(number, 'GET', at)).status === 200);
    }
    const patches = Array.from({ length: 12 }, (_, index) =>
      ask((index % 3) + 1, 'PATCH', at, { metadata: { annotations: { [`a${index}`]: 'b' } } }),
    );
    expect((await Promise.all(patches)).map(({ status }) => status)).toEqual(patches.map(() => 200));
    await until('all of them', async () => {
      const { json } = await ask(3, 'GET', at);
      return Object.keys((json as Listed['items'][0]).metadata.annotations ?? {}).length === 12;
    });
  });

  test('what happens in the swarm is told once, by whichever manager', async () => {
    await swarm.must(
      2,
      'service',
      'create',
      '--detach',
      '--name',
      'web',
      '--replicas',
      '1',
      'busybox',
      'sleep',
      '999',
    );
    await swarm.must(1, 'service', 'update', '--detach', '--label-add', 'a=b', 'web');
    await swarm.must(3, 'service', 'rm', 'web');
    await swarm.must(1, 'secret', 'create', 'word', '/etc/hostname');
    const ofService = 'regarding.kind=Service';
    await until('the removal', async () => {
      const reasons = (await list(1, ofService)).items.map(({ reason }) => reason);
      return reasons.includes('ServiceRemoved');
    });
    await until('the secret', async () => (await names(2, 'regarding.kind=Secret')).length > 0);
    const { items } = await list(1, ofService);
    const counted = items.map(({ reason }) => reason).toSorted();
    expect(counted).toEqual(['ServiceCreated', 'ServiceRemoved', 'ServiceUpdated']);
    expect(await names(2, 'regarding.kind=Secret')).toHaveLength(1);
    const nodes = (await list(2, 'regarding.kind=Node')).items.map(
      ({ reason, regarding }) => `${reason} ${regarding.uid}`,
    );
    expect(nodes).toEqual([...new Set(nodes)]);
  });

  test('a push to the hub of one manager is one event', async () => {
    const { daemon } = swarm.node(2);
    await daemon.http.ok('POST', '/hub/admin/users', { login: 'alice' });
    const scopes = ['repo', 'write:packages'];
    const made = await daemon.http.ok<{ token: string }>('POST', '/hub/admin/users/alice/tokens', { scopes });
    const hub = new HubAt(daemon, { user: 'alice', token: () => made.token });
    await hub.push('alice/app', 'v1', Buffer.from('a layer'));
    await hub.push('alice/app', 'v2', Buffer.from('another'));
    const pushed = 'reason=Pushed,regarding.kind=Repository';
    // The second is behind the first on all managers.
    await until('both', async () => (await names(1, pushed)).length >= 2);
    expect(await names(1, pushed)).toHaveLength(2);
  });

  test('a leader that is lost takes no event along, and doubles none', async () => {
    const rows = await swarm.must(3, 'node', 'ls', '--format', '{{.Hostname}} {{.ManagerStatus}}');
    const leader = Number(/^n(\d) Leader$/m.exec(rows)?.[1]);
    const [other = 0, another = 0] = [1, 2, 3].filter((number) => number !== leader);
    const { metadata } = await list(another);
    const seen = watch(another, metadata.resourceVersion);
    const { daemon } = swarm.node(leader);
    const wanted = Array.from({ length: 40 }, (_, index) => `lost-${index}`);
    for (const [index, name] of wanted.entries()) {
      if (index === 10) {
        await daemon.kill9();
        killProcessesNaming(`--data-dir=${daemon.paths.root}`);
      }
      // Whoever got no answer asks again, unless it is there.
      await until(name, async () => await isMade(other, name), 60_000);
    }
    expect(told(await seen.reached(40))).toEqual(wanted.map((name) => `ADDED ${name}`));
    // Both managers tell of the new leader, at times of their own.
    for (const number of [other, another]) {
      await until(`n${number} to tell of it`, async () => await tellsOfLeader(number, leader), 60_000);
    }
    await daemon.restart();
    await untilServed(leader);
    const elected = 'regarding.kind=Node,reason=LeaderElected';
    await until('the new leader', async () => (await names(another, elected)).length > 0);
    expect(await names(another, elected)).toHaveLength(1);
    await until('it to know', async () => (await names(leader, OWN)).length === 43);
    for (const number of [leader, other, another]) {
      const lost = (await names(number, OWN)).filter((name) => name.startsWith('lost-'));
      expect(lost.toSorted()).toEqual(wanted.toSorted());
    }
    // What it was told before it died, it does not remember: a client lists again.
    expect((await watch(leader, metadata.resourceVersion).reached(1))[0]?.object.code).toBe(410);
  });

  test('a manager that is demoted names the others; whoever leaves last has all of them', async () => {
    const demote = async (): Promise<boolean> => (await swarm.docker(1, 'node', 'demote', 'n2')).code === 0;
    await until('n2 to be demoted', demote, 60_000);
    await until(
      'n2 to say where the events are',
      async () => (await ask(2, 'GET', OF_DEFAULT)).text.includes(swarm.node(1).addr),
      60_000,
    );
    expect((await ask(2, 'GET', OF_DEFAULT)).status).toBe(503);
    // What happens on a worker, the managers are told.
    await ask(2, 'POST', '/containers/create?name=on-worker', { Image: 'busybox', Cmd: ['true'] });
    const onWorker = 'regarding.name=on-worker,reason=Created';
    await until('n1 to be told', async () => (await names(1, onWorker)).length > 0, 60_000);
    expect((await list(3, onWorker)).items).toMatchObject([
      { reportingInstance: 'n2', regarding: { kind: 'Container' } },
    ]);
    await swarm.must(2, 'swarm', 'leave');
    await untilServed(2);
    expect(await names(2, OWN)).toEqual([]);
    const others = await names(1, OWN);
    expect(others).toEqual(expect.arrayContaining(['alone', 'first', 'shared']));
    // Whoever leaves last takes them along.
    await swarm.must(3, 'swarm', 'leave', '--force');
    await swarm.must(1, 'swarm', 'leave', '--force');
    await untilServed(1);
    expect(await names(1, OWN)).toEqual(others);
  });
});

/** `ADDED web`, for each frame. */
function told(frames: readonly Frame[]): string[] {
  return frames.map(({ type, object }) => `${type} ${object.metadata?.name}`);
}
