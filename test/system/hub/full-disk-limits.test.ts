import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { limits } from '../../../daemon/base/limits.ts';
import { TestDaemon } from '../../support/engine/daemon.ts';
import { sleep, until } from '../../support/engine/http.ts';
import { needs } from '../../support/needs.ts';
import { SmallDisk } from '../../support/storage/small-disk.ts';
import { HubAt } from '../../support/swarm/hosts/hub-at.ts';

/** More than the ten guesses that shut an address out: what is refused counts too. */
const PER_HOUR = 20;
const QUOTA = 1_000_000;
const APPLICATIONS = '/hub/v1/organizations/acme/oauth-applications';
const PNG = Buffer.from('89504e470d0a1a0a', 'hex');

/** The tests build on each other. */
needs(
  'root',
  'built',
  'busybox',
  'netns',
)('limits of the hub on a disk that is full', () => {
  let daemon: TestDaemon;
  let disk: SmallDisk;
  let token = '';
  let keeper = '';
  const hub = (): HubAt => new HubAt(daemon, { user: 'alice', token: () => token });
  const anonymous = async (): Promise<number> =>
    (await hub().ask('GET', '/repos/alice/open', { token: '', from: '127.0.0.9' })).status;

  beforeAll(async () => {
    const hubConfig = { address: '127.0.0.1:5010', quota: QUOTA, limits: { 'anonymous-per-hour': PER_HOUR } };
    daemon = await TestDaemon.start({ config: { hub: hubConfig } });
    // The root of a test daemon is made anew, on a disk of its own.
    await daemon.stop();
    rmSync(daemon.paths.dataRoot, { recursive: true });
    disk = new SmallDisk(daemon.paths.dataRoot, { mib: 200 });
    await daemon.up();
    await daemon.loadBusybox();
    const { http } = daemon;
    await http.ok('POST', '/hub/admin/users', { login: 'alice' });
    await http.ok('POST', '/hub/admin/organizations', { login: 'acme', admin: 'alice' });
    await http.ok('POST', '/hub/admin/repositories', { owner: 'alice', name: 'open' });
    const scopes = ['repo', 'write:packages'];
    ({ token } = await http.ok<{ token: string }>('POST', '/hub/admin/users/alice/tokens', { scopes }));
    expect((await hub().push('alice/open', 'one', randomBytes(1_000))).status).toBe(201);
    const body = { Image: 'busybox', Cmd: ['sleep', '1000'] };
    keeper = (await http.ok<{ Id: string }>('POST', '/containers/create', body)).Id;
    await http.ok('POST', `/containers/${keeper}/start`);
    disk.fillUp();
  });
  afterAll(async () => {
    disk.unmount();
    await daemon[Symbol.asyncDispose]();
  });

  it('the database fills up', async () => {
    // Records go into what the database has put by until that is used up.
    let count = 0;
    const make = async (): Promise<number> => {
      count += 1;
      const avatar = Buffer.concat([PNG, randomBytes(60_000)]).toString('base64');
      const body = { name: `a${count}`, domain: 'http://a.test', redirect_uri: 'http://a.test/b', avatar };
      const answer = await daemon.http.request('POST', APPLICATIONS, { body });
      expect(answer.status === 507 ? answer.text : '').toMatch(/^$|no space left/);
      return answer.status;
    };
    await until('the database to be full', async () => (await make()) === 507);
  });

  it('limits are decided on all the same, and containers are seen, stopped and removed', async () => {
    const statuses: number[] = [];
    for (let asked = 0; asked <= PER_HOUR; asked += 1) {
      statuses.push(await anonymous());
    }
    expect(statuses).toEqual([...Array.from({ length: PER_HOUR }, () => 200), 403]);
    const wrong = { token: `bhp_${'x'.repeat(50)}`, from: '127.0.0.10' };
    for (let guess = 0; guess < 10; guess += 1) {
      expect((await hub().ask('GET', '/user', wrong)).status).toBe(401);
    }
    expect((await hub().ask('GET', '/user', { from: '127.0.0.10' })).status).toBe(403);

    expect(await daemon.http.ok('GET', '/containers/json')).toMatchObject([{ Id: keeper }]);
    await daemon.http.ok('POST', `/containers/${keeper}/stop?t=0`);
    await daemon.http.ok('DELETE', `/containers/${keeper}`);
    expect(await daemon.http.ok('GET', '/containers/json?all=1')).toEqual([]);
  });

  it('with room again it takes pushes up to the quota, and knows what was counted, also after a restart', async () => {
    disk.free();
    await until('a push', async () => {
      const pushed = hub().push('alice/open', 'two', randomBytes(1_000));
      // What is refused is tried again.
      return (await pushed.catch(() => undefined))?.status === 201;
    });
    await expect(hub().push('alice/open', 'three', randomBytes(QUOTA))).rejects.toThrow(/403.*DENIED/);
    // It is written behind the answers: a daemon that is killed forgets the last second.
    await sleep(3 * limits.hubLimitsKeptMs);
    await daemon.restart();
    expect(await anonymous()).toBe(403);
    expect((await hub().ask('GET', '/user', { from: '127.0.0.10' })).status).toBe(403);
  });

  it('knows the last second too after a stop that is none by force', async () => {
    const from = { token: '', from: '127.0.0.11' };
    const ask = async (): Promise<number> => (await hub().ask('GET', '/repos/alice/open', from)).status;
    const asked = await Promise.all(Array.from({ length: PER_HOUR }, ask));
    expect(asked).toEqual(asked.map(() => 200));
    await daemon.restart({ gracefully: true });
    expect(await ask()).toBe(403);
  });
});
