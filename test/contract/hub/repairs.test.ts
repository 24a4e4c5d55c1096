import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { KeyedMutex } from '../../../daemon/base/concurrency/mutex.ts';
import { EngineError } from '../../../daemon/base/errors.ts';
import { limits } from '../../../daemon/base/limits.ts';
import { silentLogger } from '../../../daemon/base/logger.ts';
import { Arrivals } from '../../../daemon/hub/registry/peers/arrivals.ts';
import { Repairs } from '../../../daemon/hub/registry/peers/repairs.ts';
import { HubBlobFiles } from '../../../storage/hub-blobs/blob-files.ts';
import { until } from '../../support/engine/http.ts';
import { armHere } from '../../support/fakes/failpoints.ts';
import { ManualClock } from '../../support/fakes/manual-clock.ts';
import { digestOf } from '../../support/hub/registry-client.ts';

/** What too few managers hold is copied to others, over real files. */

const BLOBS = ['one', 'two', 'three'].map((text) => Buffer.from(text));
const NAMED = BLOBS.map((bytes) => ({ digest: digestOf(bytes), repository: 1 }));

interface Host {
  files: HubBlobFiles;
  arrivals: Arrivals;
  isUp: boolean;
  repairs: Repairs;
  copied: number;
}

const isUsed = (digest: string): boolean => NAMED.some((one) => one.digest === digest);

let clock: ManualClock;
let folder: string;
let hosts: Map<string, Host>;

beforeEach(() => {
  armHere('');
  clock = new ManualClock();
  folder = mkdtempSync(path.join(tmpdir(), 'bth-repairs-'));
  hosts = new Map();
});
afterEach(() => {
  armHere('');
  hosts.forEach(({ repairs }) => repairs[Symbol.dispose]());
  rmSync(folder, { recursive: true, force: true });
});

function upHost(name: string): Host {
  const host = hosts.get(name);
  if (host?.isUp !== true) {
    throw new EngineError('unavailable', 'it does not answer');
  }
  return host;
}

/** A manager whose records name all blobs, and that holds some of them. */
async function add(name: string, ...held: number[]): Promise<Host> {
  const files = await HubBlobFiles.open(path.join(folder, name));
  for (const index of held) {
    await files.put(NAMED[index]?.digest ?? '', BLOBS[index] ?? Buffer.alloc(0));
  }
  const arrivals = new Arrivals({ files, locks: new KeyedMutex(), clock, isUsed });
  const repairs = new Repairs({
    clock,
    log: silentLogger,
    host: name,
    peers: {
      others: () => [...hosts.keys()].filter((other) => other !== name),
      offer: async (other, offer) => await upHost(other).arrivals.offered(offer),
      give: (other, offer, bytes) => upHost(other).arrivals.take(offer, bytes),
    },
    named: () => NAMED,
    size: (digest) => files.size(digest),
    open: (digest) => files.open(digest),
    repaired: () => (host.copied += 1),
  });
  const host = { files, arrivals, isUp: true, repairs, copied: 0 };
  hosts.set(name, host);
  repairs.start();
  return host;
}

async function copiesOf(index: number): Promise<string[]> {
  const found: string[] = [];
  for (const [name, { files, isUp }] of hosts) {
    if (isUp && (await files.size(NAMED[index]?.digest ?? '')) !== undefined) {
      found.push(name);
    }
  }
  return found;
}

/** Lets the loops come to their rest: a look, with all of its pauses. */
async function look(ms = limits.hubRepairLookMs): Promise<void> {
  await clock.advance(ms);
  await until('the loops to wait', async () => {
    await clock.advance(limits.hubRepairPauseMs);
    const isAtRest = clock.pendingMs.every((left) => left > limits.hubRepairPauseMs);
    return isAtRest && clock.pendingMs.length === [...hosts.values()].length;
  });
}

const allTwice = async (): Promise<boolean> =>
  (await Promise.all(NAMED.map((_, index) => copiesOf(index)))).every((names) => names.length === 2);

test('a manager that is removed: each blob it held is made again, once, and no other', async () => {
  const [one, two] = [await add('n1', 0, 1), await add('n2', 1, 2)];
  const three = await add('n3', 0, 2);
  await look();
  expect([one.copied, two.copied, three.copied]).toEqual([0, 0, 0]);
  three.repairs[Symbol.dispose]();
  hosts.delete('n3');
  await look();
  await until('two copies of each', allTwice);
  await until('both to be counted', () => one.copied + two.copied >= 2);
  // n1 gives the first blob and n2 the third; both had the second.
  expect([one.copied, two.copied]).toEqual([1, 1]);
});

test('a manager that does not answer counts until it is lost; a copy that fails is made in the next look', async () => {
  const [one, two, three] = [await add('n1', 0, 1), await add('n2', 1, 2), await add('n3', 0, 2)];
  three.isUp = false;
  three.repairs[Symbol.dispose]();
  await clock.advance(limits.hubPeerLostMs - limits.hubRepairLookMs);
  expect([one.copied, two.copied]).toEqual([0, 0]);
  armHere('hub.repair.give=error@1');
  await clock.advance(2 * limits.hubRepairLookMs);
  await until('the next look', async () => {
    await clock.advance(limits.hubRepairRetryMs);
    return await allTwice();
  });
  // A copy is there a moment before it is counted.
  await until('both to be counted', () => one.copied + two.copied >= 2);
  expect([one.copied, two.copied]).toEqual([1, 1]);
});
