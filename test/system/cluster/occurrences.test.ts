import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { TestDaemon } from '../../support/engine/daemon.ts';
import { jsonLines, until } from '../../support/engine/http.ts';
import { needsEngine } from '../../support/needs.ts';
import { untilNow } from '../../support/engine/until-now.ts';

const HUB = '127.0.0.1:5010';
const EVENTS = '/cluster/apis/events.k8s.io/v1/events';
const HOOKS = '/hub/repos/alice/app/hooks';

interface Told {
  type: string;
  reason: string;
  note: string;
  regarding: { kind: string; name: string; uid: string };
  metadata: { annotations?: Record<string, string> };
}

interface EngineEvent {
  Type: string;
  Action: string;
  Actor: { ID: string; Attributes: Record<string, string> };
}

interface Audited {
  id: string;
  actor: string;
  action: string;
  target: string;
  details: Record<string, string>;
}

/** One id in all that tells of one thing. */
needsEngine()('what has happened', () => {
  let daemon: TestDaemon;
  let token: string;
  beforeAll(async () => {
    daemon = await TestDaemon.start({
      config: { hub: { address: HUB }, cluster: { address: '127.0.0.1:6450' } },
      armable: true,
    });
    await daemon.loadBusybox();
    await daemon.http.ok('POST', '/hub/admin/users', { login: 'alice' });
    await daemon.http.ok('POST', '/hub/admin/repositories', { owner: 'alice', name: 'app' });
    const scopes = ['write:packages'];
    ({ token } = await daemon.http.ok<{ token: string }>('POST', '/hub/admin/users/alice/tokens', {
      scopes,
    }));
  });
  afterAll(async () => {
    await daemon[Symbol.asyncDispose]();
  });

  async function push(tag: string): Promise<void> {
    const name = encodeURIComponent(`${HUB}/alice/app`);
    await daemon.http.ok('POST', `/images/busybox/tag?repo=${name}&tag=${tag}`);
    const auth = { username: 'alice', password: token, serveraddress: HUB };
    const { text } = await daemon.http.request('POST', `/images/${name}/push?tag=${tag}`, {
      headers: { 'X-Registry-Auth': Buffer.from(JSON.stringify(auth)).toString('base64url') },
    });
    expect(text).toContain('digest: sha256:');
  }

  async function engineEvents(filters: Record<string, string[]>): Promise<EngineEvent[]> {
    const query = `since=0&until=${untilNow()}&filters=${encodeURIComponent(JSON.stringify(filters))}`;
    return jsonLines((await daemon.http.request('GET', `/events?${query}`)).text) as EngineEvent[];
  }

  async function clusterEvents(selector: string): Promise<Told[]> {
    const query = `fieldSelector=${encodeURIComponent(selector)}`;
    return (await daemon.http.ok<{ items: Told[] }>('GET', `${EVENTS}?${query}`)).items;
  }

  const audited = (id: string): Promise<Audited[]> =>
    daemon.http.ok<Audited[]>('GET', `/hub/admin/audit?id=${id}`);

  async function died(name: string, code: number): Promise<EngineEvent> {
    const { Id } = await daemon.http.ok<{ Id: string }>('POST', `/containers/create?name=${name}`, {
      Image: 'busybox',
      Cmd: ['sh', '-c', `exit ${code}`],
    });
    await daemon.http.ok('POST', `/containers/${Id}/start`);
    const found = async (): Promise<EngineEvent | undefined> =>
      (await engineEvents({ container: [Id], event: ['die'] }))[0];
    await until('the end', async () => (await found()) !== undefined);
    return (await found())!;
  }

  it('a push: the join of its four records by id', async () => {
    // Nobody listens there: what was sent is written down all the same.
    const config = { url: 'http://127.0.0.1:9/', content_type: 'json' };
    const hook = await daemon.http.ok<{ id: number }>('POST', HOOKS, { config, events: ['push'] });
    await push('v1');
    const list = `${HOOKS}/${hook.id}/deliveries`;
    const pushes = async (): Promise<{ id: number; event: string }[]> =>
      (await daemon.http.ok<{ id: number; event: string }[]>('GET', list)).filter(
        ({ event }) => event === 'push',
      );
    await until('the delivery', async () => (await pushes()).length > 0);
    const delivery = await daemon.http.ok<{ request: { headers: Record<string, string> } }>(
      'GET',
      `${list}/${(await pushes())[0]?.id}`,
    );
    const id = delivery.request.headers['X-Svc-Occurrence'] ?? '';
    expect(id).toMatch(/^[0-9a-f]{32}$/);

    const ofEngine = await engineEvents({ label: [`berth.occurrence=${id}`] });
    expect(ofEngine.map(({ Type, Action, Actor }) => [Type, Action, Actor.ID])).toEqual([
      ['image', 'push', `${HUB}/alice/app:v1`],
    ]);
    const select = 'reason=Pushed,regarding.kind=Repository';
    await until('the event', async () => (await clusterEvents(select)).length > 0);
    expect(await clusterEvents(select)).toMatchObject([
      { metadata: { annotations: { 'berth.engine/occurrence': id } }, regarding: { name: 'alice/app' } },
    ]);
    expect(await audited(id)).toMatchObject([
      { id, actor: 'alice', action: 'Pushed', target: 'Repository alice/app', details: { tag: 'v1' } },
    ]);
    // What came of it says what it came of: the last of the hook's failures.
    const failed = 'reason=WebhookDeliveryFailed';
    await until('the failure', async () =>
      (await clusterEvents(failed)).some(
        ({ metadata }) => metadata.annotations?.['berth.engine/cause'] === id,
      ),
    );
    const failures = await clusterEvents(failed);
    expect(failures[0]).toMatchObject({ type: 'Warning', regarding: { kind: 'Webhook' } });
  });

  it('the death of a container: the join of its records by id', async () => {
    const { Actor } = await died('web', 3);
    const id = Actor.Attributes['berth.occurrence'] ?? '';
    expect(id).toMatch(/^[0-9a-f]{32}$/);
    const select = `reason=Failed,regarding.uid=${Actor.ID}`;
    await until('the event', async () => (await clusterEvents(select)).length > 0);
    expect(await clusterEvents(select)).toMatchObject([
      { metadata: { annotations: { 'berth.engine/occurrence': id } }, regarding: { name: 'web' } },
    ]);
    await until('the audit', async () => (await audited(id)).length > 0);
    expect(await audited(id)).toMatchObject([{ actor: 'engine', action: 'Failed', target: 'Container web' }]);
  });

  it('an image that cannot be pulled is told with the reason', async () => {
    const name = encodeURIComponent(`${HUB}/alice/nothing`);
    await daemon.http.request('POST', `/images/create?fromImage=${name}&tag=v9`);
    const select = 'reason=Failed,regarding.kind=Image';
    await until('the event', async () => (await clusterEvents(select)).length > 0);
    expect(await clusterEvents(select)).toMatchObject([
      {
        type: 'Warning',
        note: expect.stringMatching(/^image 127\.0\.0\.1:5010\/alice\/nothing:v9 could not be pulled: ./),
      },
    ]);
  });

  it('a daemon that is killed before an event is stored: the next tells it, by the same id', async () => {
    daemon.arm('cluster.events.tell=sigkill');
    // The daemon may end before it can answer.
    await daemon.http
      .request('POST', '/containers/create?name=last', { body: { Image: 'busybox', Cmd: ['true'] } })
      .catch(() => undefined);
    await until('the end of the daemon', () => !daemon.isRunning());
    daemon.arm('');
    await daemon.up();
    expect(await engineEvents({ container: ['last'], event: ['create'] })).toHaveLength(1);
    const select = 'reason=Created,regarding.name=last';
    await until('the event', async () => (await clusterEvents(select)).length > 0);
    const [event] = await clusterEvents(select);
    const id = event?.metadata.annotations?.['berth.engine/occurrence'] ?? '';
    await until('the audit', async () => (await audited(id)).length > 0);
    expect(await audited(id)).toMatchObject([{ action: 'Created', target: 'Container last' }]);
    expect(await clusterEvents(select)).toHaveLength(1);
  });

  it('a push whose daemon is killed before its event is stored is told by the next, by one id', async () => {
    daemon.arm('cluster.events.tell=sigkill');
    // The daemon may end before it can answer.
    await push('v2').catch(() => undefined);
    await until('the end of the daemon', () => !daemon.isRunning());
    daemon.arm('');
    await daemon.up();
    const rows = await daemon.http.ok<Audited[]>('GET', '/hub/admin/audit?per_page=100');
    const pushed = rows.filter(({ action, details }) => action === 'Pushed' && details['tag'] === 'v2');
    expect(pushed).toHaveLength(1);
    const id = pushed[0]?.id;
    const told = async (): Promise<Told[]> =>
      (await clusterEvents('reason=Pushed,regarding.kind=Repository')).filter(
        ({ metadata }) => metadata.annotations?.['berth.engine/occurrence'] === id,
      );
    await until('the event', async () => (await told()).length > 0);
    expect(await told()).toHaveLength(1);
    const [hook] = await daemon.http.ok<{ id: number }[]>('GET', HOOKS);
    const list = `${HOOKS}/${hook?.id}/deliveries?per_page=100`;
    const sent = async (): Promise<(string | undefined)[]> => {
      const all = await daemon.http.ok<{ id: number }[]>('GET', list);
      return await Promise.all(
        all.map(async (each) => {
          const url = `${HOOKS}/${hook?.id}/deliveries/${each.id}`;
          const { request } = await daemon.http.ok<{ request: { headers: Record<string, string> } }>(
            'GET',
            url,
          );
          return request.headers['X-Svc-Occurrence'];
        }),
      );
    };
    await until('the delivery', async () => (await sent()).includes(id));
  });

  // Behind all pushes: from here on alice and this address are locked out for minutes.
  it('wrong credentials too often: an event without the address, which root finds in the audit', async () => {
    const curl = ['curl', '-s', '-o', '/dev/null', '-u', 'alice:wrong', `http://${HUB}/user`] as const;
    for (let attempt = 0; attempt < 10; attempt += 1) {
      await daemon.netns.run(...curl);
    }
    await until('the event', async () => (await clusterEvents('reason=AuthLockout')).length === 2);
    const events = await clusterEvents('reason=AuthLockout');
    expect(JSON.stringify(events)).not.toContain('127.0.0.1');
    const callers = async (): Promise<string[]> => {
      const ids = events.map(({ metadata }) => metadata.annotations?.['berth.engine/occurrence'] ?? '');
      const rows = await Promise.all(ids.map((id) => audited(id)));
      return rows.flat().map(({ details }) => details['caller'] ?? '');
    };
    await until('the audit', async () => (await callers()).length === 2);
    expect((await callers()).toSorted()).toEqual(['address 127.0.0.1', 'user alice']);
  });

  it('berthd hub audit lists who has done what', async () => {
    const program = path.resolve(import.meta.dirname, '../../../dist/daemon/main.js');
    const listed = await daemon.netns.run(
      process.execPath,
      program,
      'hub',
      'audit',
      '--host',
      `unix://${daemon.paths.socket}`,
    );
    expect(listed).toMatch(/^AT +ACTOR +ACTION +TARGET +ID\n/);
    expect(listed).toMatch(/alice +Pushed +Repository alice\/app +[0-9a-f]{32}\n/);
    expect(listed).toMatch(/engine +Failed +Container web +[0-9a-f]{32}\n/);
    const wrong = await daemon.http.request('GET', '/hub/admin/audit?id=1');
    expect(wrong.status).toBe(422);
  });
});
