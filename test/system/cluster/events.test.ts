import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { TestDaemon } from '../../support/engine/daemon.ts';
import { until } from '../../support/engine/http.ts';
import { needsEngine } from '../../support/needs.ts';

const EVENTS = '/cluster/apis/events.k8s.io/v1/events';

interface Listed {
  items: {
    metadata: { namespace: string };
    reason: string;
    type: string;
    regarding: { kind: string; name: string };
  }[];
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
