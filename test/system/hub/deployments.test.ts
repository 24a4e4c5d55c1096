import { afterAll, beforeAll, expect, it } from 'vitest';
import type { ServiceInspect } from '../../../api/types/swarm/service.ts';
import { TestDaemon } from '../../support/engine/daemon.ts';
import { until } from '../../support/engine/http.ts';
import { hasGithubSchemas, schemaProblems } from '../../support/hub/github-schemas.ts';
import { needs } from '../../support/needs.ts';

const HUB = '127.0.0.1:5010';
const HOOKS = '/hub/repos/alice/app/hooks';

interface Delivered {
  id: number;
  event: string;
  request: { payload: Record<string, { state?: string; sha?: string; environment?: string }> };
}

needs(
  'root',
  'built',
  'busybox',
  'etcd',
  'netns',
)('deployments of images of the hub', () => {
  let daemon: TestDaemon;
  let hook: number;

  beforeAll(async () => {
    daemon = await TestDaemon.start({ config: { hub: { address: HUB } } });
    await daemon.loadBusybox();
    const address = '127.0.0.1:2377';
    await daemon.http.ok('POST', '/swarm/init', { ListenAddr: address, AdvertiseAddr: address });
    await daemon.http.ok('POST', '/hub/admin/users', { login: 'alice' });
    await daemon.http.ok('POST', '/hub/admin/repositories', { owner: 'alice', name: 'app' });
    await push('1');
    // Nobody listens there: what was sent is kept all the same.
    const body = { config: { url: 'http://127.0.0.1:9/' }, events: ['deployment', 'deployment_status'] };
    hook = (await daemon.http.ok<{ id: number }>('POST', HOOKS, body)).id;
  });
  afterAll(async () => {
    await daemon[Symbol.asyncDispose]();
  });

  async function push(tag: string): Promise<void> {
    const scopes = ['write:packages'];
    const { token } = await daemon.http.ok<{ token: string }>('POST', '/hub/admin/users/alice/tokens', {
      scopes,
    });
    const name = encodeURIComponent(`${HUB}/alice/app`);
    await daemon.http.ok('POST', `/images/busybox/tag?repo=${name}&tag=${tag}`);
    const auth = { username: 'alice', password: token, serveraddress: HUB };
    const { text } = await daemon.http.request('POST', `/images/${name}/push?tag=${tag}`, {
      headers: { 'X-Registry-Auth': Buffer.from(JSON.stringify(auth)).toString('base64url') },
    });
    expect(text).toContain('digest: sha256:');
  }

  /** What was sent to the hook, oldest first. */
  async function delivered(): Promise<Delivered[]> {
    const list = await daemon.http.ok<{ id: number }[]>('GET', `${HOOKS}/${hook}/deliveries?per_page=100`);
    return await Promise.all(
      list
        .toReversed()
        .map(({ id }) => daemon.http.ok<Delivered>('GET', `${HOOKS}/${hook}/deliveries/${id}`)),
    );
  }

  const steps = async (): Promise<string[]> =>
    (await delivered())
      .filter(({ event }) => event !== 'ping')
      .map(({ event, request: { payload } }) =>
        `${event} ${payload['deployment_status']?.state ?? ''}`.trim(),
      );

  it('a service that is made, updated and killed in between tells each step once', async () => {
    const spec = {
      Name: 'web',
      TaskTemplate: {
        ContainerSpec: { Image: `${HUB}/alice/app:1`, Command: ['sleep', '1000'] },
        Networks: [{ Target: 'none' }],
      },
      UpdateConfig: { Monitor: 100_000_000 },
    };
    await daemon.http.ok('POST', '/services/create', spec);
    await until('it to run', async () => (await steps()).at(-1) === 'deployment_status success');
    const first = await steps();
    expect([first[0], first.filter((step) => step === 'deployment').length]).toEqual(['deployment', 1]);
    await daemon.restart();
    await until('the manager', async () => (await daemon.http.request('GET', '/services')).status === 200);
    const service = await daemon.http.ok<ServiceInspect>('GET', '/services/web');
    const TaskTemplate = { ...service.Spec.TaskTemplate, ForceUpdate: 1 };
    await daemon.http.ok('POST', `/services/web/update?version=${service.Version.Index}`, {
      ...service.Spec,
      TaskTemplate,
    });
    await until('the update', async () => {
      const now = await steps();
      return now.length > first.length && now.at(-1) === 'deployment_status success';
    });
    const then = (await steps()).slice(first.length);
    expect(then.slice(0, 2)).toEqual(['deployment_status inactive', 'deployment']);
    expect(then).toContain('deployment_status in_progress');
    await daemon.http.ok('DELETE', '/services/web');
    await until('the end', async () => (await steps()).at(-1) === 'deployment_status inactive');
    if (hasGithubSchemas()) {
      const problems = (await delivered()).flatMap(({ event, request: { payload } }) =>
        event === 'ping'
          ? []
          : schemaProblems('payloads', `webhook-${event.replace('_', '-')}-created`, payload),
      );
      expect(problems).toEqual([]);
    }
    const { payload } = (await delivered()).find(({ event }) => event === 'deployment')?.request ?? {};
    expect(payload?.['deployment']).toMatchObject({ environment: 'web', ref: '1', sha: expect.any(String) });
  });
});
