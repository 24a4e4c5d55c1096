import { afterEach, beforeEach, expect, test } from 'vitest';
import type { ContainerStats } from '../../../../api/types/container-stats.ts';
import type { ContainerSample } from '../../../../runtime/cgroups/sample.ts';
import { ContainerRig } from '../../../support/fakes/container-rig.ts';
import { settled } from '../../../support/fakes/manual-clock.ts';

let rig: ContainerRig;

beforeEach(async () => {
  rig = await ContainerRig.make();
});

afterEach(() => rig[Symbol.dispose]());

const SAMPLE: ContainerSample = {
  cpu: {
    totalNs: 5,
    kernelNs: 2,
    userNs: 3,
    perCpuNs: undefined,
    periods: 0,
    throttledPeriods: 0,
    throttledNs: 0,
  },
  memory: { usageBytes: 1, maxUsageBytes: undefined, failCount: 0, limitBytes: Infinity, stat: {} },
  pids: { current: 1, limit: undefined },
  block: { serviceBytes: [], serviced: [] },
  interfaces: {},
};

function open(id: string): { iterator: AsyncIterator<ContainerStats>; hangUp: () => void } {
  const client = new AbortController();
  const stream = rig.containers.statsStream(id, { signal: client.signal });
  return { iterator: stream[Symbol.asyncIterator](), hangUp: () => client.abort() };
}

async function running(): Promise<string> {
  const id = await rig.run();
  rig.runtime.control.samples.set(id, SAMPLE);
  return id;
}

test('stats: one sample a second, whatever the number of clients, and none without', async () => {
  const id = await running();
  const clients = Array.from({ length: 20 }, () => open(id));
  await Promise.all(clients.map(({ iterator }) => iterator.next()));
  expect(rig.runtime.control.samplesTaken).toBe(1);
  const second = Promise.all(clients.map(({ iterator }) => iterator.next()));
  await settled();
  await rig.clock.advance(1000);
  await second;
  expect(rig.runtime.control.samplesTaken).toBe(2);
  // Hanging up wakes those who wait.
  const ends = Promise.all(clients.map(({ iterator }) => iterator.next()));
  clients.forEach(({ hangUp }) => hangUp());
  expect((await ends).every(({ done }) => done === true)).toBe(true);
  await rig.clock.advance(5000);
  expect(rig.runtime.control.samplesTaken).toBe(2);
});

test('stats: a slow client gets the newest sample, and the one it had before', async () => {
  const id = await running();
  const { iterator, hangUp } = open(id);
  const first = (await iterator.next()).value as ContainerStats;
  for (let second = 0; second < 10; second += 1) {
    await rig.clock.advance(1000);
  }
  const next = (await iterator.next()).value as ContainerStats;
  expect(next.preread).toBe(first.read);
  expect(Date.parse(next.read) - Date.parse(first.read)).toBe(10_000);
  hangUp();
});

test('stats: a removed container ends its streams', async () => {
  const id = await running();
  const { iterator } = open(id);
  await iterator.next();
  const end = iterator.next();
  await rig.containers.remove(id, { volumes: false, force: true, link: false });
  expect((await end).done).toBe(true);
});
