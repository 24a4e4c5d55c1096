import { Readable } from 'node:stream';
import { beforeEach, expect, test } from 'vitest';
import { limits } from '../../../../daemon/base/limits.ts';
import { silentLogger } from '../../../../daemon/base/logger.ts';
import { ImageServer } from '../../../../swarm/images/image-server.ts';
import { ImagesOfManagers } from '../../../../swarm/images/images-of-managers.ts';
import { put } from '../../../../swarm/objects/parts.ts';
import { ClusterState } from '../../../../swarm/planner/state/cluster-state.ts';
import type { Caller, RpcClient } from '../../../../swarm/rpc/port.ts';
import { ManualClock, settled } from '../../../support/fakes/manual-clock.ts';
import { MANAGER, WORKER } from '../../../support/swarm/authority.ts';
import { nodeWrites, serviceWrites, taskRecord } from '../../../support/swarm/builders.ts';

/** How long managers wait for nodes that do not read, and nodes for managers that do not send. */

const HOST = { os: 'linux', architecture: 'amd64' };
const never = new AbortController().signal;
const REQUEST = { image: 'busybox', id: 'sha256:a', layer: 0 };
const of = (node: string): Caller => ({ identity: { ...WORKER, node }, address: '' });

let clock: ManualClock;
let state: ClusterState;
let readings: Readable[];
let server: ImageServer;

beforeEach(() => {
  clock = new ManualClock();
  state = new ClusterState();
  readings = [];
  const store = {
    platform: HOST,
    find: () => ({
      id: 'sha256:a',
      ...HOST,
      taggedNano: 0n,
      describe: () => ({ config: Buffer.alloc(0), layerBytes: [] }),
      readLayer: () => {
        const reading = Readable.from(endless(), { objectMode: false });
        readings.push(reading);
        return reading;
      },
    }),
  };
  server = new ImageServer({ clock, cluster: { state }, store });
  for (const node of ['n1', 'n2', 'n3']) {
    const service = serviceWrites(`s${node}`);
    const task = put('task', taskRecord(`t${node}`, `s${node}`, { node, slot: 1 }));
    [...nodeWrites(node), ...service, task].forEach((write) => state.apply(write));
  }
});

function* endless(): Generator<Buffer> {
  for (;;) {
    yield Buffer.alloc(1000);
  }
}

/** As the server of calls takes what a node asked for. */
function layer(node: string, signal = never): AsyncIterator<unknown> {
  const method = server.methods.find(({ name }) => name === 'images.layer');
  if (method?.kind !== 'stream') {
    throw new Error('no stream');
  }
  return method.handle(REQUEST, of(node), signal)[Symbol.asyncIterator]();
}

test('a node that takes nothing for half a minute is cut off, and another one reads', async () => {
  const held = [layer('n1'), layer('n1'), layer('n2')];
  await Promise.all(held.map((one) => one.next()));
  expect(readings).toHaveLength(limits.swarmImageReadsMax);
  const waiting = layer('n3').next();
  await settled();
  expect(readings).toHaveLength(limits.swarmImageReadsMax);
  await clock.advance(limits.swarmImagePieceMs);
  expect(await waiting).toMatchObject({ done: false });
  expect(readings.slice(0, 3).every(({ destroyed }) => destroyed)).toBe(true);
  await expect(held[0]?.next()).rejects.toMatchObject({
    code: 'deadline_exceeded',
    message: 'the node takes its layers too slowly',
  });
});

test('a node that takes a piece now and then is cut off at last', async () => {
  const slow = layer('n1');
  await slow.next();
  let left: number = limits.swarmImageLayerMs;
  for (; left > limits.swarmImagePieceMs; left -= limits.swarmImagePieceMs - 1) {
    await clock.advance(limits.swarmImagePieceMs - 1);
    expect(await slow.next()).toMatchObject({ done: false });
  }
  await clock.advance(left);
  await expect(slow.next()).rejects.toMatchObject({ code: 'deadline_exceeded' });
});

test('a node that goes while it waits for its turn leaves the line', async () => {
  const held = [layer('n1'), layer('n1')];
  await Promise.all(held.map((one) => one.next()));
  const abort = new AbortController();
  const waiting = layer('n1', abort.signal).next();
  await settled();
  abort.abort();
  await expect(waiting).rejects.toMatchObject({ code: 'canceled' });
  await held[0]?.return?.();
  expect(readings[0]?.destroyed).toBe(true);
  expect(await layer('n1').next()).toMatchObject({ done: false });
});

test('a manager that sends nothing of a layer is given up', async () => {
  const client: RpcClient = {
    addr: 'm1:2377',
    call: async () => ({ found: { id: 'sha256:a', ...HOST, tagged: 'no number' } }),
    async *stream(_method, _body, signal) {
      yield Buffer.from('some');
      await new Promise((_, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason));
      });
    },
    upload: async () => undefined,
    [Symbol.dispose]: () => undefined,
  };
  const node = new ImagesOfManagers({ clock, logger: silentLogger, platform: HOST });
  node.join({
    node: { id: WORKER.node },
    managers: () => [{ node: MANAGER.node, addr: 'm1:2377' }],
    dial: () => client,
  });
  const [offer] = await node.find('busybox', never);
  expect(offer?.taggedNano).toBe(0n);
  const pieces = offer?.holders[0]?.readLayer(0, never)[Symbol.asyncIterator]();
  expect((await pieces?.next())?.value).toEqual(Buffer.from('some'));
  const given = expect(pieces?.next()).rejects.toMatchObject({
    code: 'deadline_exceeded',
    message: 'manager m1:2377 sends nothing of a layer',
  });
  await settled();
  await clock.advance(limits.swarmImageSilenceMs);
  await given;
});
