import { armHere } from '../../../support/fakes/failpoints.ts';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { systemClock } from '../../../../daemon/base/clock.ts';
import { limits } from '../../../../daemon/base/limits.ts';
import { silentLogger } from '../../../../daemon/base/logger.ts';
import { BlobServer } from '../../../../swarm/blobs/blob-server.ts';
import { BlobsOfManagers } from '../../../../swarm/blobs/blobs-of-managers.ts';
import type { BlobOffer, OfferAnswer } from '../../../../swarm/protocol/blobs.ts';
import type { Identity } from '../../../../swarm/ca/identity.ts';
import { Dialer } from '../../../../swarm/rpc/dialer.ts';
import { RpcServer } from '../../../../swarm/rpc/server.ts';
import { MANAGER, nodeOf, ROOT, WORKER } from '../../../support/swarm/authority.ts';

/** Managers over real connections: which blobs they give each other, and how. */

const DIGEST = `sha256:${'a'.repeat(64)}`;
const BYTES = Buffer.alloc(1_500_000, 'blob');
const never = new AbortController().signal;

const credentialsOf = (identity: Identity) => {
  const { keyPem, certificate } = nodeOf(ROOT, identity);
  return {
    rootsPem: ROOT.certificate.pem,
    own: { certPem: certificate.pem, keyPem, cluster: identity.cluster },
  };
};
const own = credentialsOf(MANAGER);
const worker = credentialsOf(WORKER);

class Holder implements AsyncDisposable {
  bytes: Buffer | undefined;
  /** What it says of a blob that it does not hold, and what it was offered. */
  says: OfferAnswer = 'wanted';
  readonly offers: BlobOffer[] = [];
  readonly from: number[] = [];
  readonly #server: RpcServer;

  private constructor(server: RpcServer) {
    this.#server = server;
  }

  static async open(): Promise<Holder> {
    const server = await RpcServer.listen(
      {
        clock: systemClock,
        logger: silentLogger,
        credentials: () => own,
        blocked: () => new Map(),
        isManager: (node) => node === MANAGER.node,
      },
      { address: '127.0.0.1', port: 0 },
    );
    const holder = new Holder(server);
    const store = {
      open: (digest: string) => Promise.resolve(holder.#blob(digest)),
      offered: (offer: BlobOffer) => {
        holder.offers.push(offer);
        return Promise.resolve(holder.bytes === undefined ? holder.says : 'held');
      },
      take: async (_offer: BlobOffer, pieces: AsyncIterable<Buffer>) => {
        holder.bytes = await buffer(pieces);
      },
    };
    server.add(new BlobServer({ clock: systemClock, store }).methods);
    return holder;
  }

  get addr(): string {
    return `127.0.0.1:${this.#server.port}`;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#server[Symbol.asyncDispose]();
  }

  #blob(digest: string) {
    const { bytes } = this;
    return digest !== DIGEST || bytes === undefined
      ? undefined
      : {
          size: bytes.length,
          stream: (start: number, end: number) => {
            this.from.push(start);
            return Readable.from([bytes.subarray(start, end + 1)], { objectMode: false });
          },
          [Symbol.asyncDispose]: () => Promise.resolve(),
        };
  }
}

let holders: [Holder, Holder];
const dialers: Dialer[] = [];

beforeEach(async () => {
  armHere('');
  holders = [await Holder.open(), await Holder.open()];
});

afterEach(async () => {
  armHere('');
  dialers.splice(0).forEach((dialer) => dialer[Symbol.dispose]());
  for (const holder of holders) {
    await holder[Symbol.asyncDispose]();
  }
});

function asking(credentials = own): BlobsOfManagers {
  const dialer = new Dialer({ clock: systemClock, credentials: () => credentials });
  dialers.push(dialer);
  const blobs = new BlobsOfManagers({ clock: systemClock, logger: silentLogger });
  blobs.join({
    node: { id: 'me' },
    managers: () => holders.map(({ addr }, at) => ({ node: `m${at}`, addr })),
    dial: dialer.dial,
  });
  return blobs;
}

function read(blobs: BlobsOfManagers, size = BYTES.length): Promise<Buffer> {
  return buffer(blobs.read({ digest: DIGEST, size }, never));
}

test('a blob comes from whichever manager holds it', async () => {
  const blobs = asking();
  expect(await blobs.has(DIGEST, never)).toBe(false);
  await expect(read(blobs)).rejects.toThrow(/does not hold[^]*does not hold/);
  holders[1].bytes = BYTES;
  expect(await blobs.has(DIGEST, never)).toBe(true);
  expect((await read(blobs)).equals(BYTES)).toBe(true);
});

test('where a manager breaks off, the next one goes on', async () => {
  holders[0].bytes = BYTES;
  holders[1].bytes = BYTES;
  armHere('swarm.blobs.receive=error@2');
  expect((await read(asking())).equals(BYTES)).toBe(true);
  expect([holders[0].from, holders[1].from]).toEqual([[0], [512 * 1024]]);
});

test('a manager that cannot look counts as one without the blob, until it can', async () => {
  holders[0].bytes = BYTES;
  holders[1].bytes = BYTES;
  const blobs = asking();
  armHere('swarm.blobs.find=error@1');
  expect(await blobs.has(DIGEST, never)).toBe(true);
  armHere('swarm.blobs.find=error');
  expect(await blobs.has(DIGEST, never)).toBe(false);
  armHere('');
  expect(await blobs.has(DIGEST, never)).toBe(true);
});

test.each([
  ['swarm.blobs.read=error@1', [], [0]],
  ['swarm.blobs.piece=error@1', [0], [0]],
  ['swarm.blobs.piece=error@2', [0], [limits.swarmImagePieceBytes]],
])('after %s at a manager the next one gives what is missing', async (failure, first, second) => {
  holders[0].bytes = BYTES;
  holders[1].bytes = BYTES;
  armHere(failure);
  expect((await read(asking())).equals(BYTES)).toBe(true);
  expect([holders[0].from, holders[1].from]).toEqual([first, second]);
});

test.each(['swarm.blobs.read', 'swarm.blobs.piece'])(
  'where all fail at %s, the next attempt succeeds',
  async (step) => {
    holders[0].bytes = BYTES;
    holders[1].bytes = BYTES;
    const blobs = asking();
    // More often than a manager gives blobs at once: a failure keeps no slot.
    armHere(`${step}=error`);
    for (let attempt = 0; attempt < 10; attempt += 1) {
      await expect(read(blobs)).rejects.toThrow(/manager 127[^]*manager 127/);
    }
    armHere('');
    expect((await read(blobs)).equals(BYTES)).toBe(true);
  },
);

test('a manager that gave other bytes is asked last', async () => {
  holders[0].bytes = Buffer.alloc(BYTES.length, 'other');
  holders[1].bytes = BYTES;
  const blobs = asking();
  expect((await read(blobs)).equals(BYTES)).toBe(false);
  blobs.judge(DIGEST, false);
  expect((await read(blobs)).equals(BYTES)).toBe(true);
  blobs.judge(DIGEST, true);
  expect([holders[0].from, holders[1].from]).toEqual([[0], [0]]);
});

test('a blob of another size than the record says is refused', async () => {
  holders[0].bytes = BYTES;
  await expect(read(asking(), 100)).rejects.toThrow(/more than the 100 bytes/);
  await expect(read(asking(), BYTES.length + 1)).rejects.toThrow(/ends after 1500000/);
});

test('a worker gets none', async () => {
  holders[0].bytes = BYTES;
  const blobs = asking(worker);
  expect(await blobs.has(DIGEST, never)).toBe(false);
  await expect(read(blobs)).rejects.toThrow(/manager 127/);
});

test('outside of a swarm nobody is asked', async () => {
  const blobs = new BlobsOfManagers({ clock: systemClock, logger: silentLogger });
  expect(await blobs.has(DIGEST, never)).toBe(false);
  await expect(read(blobs)).rejects.toThrow('there is no other manager');
});

const offer = (changes: Partial<BlobOffer> = {}): BlobOffer => ({
  digest: DIGEST,
  size: BYTES.length,
  isPush: true,
  ...changes,
});
const pieces = (bytes = BYTES): AsyncIterable<Buffer> => Readable.from([bytes], { objectMode: false });

test('a blob is offered to a manager and given where it is wanted', async () => {
  const blobs = asking();
  expect(blobs.others()).toEqual(['m0', 'm1']);
  expect(await blobs.offer('m1', offer(), never)).toBe('wanted');
  await blobs.give('m1', offer(), pieces(), never);
  expect(holders[1].bytes?.equals(BYTES)).toBe(true);
  expect(await blobs.offer('m1', offer(), never)).toBe('held');
  expect(holders[0].bytes).toBe(undefined);
  // Whoever gives what is held already is not refused.
  await blobs.give('m1', offer(), pieces(), never);
  await expect(blobs.offer('m7', offer(), never)).rejects.toThrow('node m7 is no other manager');
});

test('what is not wanted is not taken, nor what has other bytes than were offered', async () => {
  const blobs = asking();
  holders[0].says = 'no-hub';
  expect(await blobs.offer('m0', offer(), never)).toBe('no-hub');
  await expect(blobs.give('m0', offer(), pieces(), never)).rejects.toThrow('does not take');
  holders[0].says = 'wanted';
  await expect(blobs.give('m0', offer({ size: 10 }), pieces(), never)).rejects.toThrow(
    /more than its 10 bytes/,
  );
  await expect(blobs.offer('m0', offer({ digest: 'sha256:none' }), never)).rejects.toThrow('digest is none');
  await expect(blobs.offer('m0', offer({ size: -1 }), never)).rejects.toThrow('size is no number');
  expect(holders[0].bytes).toBe(undefined);
});

test('a worker may offer what records name, and never for a push', async () => {
  const blobs = asking(worker);
  expect(await blobs.offer('m0', offer(), never)).toBe('wanted');
  await blobs.give('m0', offer(), pieces(), never);
  expect(holders[0].offers.map(({ isPush }) => isPush)).toEqual([false, false]);
});

test.each(['swarm.blobs.offer', 'swarm.blobs.give', 'swarm.blobs.given'])(
  'where giving fails at %s the giver is told, and the next attempt succeeds',
  async (step) => {
    const blobs = asking();
    // More often than a manager takes blobs at once: a failure keeps no slot.
    armHere(`${step}=error`);
    for (let attempt = 0; attempt < 10; attempt += 1) {
      await expect(blobs.give('m0', offer(), pieces(), never)).rejects.toThrow(step);
    }
    armHere('');
    await blobs.give('m0', offer(), pieces(), never);
    expect(holders[0].bytes?.equals(BYTES)).toBe(true);
  },
);
