import { armHere } from '../../support/fakes/failpoints.ts';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { KeyedMutex } from '../../../daemon/base/concurrency/mutex.ts';
import { EngineError } from '../../../daemon/base/errors.ts';
import { limits } from '../../../daemon/base/limits.ts';
import { silentLogger } from '../../../daemon/base/logger.ts';
import { Arrivals } from '../../../daemon/hub/registry/peers/arrivals.ts';
import { Copies } from '../../../daemon/hub/registry/peers/copies.ts';
import { handOver } from '../../../daemon/hub/registry/peers/hand-over.ts';
import type { BlobPeers } from '../../../daemon/hub/registry/peers/port.ts';
import { HubBlobFiles } from '../../../storage/hub-blobs/blob-files.ts';
import { ManualClock } from '../../support/fakes/manual-clock.ts';
import { digestOf } from '../../support/hub/registry-client.ts';

/** What is pushed is held by other managers, over real files. */

const BYTES = Buffer.alloc(700_000, 'blob');
const BLOB = { digest: digestOf(BYTES), size: BYTES.length };
const EMPTY = { digest: digestOf(''), size: 0 };

interface Host {
  files: HubBlobFiles;
  arrivals: Arrivals;
  /** What it is to those that ask: there, gone, or without a hub. */
  is: 'up' | 'down' | 'no-hub';
}

const clock = new ManualClock();
let folder: string;
let own: HubBlobFiles;
let hosts: Map<string, Host>;
/** Digests that records of the others name. */
let named: Set<string>;
const never = new AbortController().signal;

beforeEach(async () => {
  armHere('');
  folder = mkdtempSync(path.join(tmpdir(), 'bth-copies-'));
  own = await HubBlobFiles.open(path.join(folder, 'own'));
  await own.put(BLOB.digest, BYTES);
  await own.put(EMPTY.digest, Buffer.alloc(0));
  hosts = new Map();
  named = new Set();
});
afterEach(() => {
  armHere('');
  rmSync(folder, { recursive: true, force: true });
});

async function addHosts(...names: string[]): Promise<void> {
  for (const name of names) {
    const files = await HubBlobFiles.open(path.join(folder, name));
    const arrivals = new Arrivals({
      files,
      locks: new KeyedMutex(),
      clock,
      isUsed: (digest) => named.has(digest),
    });
    hosts.set(name, { files, arrivals, is: 'up' });
  }
}

function hostOf(name: string): Host {
  const host = hosts.get(name);
  if (host === undefined || host.is === 'down') {
    throw new EngineError('unavailable', 'it does not answer');
  }
  return host;
}

const peers: BlobPeers = {
  has: () => Promise.resolve(false),
  read: () => {
    throw new Error('nobody reads');
  },
  judge: () => undefined,
  others: () => [...hosts.keys()],
  offer: async (name, offer) => {
    const host = hostOf(name);
    return host.is === 'no-hub' ? 'no-hub' : await host.arrivals.offered(offer);
  },
  give: (name, offer, bytes) => hostOf(name).arrivals.take(offer, bytes),
};

function copies(replicas = 0): Copies {
  return new Copies({
    clock,
    log: silentLogger,
    peers,
    replicas,
    holds: async ({ digest }) => (await own.size(digest)) !== undefined,
    open: (digest) => own.open(digest),
  });
}

async function holders(digest = BLOB.digest): Promise<string[]> {
  const found: string[] = [];
  for (const [name, { files }] of hosts) {
    if ((await files.size(digest)) !== undefined) {
      found.push(name);
    }
  }
  return found;
}

test.each([
  ['of two managers', ['n2'], 0, 0],
  ['of three', ['n2', 'n3'], 0, 1],
  ['of five', ['n2', 'n3', 'n4', 'n5'], 0, 1],
  ['of two that are both to hold it', ['n2'], 2, 1],
  ['of three that all are to hold it', ['n2', 'n3'], 3, 2],
  ['of three where one is enough', ['n2', 'n3'], 1, 0],
])('%s as many hold a push as have to', async (_title, names, replicas, others) => {
  await addHosts(...names);
  await copies(replicas).hold(1, [BLOB, EMPTY]);
  expect((await holders()).length).toBe(others);
  expect(await holders(EMPTY.digest)).toEqual(await holders());
});

test('images of one repository go to the same manager; where it is away the other one takes them', async () => {
  await addHosts('n2', 'n3');
  using made = copies();
  await made.hold(1, [BLOB]);
  const [first = ''] = await holders();
  await made.hold(1, [EMPTY]);
  expect(await holders(EMPTY.digest)).toEqual([first]);
  hostOf(first).is = 'down';
  await made.hold(1, [BLOB]);
  expect((await holders()).length).toBe(2);
});

test('where too few can, UNAVAILABLE says why; when they can, the same push succeeds', async () => {
  await addHosts('n2', 'n3');
  const all = [...hosts.values()];
  all.forEach((host) => {
    host.is = 'down';
  });
  using made = copies();
  await expect(made.hold(1, [BLOB])).rejects.toMatchObject({
    code: 'unavailable',
    message: expect.stringMatching(/^1 of 2 managers hold what was pushed.*n[23]: it does not answer.*n[23]/),
    details: { registry: { code: 'UNAVAILABLE' } },
  });
  all.forEach((host) => {
    host.is = 'up';
  });
  await made.hold(1, [BLOB]);
  expect((await holders()).length).toBe(1);
});

test('managers without a hub do not count, unless a number is set', async () => {
  await addHosts('n2', 'n3');
  hostOf('n2').is = 'no-hub';
  hostOf('n3').is = 'no-hub';
  await copies().hold(1, [BLOB]);
  await expect(copies(2).hold(1, [BLOB])).rejects.toThrow('1 of 2 managers');
});

test('a manager that lacks a blob itself does not count', async () => {
  await addHosts('n2', 'n3');
  await own.remove(BLOB.digest);
  await expect(copies().hold(1, [BLOB])).rejects.toThrow(/0 of 2.*this one lacks some of it/);
});

test('other bytes than were offered are refused, and nothing of them stays', async () => {
  await addHosts('n2', 'n3');
  await own.put(BLOB.digest, Buffer.alloc(BLOB.size, 'other'));
  await expect(copies().hold(1, [BLOB])).rejects.toThrow(/what came has the digest/);
  expect(await holders()).toEqual([]);
  expect(['n2', 'n3'].flatMap((name) => readdirSync(path.join(folder, name, 'tmp')))).toEqual([]);
});

test('what a push waits for stays without a record for a while, and nothing else does', async () => {
  await addHosts('n2', 'n3');
  await copies().hold(1, [BLOB]);
  const [name = ''] = await holders();
  const { arrivals } = hostOf(name);
  expect(arrivals.isPromised(BLOB.digest)).toBe(true);
  expect(await arrivals.offered({ ...EMPTY, isPush: false })).toBe('unwanted');
  expect(arrivals.isPromised(EMPTY.digest)).toBe(false);
  await clock.advance(limits.hubPromisedMs);
  expect(arrivals.isPromised(BLOB.digest)).toBe(false);
});

test.each(['hub.copies.offer', 'hub.copies.give'])(
  'after a failure at %s the other one takes it',
  async (step) => {
    await addHosts('n2', 'n3');
    armHere(`${step}=error@1`);
    await copies().hold(1, [BLOB]);
    armHere(`${step}=error`);
    await expect(copies(3).hold(1, [EMPTY])).rejects.toThrow(step);
  },
);

test('a host that goes hands over what it alone holds and records name, and nothing else', async () => {
  await addHosts('n2', 'n3');
  const [one, other] = [hostOf('n2'), hostOf('n3')];
  const unnamed = Buffer.from('no record names it');
  await own.put(digestOf(unnamed), unnamed);
  await other.files.put(EMPTY.digest, Buffer.alloc(0));
  named.add(BLOB.digest).add(EMPTY.digest);
  armHere('hub.handover.give=error@1');
  const given = { files: own, peers, log: silentLogger };
  expect(await handOver(given, never)).toEqual([]);
  expect((await holders()).length).toBe(1);
  expect([await holders(EMPTY.digest), await holders(digestOf(unnamed))]).toEqual([['n3'], []]);
  // What nobody can take is told, and taken later.
  await one.files.remove(BLOB.digest);
  await other.files.remove(BLOB.digest);
  armHere('hub.handover.give=error');
  expect(await handOver(given, never)).toEqual([BLOB.digest]);
  one.is = 'down';
  other.is = 'down';
  expect((await handOver(given, never)).toSorted()).toEqual((await own.digests()).toSorted());
  one.is = 'up';
  armHere('');
  expect(await handOver(given, never)).toEqual([]);
  expect(await holders()).toEqual(['n2']);
  expect(await handOver(given, AbortSignal.abort())).toHaveLength(3);
});
