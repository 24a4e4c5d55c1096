import type { Worker } from 'node:worker_threads';
import { expect, onTestFinished, test } from 'vitest';
import { limits } from '../../../../daemon/base/limits.ts';
import { silentLogger } from '../../../../daemon/base/logger.ts';
import type { Courier, Errand } from '../../../../daemon/hub/deliveries/courier.ts';
import type { Intent } from '../../../../daemon/hub/deliveries/intent.ts';
import { opened } from '../../../../daemon/hub/deliveries/seal.ts';
import { CourierThread, startWorker } from '../../../../daemon/hub/deliveries/thread/courier-thread.ts';
import type { Hook } from '../../../../daemon/hub/hooks/hook.ts';
import { ManualClock } from '../../../support/fakes/manual-clock.ts';
import { pushed } from '../../../support/hub/occurrences.ts';
import { BASE_URL } from '../../../support/hub/open-hub.ts';
import { receiver } from '../../../support/hub/receiver.ts';

const SERVICES: Courier = {
  deliver: (errands) =>
    Promise.resolve(
      errands.map(({ intent: { id } }) => ({
        attempt: id,
        hook: 1,
        deliveredMs: 0,
        outcome: { status: 'OK', code: 299, hookStatus: 'active' },
        summary: '{}',
        body: Buffer.alloc(0),
      })),
    ),
};

function thread() {
  const workers: Worker[] = [];
  const clock = new ManualClock();
  const courier = new CourierThread({
    facts: { version: '0.1.0', hasCompatHeaders: false, allowedHosts: ['loopback'], baseUrl: BASE_URL },
    own: SERVICES,
    clock,
    log: silentLogger,
    start: (facts) => {
      const worker = startWorker(facts);
      workers.push(worker);
      return worker;
    },
  });
  onTestFinished(() => courier[Symbol.dispose]());
  return { courier, clock, workers };
}

const OCCURRENCE = pushed();

function errand(id: string, url: string, news: Intent['news']): Errand {
  const config = { url, contentType: 'json', secret: null, insecureSsl: '0' } as const;
  const hook: Hook = {
    id: 1,
    repository: 7,
    isActive: true,
    events: ['push'],
    config,
    createdMs: 0,
    updatedMs: 0,
  };
  const intent: Intent = {
    id,
    guid: `guid-${id}`,
    hook: 1,
    repository: 7,
    event: 'push',
    action: null,
    news,
    lastHook: null,
    attempt: 0,
    notBeforeMs: 0,
  };
  return { intent, hook, earlier: news.kind === 'again' ? '{"as":"before"}' : undefined };
}

test('deliveries are made on the thread, with one payload for an occurrence, and sealed there', async () => {
  await using target = await receiver();
  const { courier } = thread();
  const occurrence = { kind: 'occurrence', occurrence: OCCURRENCE } as const;
  const made = (
    await Promise.all([
      courier.deliver([errand('a', `${target.url}/a`, occurrence)]),
      courier.deliver([errand('b', `${target.url}/b`, occurrence)]),
      courier.deliver([errand('c', `${target.url}/c`, { kind: 'again', delivery: 3 })]),
      courier.deliver([errand('d', 'http://192.0.2.1/', occurrence)]),
    ])
  ).flat();
  expect(made.map(({ attempt, outcome: { code } }) => [attempt, code])).toEqual([
    ['a.0', 200],
    ['b.0', 200],
    ['c.0', 200],
    ['d.0', 502],
  ]);
  const bodies = ['/a', '/b', '/c'].map((path) => target.received.find((got) => got.path === path)?.body);
  expect(JSON.parse(bodies[0] ?? '')).toMatchObject({ ref: 'refs/tags/v1', repository: { id: 7 } });
  expect(bodies.slice(1)).toEqual([bodies[0], '{"as":"before"}']);
  expect(made.slice(0, 3).map((each, index) => opened(index, each))).toMatchObject(
    ['a', 'b', 'c'].map((id, index) => ({
      id: index,
      guid: `guid-${id}`,
      url: `${target.url}/${id}`,
      isRedelivery: id === 'c',
      request: { headers: { 'X-Svc-Delivery': `guid-${id}` }, payload: bodies[index] },
      response: { payload: 'ok' },
    })),
  );
});

test('deliveries of one hook are made in order, and those left that a slow receiver keeps waiting', async () => {
  await using target = await receiver();
  let answers = 0;
  target.answer = (res) => {
    answers += 1;
    setTimeout(() => res.end('ok'), answers === 2 ? limits.hubDeliveriesTogetherMs + 10 : 0);
  };
  const { courier } = thread();
  const errands = ['a', 'b', 'c'].map((id) => errand(id, target.url, { kind: 'again', delivery: 3 }));
  // The thread starts with the first one, which takes long.
  await courier.deliver(errands.slice(0, 1));
  expect((await courier.deliver(errands)).map(({ attempt }) => attempt)).toEqual(['a.0']);
  const made: string[] = [];
  while (made.length < 2) {
    // The second one is left again where the first took as long by itself.
    made.push(...(await courier.deliver(errands.slice(1 + made.length))).map(({ attempt }) => attempt));
  }
  expect(made).toEqual(['b.0', 'c.0']);
  expect(target.received.map(({ headers }) => headers['x-svc-delivery'])).toEqual(
    ['a', 'a', 'b', 'c'].map((id) => `guid-${id}`),
  );
});

test('what is for the engine itself does not go to the thread', async () => {
  const { courier, workers } = thread();
  const made = await courier.deliver([errand('a', 'engine://services/web', { kind: 'again', delivery: 3 })]);
  expect([made[0]?.outcome.code, workers.length]).toEqual([299, 0]);
});

test('what a thread that died had under way is made by the next one, with the same guid', async () => {
  await using target = await receiver();
  let isSilent = true;
  target.answer = (res) => {
    if (!isSilent) {
      res.end('ok');
    }
  };
  const { courier, clock, workers } = thread();
  const made = courier.deliver([errand('a', target.url, { kind: 'again', delivery: 3 })]);
  await expect.poll(() => target.received.length).toBe(1);
  isSilent = false;
  await workers[0]?.terminate();
  const late = courier.deliver([errand('b', target.url, { kind: 'again', delivery: 3 })]);
  await clock.advance(limits.hubDeliveriesRetryMs);
  expect((await Promise.all([made, late])).flat().map(({ outcome: { code } }) => code)).toEqual([200, 200]);
  expect(target.received.map(({ headers }) => String(headers['x-svc-delivery'])).toSorted()).toEqual([
    'guid-a',
    'guid-a',
    'guid-b',
  ]);
});
