import { EventsV1Api, KubeConfig, Watch, type EventsV1Event } from '@kubernetes/client-node';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { serveCluster, type ServedCluster } from '../../support/cluster/serve-cluster.ts';
import { until } from '../../support/engine/http.ts';

let cluster: ServedCluster;
let config: KubeConfig;
let api: EventsV1Api;
beforeAll(async () => {
  cluster = await serveCluster();
  config = new KubeConfig();
  config.loadFromOptions({
    clusters: [{ name: 'berth', server: cluster.url, skipTLSVerify: true }],
    users: [{ name: 'writer', token: 'writer' }],
    contexts: [{ name: 'berth', cluster: 'berth', user: 'writer' }],
    currentContext: 'berth',
  });
  api = config.makeApiClient(EventsV1Api);
});
afterAll(() => cluster[Symbol.asyncDispose]());

function anEvent(name: string): EventsV1Event {
  return {
    metadata: { name },
    eventTime: new Date(),
    type: 'Warning',
    reason: 'BackOff',
    action: 'Restart',
    note: 'it does not stay up',
    reportingController: 'example.com/keeper',
    reportingInstance: 'host-1',
    regarding: { kind: 'Task', name: 'web.1', namespace: 'default' },
  };
}

const namespace = 'default';

test('client-node: creates, reads, lists, patches and deletes events', async () => {
  const made = await api.createNamespacedEvent({ namespace, body: anEvent('by-client') });
  expect(made.metadata?.uid).toMatch(/^[0-9a-f-]{36}$/);
  const read = await api.readNamespacedEvent({ namespace, name: 'by-client' });
  expect(read.note).toBe('it does not stay up');
  expect((await api.listEventForAllNamespaces({ fieldSelector: 'type=Warning' })).items).toHaveLength(1);
  const patched = await api.patchNamespacedEvent({
    namespace,
    name: 'by-client',
    body: [{ op: 'add', path: '/metadata/labels', value: { seen: 'yes' } }],
  });
  expect(patched.metadata?.labels).toEqual({ seen: 'yes' });
  await api.deleteNamespacedEvent({ namespace, name: 'by-client' });
  await expect(api.readNamespacedEvent({ namespace, name: 'by-client' })).rejects.toMatchObject({
    code: 404,
  });
  await api.createNamespacedEvent({ namespace, body: anEvent('one') });
  await api.deleteCollectionNamespacedEvent({ namespace });
  expect((await api.listNamespacedEvent({ namespace })).items).toEqual([]);
});

test('client-node: a watch goes on where another one ended', async () => {
  const seen: string[] = [];
  const watch = async (resourceVersion: string) =>
    await new Watch(config).watch(
      '/apis/events.k8s.io/v1/events',
      { resourceVersion, allowWatchBookmarks: true },
      (type, event: EventsV1Event) =>
        seen.push(`${type} ${event.metadata?.name} ${event.metadata?.resourceVersion}`),
      () => undefined,
    );
  const { metadata } = await api.listEventForAllNamespaces();
  const first = await watch(metadata?.resourceVersion ?? '');
  await api.createNamespacedEvent({ namespace, body: anEvent('w1') });
  await until('the first event', () => seen.length === 1);
  first.abort();
  await api.createNamespacedEvent({ namespace, body: anEvent('w2') });
  const second = await watch(seen[0]?.split(' ')[2] ?? '');
  await until('the second event', () => seen.length === 2);
  second.abort();
  expect(seen.map((line) => line.split(' ').slice(0, 2).join(' '))).toEqual(['ADDED w1', 'ADDED w2']);
});
