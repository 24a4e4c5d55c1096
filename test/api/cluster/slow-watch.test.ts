import http from 'node:http';
import { expect, test } from 'vitest';
import { anEvent } from '../../support/cluster/event.ts';
import { serveCluster } from '../../support/cluster/serve-cluster.ts';
import { watchEvents } from '../../support/cluster/watch-client.ts';
import { until } from '../../support/engine/http.ts';

const PATH = '/apis/events.k8s.io/v1/events?watch=true';
const COUNT = 12_000;

test('events: a watch that does not read is cut, and one that reads misses nothing', async () => {
  await using cluster = await serveCluster();
  using reading = watchEvents(cluster.port, PATH);
  const request = http.get({
    host: '127.0.0.1',
    port: cluster.port,
    path: PATH,
    headers: { Authorization: 'Bearer reader' },
  });
  const response = await new Promise<http.IncomingMessage>((resolve) => request.once('response', resolve));
  response.pause();
  const write = { fields: 'events', isDryRun: false, manager: undefined } as const;
  for (let from = 0; from < COUNT; from += 500) {
    const names = Array.from({ length: 500 }, (_none, index) => `event-${from + index}`);
    const events = names.map((name) =>
      anEvent(name, { metadata: { name, namespace: 'default' }, note: 'n'.repeat(1_000) }),
    );
    await Promise.all(events.map((event) => cluster.events.create(event, write)));
    // Or it would not read either: it is a client in the process that creates them.
    await reading.reached(from + 500);
  }
  response.on('error', () => undefined);
  let bytes = 0;
  response.on('data', (piece: Buffer) => (bytes += piece.length)).resume();
  await until('the end of the watch that did not read', () => response.closed);
  expect([response.complete, bytes > 0, bytes < COUNT * 1_000]).toEqual([false, true, true]);
});
