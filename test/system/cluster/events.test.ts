import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { TestDaemon } from '../../support/engine/daemon.ts';
import { until } from '../../support/engine/http.ts';
import { needsEngine } from '../../support/needs.ts';
import { HubAt } from '../../support/swarm/hosts/hub-at.ts';

const EVENTS = '/cluster/apis/events.k8s.io/v1/events';

interface Listed {
  items: {
    metadata: { namespace: string };
    reason: string;
    type: string;
    regarding: { kind: string; name: string };
  }[];
}

interface PushTold {
  metadata: { annotations: Record<string, string> };
  regarding: { name: string };
  note: string;
}

needsEngine()('events of the cluster', () => {
  let daemon: TestDaemon;
  beforeAll(async () => {
    daemon = await TestDaemon.start({
      config: { hub: { address: '127.0.0.1:5010' }, cluster: { address: '127.0.0.1:6450' } },
    });
    await daemon.loadBusybox();
  });
  afterAll(async () => {
    await daemon[Symbol.asyncDispose]();
  });

  async function told(): Promise<string[]> {
    const { items } = await daemon.http.ok<Listed>('GET', EVENTS);
    return items.map(
      ({ metadata, reason, type, regarding }) =>
        `${metadata.namespace} ${type} ${reason} ${regarding.kind}/${regarding.name}`,
    );
  }

  it('what happens to a container is told, in the namespace of its stack, and is there after a kill -9', async () => {
    const { Id } = await daemon.http.ok<{ Id: string }>('POST', '/containers/create?name=web', {
      Image: 'busybox',
      Cmd: ['sh', '-c', 'exit 3'],
      Labels: { 'com.docker.stack.namespace': 'shop' },
    });
    await daemon.http.ok('POST', `/containers/${Id}/start`);
    await until('the end of the container', async () =>
      (await told()).includes('shop Warning Failed Container/web'),
    );
    const before = await told();
    expect(before).toEqual(
      expect.arrayContaining(['shop Normal Created Container/web', 'shop Normal Started Container/web']),
    );
    await daemon.kill9();
    await daemon.restart();
    expect(await told()).toEqual(expect.arrayContaining(before));
  });

  it('a push to the hub is told once, with the id that its webhook has', async () => {
    const { http } = daemon;
    await http.ok('POST', '/hub/admin/users', { login: 'alice' });
    const scopes = ['repo', 'admin:repo_hook', 'write:packages'];
    const { token } = await http.ok<{ token: string }>('POST', '/hub/admin/users/alice/tokens', { scopes });
    const hub = new HubAt(daemon, { user: 'alice', token: () => token });
    for (const name of ['open', 'closed']) {
      const made = await hub.ask('POST', '/user/repos', { body: { name, private: name === 'closed' } });
      expect(made.status).toBe(201);
    }
    // Nobody listens there: what was sent is written down all the same.
    const config = { url: 'http://127.0.0.1:9/', content_type: 'json' };
    const hooks = '/repos/alice/open/hooks';
    const hook = await hub.ask('POST', hooks, { body: { config, events: ['push'] } });
    const deliveries = `${hooks}/${(hook.body as { id: number }).id}/deliveries`;
    const pushed = await hub.push('alice/open', 'v1', Buffer.from('a layer'));
    await hub.push('alice/closed', 'v1', Buffer.from('another'));
    const pushes = async (): Promise<{ id: number; event: string }[]> =>
      ((await hub.ask('GET', deliveries)).body as { id: number; event: string }[]).filter(
        ({ event }) => event === 'push',
      );
    await until('the delivery', async () => (await pushes()).length > 0);
    const selector = 'fieldSelector=reason=Pushed,regarding.kind=Repository';
    const pushesTold = async (): Promise<PushTold[]> =>
      (await http.ok<{ items: PushTold[] }>('GET', `${EVENTS}?${selector}`)).items;
    await until('both events', async () => (await pushesTold()).length === 2);
    const [delivery] = await pushes();
    const { body } = await hub.ask('GET', `${deliveries}/${delivery?.id}`);
    const { request } = body as { request: { headers: Record<string, string> } };
    const events = await pushesTold();
    const open = events.find(({ regarding }) => regarding.name === 'alice/open');
    expect(open).toMatchObject({ note: `v1 of alice/open is ${pushed.digest}` });
    expect(open?.metadata.annotations['berth.engine/occurrence']).toMatch(/^[0-9a-f]{32}$/);
    expect(request.headers['X-Svc-Occurrence']).toBe(open?.metadata.annotations['berth.engine/occurrence']);
    // Whoever looks at events may not look at a private repository.
    expect(JSON.stringify(events)).not.toContain('closed');
  });

  it('berthd cluster events lists them', async () => {
    const program = path.resolve(import.meta.dirname, '../../../dist/daemon/main.js');
    const listed = await daemon.netns.run(
      process.execPath,
      program,
      'cluster',
      'events',
      '--host',
      `unix://${daemon.paths.socket}`,
      '--namespace',
      'shop',
    );
    expect(listed).toMatch(/^NAMESPACE +LAST SEEN +TYPE +REASON +OBJECT +MESSAGE\n/);
    expect(listed).toMatch(
      /shop +\d+s +Warning +Failed +container\/web +container web has ended with code 3\n/,
    );
  });
});
