import { spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { killProcessesNaming } from '../../support/engine/cleanup.ts';
import { sleep, until } from '../../support/engine/http.ts';
import { needsEngine } from '../../support/needs.ts';
import { HubAt, type HubAnswer, type PushedImage } from '../../support/swarm/hosts/hub-at.ts';
import { TestSwarm } from '../../support/swarm/hosts/test-swarm.ts';

const METRICS = '127.0.0.1:9323';
const HUB = { address: '127.0.0.1:5010', 'hooks-allowed-hosts': ['*'] };
const REPO = '/repos/alice/app';
const PINGS = 24;
/** Eight pieces on their way between managers. */
const LAYER_BYTES = 2_000_000;

/** Prints the guid of each delivery, and lets it wait for its answer. */
const RECEIVER = `
require('node:http').createServer((req, res) => {
  console.log(req.headers['x-svc-delivery']);
  req.resume();
  setTimeout(() => res.end('ok'), 1000);
}).listen(9000, '0.0.0.0');
`;

interface FoundTask {
  Slot: number;
  NodeID?: string;
  Status: { State: string };
  Spec: { ContainerSpec: { Image: string } };
}

interface Delivered {
  request: { payload: { after: string } };
  response: { payload: string };
}

/** Three hosts, each with a hub. The tests build on each other. */
needsEngine('docker-cli', 'etcd')('the hub of hosts in a swarm', () => {
  let swarm: TestSwarm;
  let receiver: ChildProcess | undefined;
  let token = '';
  let received: string[] = [];
  let hook = 0;
  const nodeIds: string[] = [];
  /** Of all images that were pushed. */
  const layers: string[] = [];

  beforeAll(async () => {
    swarm = await TestSwarm.start(3, { config: { hub: HUB, 'metrics-addr': METRICS }, armable: true });
    receiver = spawn(...command(swarm.node(3).daemon.netns.enter(process.execPath, '-e', RECEIVER)));
    receiver.stdout?.setEncoding('utf8').on('data', (text: string) => {
      received.push(...text.split('\n').filter((line) => line !== ''));
    });
  });
  afterAll(async () => {
    receiver?.kill('SIGKILL');
    await swarm[Symbol.asyncDispose]();
  });

  const hubAt = (number: number): HubAt =>
    new HubAt(swarm.node(number).daemon, { user: 'alice', token: () => token });

  /** At the hub's own listener of a host. Not often: alice's requests of a minute count over all managers. */
  const ask = async (number: number, method: string, target: string, body?: object): Promise<HubAnswer> => {
    await sleep(method === 'GET' ? 150 : 0);
    return await hubAt(number).ask(method, target, body && { body });
  };

  const root = async <T>(number: number, target: string, body: object): Promise<T> =>
    await swarm.node(number).daemon.http.ok<T>('POST', `/hub${target}`, body);

  const guids = async (number: number): Promise<string[]> => {
    const { body } = await ask(number, 'GET', `${REPO}/hooks/${hook}/deliveries?per_page=100`);
    return (body as { guid: string }[]).map(({ guid }) => guid);
  };

  /** What a manager's hub answers, or waits for its records. */
  const untilServed = async (number: number): Promise<void> => {
    await until(`the hub of n${number}`, async () => (await ask(number, 'GET', REPO)).status === 200, 60_000);
  };

  /** Slots of `web` with a running task of an image, but for those of a dead host, whose tasks nobody knows. */
  const webTasks = async (number: number, image: string, dead?: number): Promise<number[]> => {
    const { http } = swarm.node(number).daemon;
    const tasks = await http.ok<FoundTask[]>('GET', `/tasks?filters={"service":["web"]}`);
    const gone = dead === undefined ? undefined : nodeIds[dead - 1];
    return tasks
      .filter(({ NodeID, Status, Spec }) => {
        const isOf = Spec.ContainerSpec.Image.startsWith(image);
        return isOf && NodeID !== gone && Status.State === 'running';
      })
      .map(({ Slot }) => Slot);
  };

  /** Deliveries of `push`, each attempt of them. */
  const pushesTo = async (
    number: number,
    deliveries: string,
  ): Promise<{ id: number; status_code: number }[]> => {
    const { body } = await ask(number, 'GET', `${deliveries}?per_page=100`);
    const all = body as { id: number; event: string; status_code: number }[];
    return all.filter(({ event }) => event === 'push');
  };

  test('what a host has is in the swarm that it begins, and on the managers that join', async () => {
    await root(1, '/admin/users', { login: 'alice' });
    const scopes = ['repo', 'admin:repo_hook', 'write:packages'];
    ({ token } = await root<{ token: string }>(1, '/admin/users/alice/tokens', { scopes }));
    expect((await ask(1, 'POST', '/user/repos', { name: 'app' })).status).toBe(201);
    const url = `http://${swarm.node(3).addr}:9000/`;
    const config = { url, content_type: 'json', secret: 'a word' };
    const created = await ask(1, 'POST', `${REPO}/hooks`, { config, events: ['push'] });
    expect(created.status).toBe(201);
    hook = (created.body as { id: number }).id;
    await until('the first ping', async () => (await guids(1)).length === 1);
    const [first] = await guids(1);

    await swarm.init();
    await untilServed(1);
    expect((await ask(1, 'GET', `${REPO}/hooks/${hook}`)).body).toMatchObject({
      config: { url, secret: '********' },
    });
    expect(await guids(1)).toEqual([first]);

    // A host that had accounts before it joins: they are kept aside.
    await root(2, '/admin/users', { login: 'bob' });
    await swarm.join(2, 'manager');
    await swarm.join(3, 'manager');
    for (const number of [2, 3]) {
      await untilServed(number);
      expect((await ask(number, 'GET', `${REPO}/hooks/${hook}`)).status).toBe(200);
      expect((await ask(number, 'GET', '/users/bob')).status).toBe(404);
      expect(await guids(number)).toEqual([first]);
    }
    for (const number of [1, 2, 3]) {
      nodeIds.push(await swarm.must(number, 'info', '--format', '{{.Swarm.NodeID}}'));
    }
    expect(await swarm.must(2, 'info', '--format', '{{json .Warnings}}')).toContain(
      'accounts of its own (bob)',
    );
    // Written through one manager, read from another.
    expect((await ask(2, 'PATCH', REPO, { description: 'told' })).status).toBe(200);
    await until('n3 to be told', async () =>
      JSON.stringify((await ask(3, 'GET', REPO)).body).includes('told'),
    );
  });

  test('deliveries are made though the manager that makes them is killed, with the same guids', async () => {
    received = [];
    await Promise.all(
      Array.from({ length: PINGS }, (_, index) =>
        ask(2 + (index % 2), 'POST', `${REPO}/hooks/${hook}/pings`),
      ),
    );
    await until('some deliveries', () => received.length >= 4);
    await swarm.node(1).daemon.kill9();
    // Until the others have a leader again it may have no list to answer with.
    await until('all deliveries', async () => (await guids(2).catch(() => [])).length === PINGS + 1, 60_000);
    const kept = (await guids(2)).slice(0, PINGS);
    expect(new Set(kept).size).toBe(PINGS);
    expect(new Set(received)).toEqual(new Set(kept));
    expect(await guids(3)).toEqual(await guids(2));
    await swarm.node(1).daemon.restart();
    await untilServed(1);
    expect(await guids(1)).toEqual(await guids(2));
  });

  /** Of the three managers: those with a blob on their disks, and the one without. */
  const placesOf = async (digest: string): Promise<{ holders: number[]; lacking: number }> => {
    const places = [1, 2, 3].map((number) => ({ number, holds: existsSync(fileOf(number, digest)) }));
    const holders = places.filter(({ holds }) => holds).map(({ number }) => number);
    expect(holders.length).toBe(2);
    return { holders, lacking: places.find(({ holds }) => !holds)?.number ?? 0 };
  };

  const fileOf = (number: number, digest: string): string => {
    const hex = digest.slice('sha256:'.length);
    const { dataRoot } = swarm.node(number).daemon.paths;
    return path.join(dataRoot, 'hub/blobs/sha256', hex.slice(0, 2), hex);
  };

  /** As where the other manager was lost. */
  const alone = (number: number, digest: string): void => {
    const others = [1, 2, 3].filter((other) => other !== number);
    others.forEach((other) => rmSync(fileOf(other, digest), { force: true }));
    expect(existsSync(fileOf(number, digest))).toBe(true);
  };

  /** Blobs that n1 and n2 copied as too few managers held them, by their metrics. */
  const repaired = async (): Promise<number> => {
    const texts = await Promise.all(
      [1, 2].map((number) =>
        swarm.node(number).daemon.netns.run('curl', '--silent', `http://${METRICS}/metrics`),
      ),
    );
    const found = texts.map((text) => /^berth_hub_repaired_blobs_total (\d+)$/m.exec(text)?.[1]);
    return found.reduce((sum, count) => sum + Number(count), 0);
  };

  const pushed = async (number: number, tag: string): Promise<PushedImage> => {
    const image = await hubAt(number).push('alice/app', tag, randomBytes(LAYER_BYTES));
    expect([image.status, image.body]).toEqual([201, undefined]);
    layers.push(image.layer);
    return image;
  };

  test('two managers hold what is pushed; the third one gets it though its giver is killed in the middle', async () => {
    const { layer } = await pushed(2, 'one');
    const { holders, lacking } = await placesOf(layer);
    expect(holders).toContain(2);
    // Each gives the half of it at most.
    holders.forEach((number) => swarm.node(number).daemon.arm('swarm.blobs.piece=sigkill@5'));
    expect(await hubAt(lacking).pull('alice/app', layer)).toBe(layer);
    const dead = holders.filter((number) => !swarm.node(number).daemon.isRunning());
    expect(dead.length).toBe(1);
    expect(existsSync(fileOf(lacking, layer))).toBe(true);
    holders.forEach((number) => swarm.node(number).daemon.arm(''));
    for (const number of dead) {
      await swarm.node(number).daemon.restart();
      await untilServed(number);
    }
  });

  test('a manager that gives other bytes is refused, and the other one is asked', async () => {
    const { layer } = await pushed(1, 'two');
    const { holders, lacking } = await placesOf(layer);
    const right = readFileSync(fileOf(1, layer));
    for (const number of holders) {
      writeFileSync(fileOf(number, layer), Buffer.alloc(LAYER_BYTES, 'other'));
    }
    expect(await hubAt(lacking).pull('alice/app', layer)).toBe('');
    expect(existsSync(fileOf(lacking, layer))).toBe(false);
    // Both, one after the other, were found out: whichever has it right again is reached.
    writeFileSync(fileOf(holders[1] ?? 0, layer), right);
    await until('the right bytes', async () => (await hubAt(lacking).pull('alice/app', layer)) === layer);
    for (const number of holders) {
      writeFileSync(fileOf(number, layer), right);
    }
  });

  test('a push that too few managers can hold is refused with 503, and succeeds when they can', async () => {
    // Their stores run on.
    await Promise.all([1, 3].map((number) => swarm.node(number).daemon.kill9()));
    const layer = randomBytes(LAYER_BYTES);
    const refused = await hubAt(2).push('alice/app', 'three', layer);
    expect(refused).toMatchObject({
      status: 503,
      body: { errors: [{ code: 'UNAVAILABLE', message: expect.stringContaining('1 of 2 managers') }] },
    });
    expect((await ask(2, 'GET', '/v2/alice/app/tags/list')).body).toMatchObject({ tags: ['one', 'two'] });
    await Promise.all([1, 3].map((number) => swarm.node(number).daemon.restart()));
    await untilServed(1);
    await untilServed(3);
    expect(await hubAt(2).push('alice/app', 'three', layer)).toMatchObject({ status: 201 });
    await placesOf(refused.layer);
    layers.push(refused.layer);
  });

  test('limits and wrong credentials count over all managers', async () => {
    const nobody = { from: '127.0.0.7', token: '' };
    const remaining = async (number: number): Promise<number> => {
      const { body } = await hubAt(number).ask('GET', '/rate_limit', nobody);
      return (body as { resources: { core: { remaining: number } } }).resources.core.remaining;
    };
    for (let count = 0; count < 30; count += 1) {
      await hubAt(1 + (count % 3)).ask('GET', '/users/alice', nobody);
    }
    for (const number of [1, 2, 3]) {
      await expect.poll(() => remaining(number)).toBe(30);
    }
    // One who guesses goes from manager to manager.
    const guess = { from: '127.0.0.8', token: `ghp_${'x'.repeat(36)}` };
    for (let count = 0; count < 10; count += 1) {
      expect((await hubAt(1 + (count % 3)).ask('GET', REPO, guess)).status).toBe(401);
    }
    const right = { from: '127.0.0.8' };
    await until('a lockout everywhere', async () => {
      const asked = await Promise.all([1, 2, 3].map((number) => hubAt(number).ask('GET', REPO, right)));
      return asked.every(({ status }) => status === 403)
        ? true
        : (await hubAt(1).ask('GET', REPO, guess), false);
    });
  });

  test('a push redeploys a service once, though the manager that has it redeployed is killed then', async () => {
    const image = '127.0.0.1:5010/alice/web:1';
    expect((await ask(2, 'POST', '/user/repos', { name: 'web' })).status).toBe(201);
    await swarm.must(2, 'login', '--username', 'alice', '--password', token, '127.0.0.1:5010');
    await swarm.must(2, 'tag', 'busybox', image);
    await swarm.must(2, 'push', image);
    await swarm.must(
      2,
      'service',
      'create',
      '--name',
      'web',
      '--replicas',
      '2',
      '--detach',
      image,
      'sleep',
      '9999',
    );
    const config = { url: 'engine://services/web' };
    const created = await ask(2, 'POST', '/repos/alice/web/hooks', { config, events: ['push'] });
    const deliveries = `/repos/alice/web/hooks/${(created.body as { id: number }).id}/deliveries`;
    await until('the first tasks', async () => (await webTasks(2, image)).length === 2, 60_000);

    // Another image of that name.
    await swarm.must(2, 'create', '--name', 'base', 'busybox');
    await swarm.must(2, 'commit', '--change', 'LABEL version=2', 'base', image);
    swarm.nodes.forEach(({ daemon }) => daemon.arm('hub.delivery.log=sigkill'));
    // The hub that takes it may be the one that dies: it has answered the push by then.
    await swarm.docker(2, 'push', image);
    const isDead = (): boolean => swarm.nodes.some(({ daemon }) => !daemon.isRunning());
    await until('the manager that delivers to die', isDead);
    swarm.nodes.forEach(({ daemon }) => daemon.arm(''));
    const dead = swarm.nodes.findIndex(({ daemon }) => !daemon.isRunning()) + 1;
    const alive = dead === 1 ? 2 : 1;
    // What the dead one has done is done again, under the same guid, and changes nothing.
    await until('the delivery', async () => (await pushesTo(alive, deliveries)).length > 0, 60_000);
    const [delivery, ...others] = await pushesTo(alive, deliveries);
    expect([delivery?.status_code, others]).toEqual([200, []]);
    const { body } = await ask(alive, 'GET', `${deliveries}/${delivery?.id}`);
    const { request, response } = body as Delivered;
    expect(response.payload).toContain('runs');
    const next = `${image}@${request.payload.after}`;
    await until(
      'tasks of the new image',
      async () => (await webTasks(alive, next, dead)).length === 2,
      60_000,
    );
    expect(await webTasks(alive, next)).toHaveLength(2);
    await swarm.node(dead).daemon.restart();
    await untilServed(dead);
    expect(await pushesTo(dead, deliveries)).toEqual([delivery]);
    await swarm.must(alive, 'service', 'rm', 'web');
  });

  test('a host that is demoted or leaves hands over what it alone holds; a worker says where the hub is', async () => {
    const { layer } = await pushed(3, 'four');
    alone(3, layer);
    // Refused until the manager that was dead is one again for all.
    const demote = async (): Promise<boolean> => (await swarm.docker(1, 'node', 'demote', 'n3')).code === 0;
    await until('n3 to be demoted', demote);
    await until('n3 to be a worker', async () => (await ask(3, 'GET', REPO)).status === 503, 60_000);
    expect((await ask(3, 'GET', REPO)).body).toMatchObject({
      message: expect.stringContaining(swarm.node(1).addr),
    });
    // What it alone held goes to a manager.
    await until('the layer', () => [1, 2].some((number) => existsSync(fileOf(number, layer))));
    await swarm.must(3, 'swarm', 'leave');
    await until('the hub of n3', async () => (await ask(3, 'GET', REPO)).status !== 503, 60_000);
    expect((await ask(3, 'GET', REPO)).status).toBe(401);

    // What n3 and one of the others held is held by that one alone now, until it is copied by itself.
    for (const digest of layers) {
      await until(
        'two copies again',
        () => [1, 2].every((number) => existsSync(fileOf(number, digest))),
        150_000,
      );
    }
    expect(await repaired()).toBeGreaterThan(0);
    expect(await hubAt(2).pull('alice/app', layer)).toBe(layer);
    alone(2, layer);
    await swarm.must(2, 'swarm', 'leave', '--force');
    expect(existsSync(fileOf(1, layer))).toBe(true);
    await until('the hub of n2', async () => (await ask(2, 'GET', REPO)).status === 401, 60_000);
    const bob = await swarm.node(2).daemon.http.ok<{ login: string }>('GET', '/hub/users/bob');
    expect(bob.login).toBe('bob');
    expect((await swarm.docker(1, 'swarm', 'leave')).err).toContain(
      'but for the repositories and images of the hub, which stay on this host',
    );
  });

  test('without a majority the hub is read, and a change is refused with words', async () => {
    await swarm.join(2, 'manager');
    await untilServed(2);
    // What its own hub had comes into that of the swarm.
    const { http } = swarm.node(2).daemon;
    expect(await http.ok('GET', '/hub/admin/aside')).toEqual([{ source: 'host', kind: 'user', name: 'bob' }]);
    expect(await root(2, '/admin/aside/host/restore', {})).toMatchObject({ accounts: 1, left: {} });
    await until('n1 to know bob', async () => (await ask(1, 'GET', '/users/bob')).status === 200);
    expect(await http.ok('GET', '/hub/admin/aside')).toEqual([]);
    const { daemon } = swarm.node(2);
    await daemon.kill9();
    killProcessesNaming(`--data-dir=${daemon.paths.root}`);
    expect((await ask(1, 'GET', REPO)).status).toBe(200);
    const refused = await ask(1, 'PATCH', REPO, { description: 'lost' });
    expect(refused).toMatchObject({
      status: 503,
      body: { message: expect.stringContaining('the managers of the swarm') },
    });
  });

  test('the last manager takes the records with it', async () => {
    const told = await guids(1);
    await swarm.must(1, 'swarm', 'leave', '--force');
    await untilServed(1);
    expect((await ask(1, 'GET', `${REPO}/hooks/${hook}`)).status).toBe(200);
    expect(await guids(1)).toEqual(told);
    expect((await ask(1, 'PATCH', REPO, { description: 'home' })).status).toBe(200);
    const { body } = await ask(1, 'GET', '/v2/alice/app/tags/list');
    expect(body).toEqual({ name: 'alice/app', tags: ['four', 'one', 'three', 'two'] });
    expect(await Promise.all(layers.map((layer) => hubAt(1).pull('alice/app', layer)))).toEqual(layers);
  });
});

function command([file, ...args]: [string, ...string[]]): [string, string[]] {
  return [file, args];
}
