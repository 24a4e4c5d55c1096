import { armHere } from '../../../support/fakes/failpoints.ts';
import { Readable } from 'node:stream';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { systemClock } from '../../../../daemon/base/clock.ts';
import { limits } from '../../../../daemon/base/limits.ts';
import { silentLogger } from '../../../../daemon/base/logger.ts';
import type { Identity } from '../../../../swarm/ca/identity.ts';
import { ImageServer } from '../../../../swarm/images/image-server.ts';
import { ImagesOfManagers } from '../../../../swarm/images/images-of-managers.ts';
import type { StoredImage, WantedImage } from '../../../../swarm/images/ports.ts';
import { put, type Write } from '../../../../swarm/objects/parts.ts';
import { TaskState } from '../../../../swarm/objects/task-state.ts';
import { ClusterState } from '../../../../swarm/planner/state/cluster-state.ts';
import { Dialer } from '../../../../swarm/rpc/dialer.ts';
import { RpcServer } from '../../../../swarm/rpc/server.ts';
import { MANAGER, nodeOf, ROOT, WORKER } from '../../../support/swarm/authority.ts';
import { nodeWrites, serviceWrites, taskRecord, taskStatus } from '../../../support/swarm/builders.ts';

/** Managers and a worker, over real connections: which images a node gets, and how. */

const HOST = { os: 'linux', architecture: 'amd64' };
const never = new AbortController().signal;
const credentialsOf = (identity: Identity) => {
  const { keyPem, certificate } = nodeOf(ROOT, identity);
  return {
    rootsPem: ROOT.certificate.pem,
    own: { certPem: certificate.pem, keyPem, cluster: identity.cluster },
  };
};
const manager = credentialsOf(MANAGER);
const worker = credentialsOf(WORKER);

/** A manager with images of its own; all know the same tasks. */
class Manager implements AsyncDisposable {
  readonly images = new Map<string, Partial<StoredImage> & { id: string; layers?: Buffer[] }>();
  /** Layers that are being read. */
  readonly reading = new Set<Readable>();
  readonly asked: string[] = [];
  server!: RpcServer;
  addr = '';

  static async open(state: ClusterState): Promise<Manager> {
    const made = new Manager();
    made.server = await RpcServer.listen(
      {
        clock: systemClock,
        logger: silentLogger,
        credentials: () => manager,
        blocked: () => new Map(),
        isManager: () => true,
      },
      { address: '127.0.0.1', port: 0 },
    );
    made.addr = `127.0.0.1:${made.server.port}`;
    const store = { platform: HOST, find: made.find.bind(made) };
    made.server.add(new ImageServer({ clock: systemClock, cluster: { state }, store }).methods);
    return made;
  }

  find(image: string, wanted?: WantedImage): StoredImage | undefined {
    this.asked.push(image);
    const others = this.images.get(`${image} for ${JSON.stringify(wanted)}`);
    const found = others ?? this.images.get(image);
    const layers = found?.layers ?? [];
    return (
      found && {
        ...HOST,
        taggedNano: 1n,
        describe: () => ({ config: Buffer.from(found.id), layerBytes: layers.map(({ length }) => length) }),
        readLayer: (position) => {
          const stream = Readable.from(chunksOf(layers[position] ?? Buffer.alloc(0)), { objectMode: false });
          this.reading.add(stream);
          stream.once('close', () => this.reading.delete(stream));
          return stream;
        },
        ...found,
      }
    );
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.server[Symbol.asyncDispose]();
  }
}

let state: ClusterState;
let managers: [Manager, Manager];
let dialer: Dialer;
let node: ImagesOfManagers;

const apply = (...writes: Write[]): void => writes.forEach((write) => state.apply(write));
const task = (id: string, image: string, to: string, desired: TaskState = TaskState.running): Write[] => [
  ...serviceWrites(`of-${id}`, { TaskTemplate: { ContainerSpec: { Image: image } } }),
  put('task', taskRecord(id, `of-${id}`, { node: to, slot: 1, desired })),
];

beforeEach(async () => {
  armHere('');
  state = new ClusterState();
  apply(...nodeWrites(MANAGER.node), ...nodeWrites(WORKER.node), ...task('t1', 'web', WORKER.node));
  managers = [await Manager.open(state), await Manager.open(state)];
  dialer = new Dialer({ clock: systemClock, credentials: () => worker });
  node = new ImagesOfManagers({ clock: systemClock, logger: silentLogger, platform: HOST });
  node.join({
    node: { id: WORKER.node },
    managers: () => managers.map(({ addr }, at) => ({ node: `m${at}`, addr })),
    dial: dialer.dial,
  });
});

afterEach(async () => {
  armHere('');
  dialer[Symbol.dispose]();
  await Promise.all(managers.map((one) => one[Symbol.asyncDispose]()));
});

/** As a thread brings it. */
function* chunksOf(bytes: Buffer): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += 300_000) {
    yield bytes.subarray(at, at + 300_000);
  }
}

async function bytesOf(pieces: AsyncIterable<Buffer>): Promise<Buffer> {
  const all: Buffer[] = [];
  for await (const piece of pieces) {
    all.push(piece);
  }
  return Buffer.concat(all);
}

/** A call of the worker's on the first manager. */
async function call(method: string, body: unknown): Promise<unknown> {
  using client = dialer.dial(managers[0].addr);
  for await (const value of client.stream(method, body, never)) {
    return value;
  }
  return undefined;
}

test('find: the image that was named last comes first, with all that have it', async () => {
  managers[0].images.set('web', { id: 'sha256:a', taggedNano: 5n });
  managers[1].images.set('web', { id: 'sha256:b', taggedNano: 6n });
  const offers = await node.find('web', never);
  expect(offers.map(({ id, taggedNano, holders }) => [id, taggedNano, holders.length])).toEqual([
    ['sha256:b', 6n, 1],
    ['sha256:a', 5n, 1],
  ]);
  managers[0].images.set('web', { id: 'sha256:b', taggedNano: 5n });
  expect((await node.find('web', never)).map(({ holders }) => holders.map(({ addr }) => addr))).toEqual([
    [managers[1].addr, managers[0].addr],
  ]);
});

test('find: images for other machines are left out, and managers that say nothing', async () => {
  managers[0].images.set('web', { id: 'sha256:a', architecture: 'arm64' });
  managers[1].images.set('web', { id: 'sha256:b' });
  expect((await node.find('web', never)).map(({ id }) => id)).toEqual(['sha256:b']);
  await managers[1].server[Symbol.asyncDispose]();
  expect(await node.find('web', never)).toEqual([]);
  managers[1] = await Manager.open(state);
});

test('find: of several images under a name the one for this machine', async () => {
  managers[0].images.set('web', { id: 'sha256:a', architecture: 'arm64' });
  managers[0].images.set(`web for ${JSON.stringify(HOST)}`, { id: 'sha256:b' });
  managers[0].images.set('web for {"id":"sha256:b"}', { id: 'sha256:b' });
  const [offer] = await node.find('web', never);
  expect(offer?.id).toBe('sha256:b');
  expect((await offer?.describe(never))?.config.toString()).toBe('sha256:b');
});

test('find: this node itself is not asked, and nobody outside of a swarm', async () => {
  node.join({
    node: { id: 'm0' },
    managers: () => [{ node: 'm0', addr: managers[0].addr }],
    dial: dialer.dial,
  });
  expect(await node.find('web', never)).toEqual([]);
  expect(managers[0].asked).toEqual([]);
  const outside = new ImagesOfManagers({ clock: systemClock, logger: silentLogger, platform: HOST });
  expect(await outside.find('web', never)).toEqual([]);
});

test('describe and layer: what the manager has, in pieces', async () => {
  const layer = Buffer.alloc(limits.swarmImagePieceBytes * 2 + 7, 'x');
  managers[0].images.set('web', { id: 'sha256:a', layers: [Buffer.from('low'), layer] });
  const [offer] = await node.find('web', never);
  expect(await offer?.describe(never)).toEqual({
    config: Buffer.from('sha256:a'),
    layerBytes: [3, layer.length],
  });
  const [holder] = offer?.holders ?? [];
  expect((await bytesOf(holder?.readLayer(1, never) ?? Readable.from([]))).equals(layer)).toBe(true);
  expect(managers[0].reading.size).toBe(0);
});

test('a node that gives up ends the reading', async () => {
  managers[0].images.set('web', { id: 'sha256:a', layers: [Buffer.alloc(20_000_000)] });
  const [offer] = await node.find('web', never);
  const abort = new AbortController();
  const reading = bytesOf(offer?.holders[0]?.readLayer(0, abort.signal) ?? Readable.from([]));
  await expect.poll(() => managers[0].reading.size).toBe(1);
  abort.abort();
  await expect(reading).rejects.toMatchObject({ code: 'canceled' });
  await expect.poll(() => managers[0].reading.size).toBe(0);
});

test('a node reads two layers at a time, the others wait', async () => {
  managers[0].images.set('web', { id: 'sha256:a', layers: [Buffer.alloc(20_000_000)] });
  const [holder] = (await node.find('web', never))[0]?.holders ?? [];
  const abort = new AbortController();
  const readings = [1, 2, 3, 4].map(() => holder?.readLayer(0, abort.signal) ?? Readable.from([]));
  const firsts = readings.map((reading) => reading[Symbol.asyncIterator]().next());
  const done: number[] = [];
  firsts.forEach((first, at) => {
    // Those that waited are given up at the end.
    first.then(() => done.push(at)).catch(() => undefined);
  });
  await expect.poll(() => done.length).toBe(limits.swarmImageReadsOfNodeMax);
  expect(managers[0].reading.size).toBe(limits.swarmImageReadsOfNodeMax);
  abort.abort();
  await Promise.allSettled(firsts);
  await expect.poll(() => managers[0].reading.size).toBe(0);
});

test('a task that this manager hears of a moment later is waited for', async () => {
  managers[0].images.set('late', { id: 'sha256:a' });
  const tasksOn = state.tasksOn.bind(state);
  let looks = 0;
  state.tasksOn = (of) => {
    looks += 1;
    // Each of the two managers has looked in vain, or will look first when the task is there.
    if (looks === 3) {
      apply(...task('t2', 'late', WORKER.node));
    }
    return tasksOn(of);
  };
  expect(await node.find('late', never)).toHaveLength(1);
});

test.each([
  ['that no task names', [] as Write[]],
  ['of another node', task('t2', 'secret', MANAGER.node)],
  ['of a task that is to end', task('t2', 'secret', WORKER.node, TaskState.shutdown)],
  [
    'of a task that has ended',
    [...task('t2', 'secret', WORKER.node), put('status', taskStatus('t2', TaskState.failed))],
  ],
])('a node is refused an image %s', async (_title, writes) => {
  apply(...writes);
  managers[0].images.set('secret', { id: 'sha256:s', layers: [Buffer.from('geheim')] });
  const request = { image: 'secret', id: 'sha256:s', layer: 0 };
  const refusal = { code: 'forbidden', message: 'no task of node node2 is of secret' };
  await Promise.all(
    ['images.find', 'images.describe', 'images.layer'].map((method) =>
      expect(call(method, request)).rejects.toMatchObject(refusal),
    ),
  );
  expect(managers[0].asked).toEqual([]);
});

test('a node is refused another image under the name of its own, and what makes no sense', async () => {
  managers[0].images.set('web', { id: 'sha256:a', layers: [Buffer.from('x')] });
  managers[0].images.set('secret', { id: 'sha256:s', layers: [Buffer.from('geheim')] });
  const other = { image: 'web', id: 'sha256:s', layer: 0 };
  const gone = { code: 'not_found', message: 'web is another image by now' };
  await expect(call('images.describe', other)).rejects.toMatchObject(gone);
  await expect(call('images.layer', other)).rejects.toMatchObject(gone);
  for (const layer of ['0', 0.5, null]) {
    await expect(call('images.layer', { image: 'web', id: 'sha256:a', layer })).rejects.toMatchObject({
      code: 'invalid_argument',
    });
  }
  await expect(call('images.find', { image: ['web'] })).rejects.toMatchObject({ code: 'invalid_argument' });
  await expect(call('images.find', 'web')).rejects.toMatchObject({ code: 'invalid_argument' });
});

test.each(['swarm.images.find', 'swarm.images.ask'])(
  'a manager that fails at %s has no image',
  async (point) => {
    managers[0].images.set('web', { id: 'sha256:a' });
    armHere(`${point}=error(armed)`);
    expect(await node.find('web', never)).toEqual([]);
  },
);

test('swarm.images.describe: another manager that has it is asked', async () => {
  managers.forEach(({ images }) => images.set('web', { id: 'sha256:a' }));
  const [offer] = await node.find('web', never);
  armHere('swarm.images.describe=error(armed)@1');
  expect((await offer?.describe(never))?.config.toString()).toBe('sha256:a');
  armHere('swarm.images.describe=error(armed)');
  await expect(offer?.describe(never)).rejects.toThrow('armed');
});

test.each(['swarm.images.layer', 'swarm.images.piece', 'swarm.images.receive'])(
  'a layer that fails at %s tells why, and leaves nothing open',
  async (point) => {
    managers[0].images.set('web', { id: 'sha256:a', layers: [Buffer.alloc(5_000_000)] });
    const [holder] = (await node.find('web', never))[0]?.holders ?? [];
    armHere(`${point}=error(armed)`);
    await expect(bytesOf(holder?.readLayer(0, never) ?? Readable.from([]))).rejects.toThrow('armed');
    await expect.poll(() => managers[0].reading.size).toBe(0);
  },
);
