import { afterAll, beforeAll, expect, test } from 'vitest';
import { selfSigned } from '../../support/cluster/certificate.ts';
import { until, type Answer } from '../../support/engine/http.ts';
import { needsEngine } from '../../support/needs.ts';
import { TestSwarm } from '../../support/swarm/hosts/test-swarm.ts';

/** A manager is told, opens the records again, and listens. */
const MOVED_MS = 60_000;

/** What a host has of groups: their names, and what each of its listeners answers at its port. */
interface Had {
  groups: string[];
  /** The status, 0 = nobody listens. */
  plain: number;
  tls: number;
}

const ALL_OF_N1: Had = { groups: ['web'], plain: 204, tls: 204 };
const NOTHING: Had = { groups: [], plain: 0, tls: 0 };
const ALL_OF_N2: Had = { groups: ['own'], plain: 205, tls: 0 };

/** Three hosts with the cluster interface. The tests build on each other. */
needsEngine('docker-cli', 'etcd')('target groups and listeners go along with hosts', () => {
  let swarm: TestSwarm;
  const shown = selfSigned('shown');
  let group = '';

  beforeAll(async () => {
    const config = { hub: { address: '127.0.0.1:5010' }, cluster: { address: '127.0.0.1:6450' } };
    swarm = await TestSwarm.start(3, { config });
  });
  afterAll(() => swarm[Symbol.asyncDispose]());

  async function ask(number: number, method: 'GET' | 'POST' | 'DELETE', path: string, body?: object) {
    return await swarm.node(number).daemon.http.ok<Record<string, unknown>>(method, `/cluster${path}`, body);
  }

  async function groups(number: number): Promise<Answer> {
    return await swarm.node(number).daemon.http.request('GET', '/cluster/targetgroups');
  }

  async function statusAt(number: number, url: string): Promise<number> {
    const flags = ['--silent', '--insecure', '--max-time', '5', '--output', '/dev/null', '--write-out'];
    const { netns } = swarm.node(number).daemon;
    try {
      return Number(await netns.run('curl', ...flags, '%{http_code}', url));
    } catch {
      // Nobody listens.
      return 0;
    }
  }

  async function had(number: number): Promise<Had | number> {
    const { status, text } = await groups(number);
    if (status !== 200) {
      return status;
    }
    const items: { name: string }[] = JSON.parse(text).items;
    return {
      groups: items.map(({ name }) => name),
      plain: await statusAt(number, 'http://127.0.0.1:7090/'),
      tls: await statusAt(number, 'https://127.0.0.1:7443/'),
    };
  }

  async function has(number: number, expected: Had): Promise<void> {
    let last: unknown;
    await until(
      `n${number} to have ${JSON.stringify(expected)}`,
      async () => {
        last = await had(number);
        return JSON.stringify(last) === JSON.stringify(expected);
      },
      MOVED_MS,
    ).catch((error: unknown) => {
      throw new Error(`it has ${JSON.stringify(last)}`, { cause: error });
    });
  }

  /** A group with an address, and a service of that name with a listener at each of these ports. */
  async function made(number: number, name: string, statusCode: number, listeners: Record<string, number>) {
    const { id } = await ask(number, 'POST', '/targetgroups', { name, type: 'IP' });
    const path = `/targetgroups/${String(id)}`;
    await until('the group is active', async () => (await ask(number, 'GET', path))['status'] === 'ACTIVE');
    await ask(number, 'POST', `${path}/registertargets`, { targets: [{ id: '10.99.0.1' }] });
    const { certificate, key: privateKey } = shown;
    const { certificateArn } = await ask(number, 'POST', '/certificates', { certificate, privateKey });
    const service = await ask(number, 'POST', '/services', { name, certificateArn });
    for (const [protocol, port] of Object.entries(listeners)) {
      const defaultAction = { fixedResponse: { statusCode } };
      const body = { name: protocol.toLowerCase(), protocol, port, defaultAction };
      await ask(number, 'POST', `/services/${String(service['id'])}/listeners`, body);
    }
    return String(id);
  }

  /** Status of a target that was registered before, of the group that came along. */
  async function target(number: number): Promise<unknown> {
    const { items } = await ask(number, 'POST', `/targetgroups/${group}/listtargets`, {});
    return (Array.isArray(items) ? items : []).map((item: unknown) => Object(item)['id']);
  }

  test('into a swarm that a host begins, with their ids and certificates', async () => {
    group = await made(1, 'web', 204, { HTTP: 7090, HTTPS: 7443 });
    await made(2, 'own', 205, { HTTP: 7090 });
    await has(1, ALL_OF_N1);
    await has(2, ALL_OF_N2);
    await swarm.init();
    await has(1, ALL_OF_N1);
    expect(await target(1)).toEqual(['10.99.0.1']);
  });

  test('to each manager that joins; what it had itself is kept aside', async () => {
    await swarm.join(2, 'manager');
    await has(2, ALL_OF_N1);
    await swarm.join(3, 'manager');
    await has(3, ALL_OF_N1);
    expect(await target(2)).toEqual(['10.99.0.1']);
    // A change at one of them is there at the others.
    const { id } = await ask(3, 'POST', '/targetgroups', { name: 'late', type: 'LAMBDA' });
    for (const number of [1, 2]) {
      await until(
        `n${number} to know it`,
        async () => (await groups(number)).text.includes('"late"'),
        MOVED_MS,
      );
    }
    await until(
      'it to be made',
      async () => (await ask(2, 'GET', `/targetgroups/${String(id)}`))['status'] === 'ACTIVE',
      MOVED_MS,
    );
    await ask(2, 'DELETE', `/targetgroups/${String(id)}`);
  });

  test('a manager that is demoted listens no more, and names the managers', async () => {
    await until(
      'n3 to be demoted',
      async () => (await swarm.docker(1, 'node', 'demote', 'n3')).code === 0,
      MOVED_MS,
    );
    await until(
      'n3 to say where the groups are',
      async () => (await groups(3)).text.includes(swarm.node(1).addr),
      MOVED_MS,
    );
    expect(await had(3)).toBe(503);
    await until('n3 to listen no more', async () => (await statusAt(3, 'http://127.0.0.1:7090/')) === 0);
    await has(1, ALL_OF_N1);
  });

  test('a host that leaves has what it had before, or nothing', async () => {
    await swarm.must(3, 'swarm', 'leave');
    await has(3, NOTHING);
    await until(
      'n2 to be demoted',
      async () => (await swarm.docker(1, 'node', 'demote', 'n2')).code === 0,
      MOVED_MS,
    );
    await until('n2 to be a worker', async () => (await had(2)) === 503, MOVED_MS);
    await swarm.must(2, 'swarm', 'leave');
    await has(2, ALL_OF_N2);
    await has(1, ALL_OF_N1);
  });

  test('the last manager takes them along, and they may be changed there', async () => {
    await swarm.must(1, 'swarm', 'leave', '--force');
    await has(1, ALL_OF_N1);
    expect(await target(1)).toEqual(['10.99.0.1']);
    await ask(1, 'DELETE', `/targetgroups/${group}`);
    await has(1, { ...ALL_OF_N1, groups: [] });
  });
});
