import { armHere } from '../../support/fakes/failpoints.ts';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { EngineError } from '../../../daemon/base/errors.ts';
import type { OfferedImage } from '../../../swarm/images/ports.ts';
import { settled } from '../../support/fakes/manual-clock.ts';
import { never, TaskRig, taskToRun } from '../../support/fakes/task-rig.ts';

let rig: TaskRig;

beforeEach(async () => {
  rig = await TaskRig.make();
});

afterEach(() => rig[Symbol.dispose]());

const DIGEST = `sha256:${'a'.repeat(64)}`;
let number = 0;

/** A task of its own each time. */
function prepare(image: string, signal = never, registryAuth?: string): Promise<string> {
  number += 1;
  const id = `p${number}`.padEnd(25, '0');
  const spec = { Networks: [{ Target: 'none' }], ContainerSpec: { Image: image } };
  return rig.executor.prepare(
    taskToRun(spec, { id, name: `web.1.${id}`, ...(registryAuth && { registryAuth }) }),
    signal,
  );
}

function pulled(): string[] {
  return rig.pulls.map(({ options: { name, tag } }) => `${name} ${tag}`);
}

test.each([
  ['an image that is not here', 'app', ['app latest']],
  ['a tag', 'app:1', ['app 1']],
  ['a tag that is here', 'busybox', ['busybox latest']],
  ['a digest that is not here', `app@${DIGEST}`, [`app ${DIGEST}`]],
  [
    'a tag and a digest that are not here',
    `r.example:5000/a/app:1@${DIGEST}`,
    [`r.example:5000/a/app ${DIGEST}`],
  ],
])('pull: %s', async (_title, image, expected) => {
  await prepare(image);
  expect(pulled()).toEqual(expected);
});

test.each([
  ['a digest', `app@${DIGEST}`],
  ['a tag and a digest', `app:1@${DIGEST}`],
  ['an id', DIGEST],
  ['an id without its algorithm', 'a'.repeat(64)],
])('pull: %s that is here is not asked for', async (_title, image) => {
  rig.images.add(image);
  await prepare(image);
  expect(pulled()).toEqual([]);
});

test('pull: with the credentials of the service', async () => {
  await prepare('app', never, 'me');
  expect(rig.pulls[0]?.options.auth).toEqual({ username: 'me' });
});

test('pull: one that fails does not matter when the image is here', async () => {
  rig.holdPulls();
  const prepared = prepare('busybox');
  await settled();
  rig.pulls[0]?.end(new EngineError('unavailable', 'no such host'));
  expect(await prepared).toMatch(/^[0-9a-f]{64}$/);
});

test('33: the image is missing: the task is refused with what the pull said', async () => {
  rig.holdPulls();
  const prepared = prepare('app:1');
  await settled();
  rig.pulls[0]?.end(new EngineError('unavailable', 'no such host'));
  await expect(prepared).rejects.toMatchObject({
    code: 'not_found',
    message: 'No such image: app:1: no such host',
  });
});

test('pull: a registry that does not answer keeps nobody waiting whose image is here', async () => {
  rig.holdPulls();
  const prepared = prepare('busybox');
  await settled();
  await rig.engine.clock.advance(10_000);
  expect(await prepared).toMatch(/^[0-9a-f]{64}$/);
  expect(rig.pulls[0]?.options.signal.aborted).toBe(true);
  // Nor those that come after it.
  await prepare('busybox');
  expect(rig.pulls.length).toBe(1);
  await rig.engine.clock.advance(60_000);
  const later = prepare('busybox');
  await settled();
  expect(rig.pulls.length).toBe(2);
  rig.pulls[1]?.end();
  await later;
});

test('pull: without the image a registry is waited for until the task is to end', async () => {
  rig.holdPulls();
  const abort = new AbortController();
  const prepared = prepare('app', abort.signal);
  await settled();
  await rig.engine.clock.advance(60_000);
  expect(rig.pulls[0]?.options.signal.aborted).toBe(false);
  abort.abort();
  await expect(prepared).rejects.toMatchObject({ code: 'canceled' });
  expect(rig.pulls[0]?.options.signal.aborted).toBe(true);
});

test('pull: tasks that want the same at the same time share one; the last that gives up ends it', async () => {
  rig.holdPulls();
  const abort = new AbortController();
  const first = prepare('app', abort.signal);
  const second = prepare('app');
  const other = prepare('app', never, 'me');
  await settled();
  expect(pulled()).toEqual(['app latest', 'app latest']);
  abort.abort();
  await expect(first).rejects.toMatchObject({ code: 'canceled' });
  expect(rig.pulls[0]?.options.signal.aborted).toBe(false);
  rig.pulls.forEach((pull) => pull.end());
  await Promise.all([second, other]);
  // Fifty tasks of one service come one after the other too.
  await prepare('app');
  expect(rig.pulls.length).toBe(2);
  await rig.engine.clock.advance(3_001);
  const later = prepare('app');
  await settled();
  expect(rig.pulls.length).toBe(3);
  rig.pulls[2]?.end();
  await later;
});

/** What a manager has; `transfer` ends well or with an error. */
function offer(id: string, taggedNano: bigint, transfer = async (): Promise<void> => {}): OfferedImage {
  return {
    id,
    taggedNano,
    describe: async () => {
      await transfer();
      return { config: Buffer.from('{}'), layerBytes: [] };
    },
    holders: [],
  };
}

/** A task whose registry says no. */
async function refused(image: string, error: Error): Promise<string> {
  rig.holdPulls();
  const prepared = prepare(image);
  await settled();
  rig.pulls.at(-1)?.end(error);
  return await prepared;
}

/** A manager that goes while it sends. */
const lost = (): Promise<void> =>
  Promise.reject(new EngineError('unavailable', 'the connection to the other node is lost'));

const DENIED = new EngineError('not_found', 'pull access denied for app');

test.each([
  ['does not have it', DENIED],
  ['does not give it', new EngineError('unauthorized', 'authentication required')],
  ['is not there', new EngineError('unavailable', 'no such host')],
])('managers: an image that they have comes from them where the registry %s', async (_title, error) => {
  rig.offers = [offer('sha256:b', 5n), offer('sha256:a', 4n)];
  await refused('app:1', error);
  expect(rig.received).toEqual(['app:1 sha256:b']);
});

test('managers: are not asked where a registry has it, and where it is no fault of a registry', async () => {
  rig.offers = [offer('sha256:b', 5n)];
  await prepare('app');
  await expect(refused('web', new EngineError('resource_exhausted', 'no space'))).rejects.toMatchObject({
    message: 'No such image: web: no space',
  });
  await expect(refused('web 2', new EngineError('invalid_argument', 'invalid'))).rejects.toMatchObject({
    message: 'invalid',
  });
  expect(rig.asked).toEqual([]);
});

test('managers: an id names no registry, and is asked for all the same', async () => {
  rig.offers = [offer(DIGEST, 0n)];
  await refused('a'.repeat(64), new EngineError('invalid_argument', 'invalid repository name'));
  expect(rig.received).toEqual([`${'a'.repeat(64)} ${DIGEST}`]);
});

test.each([
  ['older than theirs: theirs comes', 4n, ['busybox sha256:b']],
  ['as old as theirs: it is used', 5n, []],
  ['newer than theirs: it is used', 6n, []],
])('managers: the image here is %s', async (_title, taggedNano, received) => {
  rig.taggedNano = taggedNano;
  rig.offers = [offer('sha256:b', 5n)];
  await refused('busybox', DENIED);
  expect(rig.received).toEqual(received);
});

test('managers: the same image is not sent again', async () => {
  rig.offers = [offer('sha256:own', 5n)];
  await refused('busybox', DENIED);
  expect(rig.received).toEqual([]);
});

test('managers: where none has it the task tells what the registry said', async () => {
  await expect(refused('app', DENIED)).rejects.toMatchObject({
    code: 'not_found',
    message: 'No such image: app: pull access denied for app',
  });
});

test('managers: one that has it and does not send it is told of; the image here is used', async () => {
  rig.offers = [offer('sha256:b', 5n, lost)];
  await expect(refused('app', DENIED)).rejects.toMatchObject({
    code: 'not_found',
    message:
      'No such image: app: pull access denied for app; from a manager: the connection to the other node is lost',
  });
  await refused('busybox', DENIED);
  expect(rig.received).toEqual([]);
});

test('managers: are asked while a registry does not answer; where none has it that is waited for', async () => {
  rig.holdPulls();
  const waiting = prepare('app');
  await settled();
  await rig.engine.clock.advance(10_000);
  expect(rig.asked).toEqual(['app']);
  expect(rig.pulls[0]?.options.signal.aborted).toBe(false);
  rig.pulls[0]?.end();
  await waiting;
  rig.offers = [offer('sha256:b', 5n)];
  const other = prepare('web');
  await settled();
  await rig.engine.clock.advance(10_000);
  await other;
  expect(rig.pulls[1]?.options.signal.aborted).toBe(true);
  // A registry that has not answered a while ago is not asked again, managers are.
  rig.offers = [offer('sha256:c', 6n)];
  await rig.engine.clock.advance(3_001);
  await prepare('web');
  expect(rig.pulls.length).toBe(2);
  expect(rig.received).toEqual(['web sha256:b', 'web sha256:c']);
});

test('managers: tasks that want the same share a transfer; the last that gives up ends it', async () => {
  rig.holdPulls();
  let end!: () => void;
  const transfer = new Promise<void>((resolve) => {
    end = resolve;
  });
  rig.offers = [offer('sha256:b', 5n, () => transfer)];
  const abort = new AbortController();
  const first = prepare('app', abort.signal);
  const second = prepare('app');
  await settled();
  rig.pulls[0]?.end(DENIED);
  await settled();
  abort.abort();
  await expect(first).rejects.toMatchObject({ code: 'canceled' });
  end();
  await second;
  expect(rig.asked).toEqual(['app']);
  expect(rig.received).toEqual(['app sha256:b']);
});

test('tasks.images.receive: a transfer that does not begin is told of, and the next one goes well', async () => {
  rig.offers = [offer('sha256:b', 5n)];
  armHere('tasks.images.receive=error(armed)@1');
  await expect(refused('app', DENIED)).rejects.toMatchObject({
    message: expect.stringContaining('from a manager: failpoint tasks.images.receive: armed'),
  });
  await rig.engine.clock.advance(3_001);
  await refused('app', DENIED);
  armHere('');
  expect(rig.received).toEqual(['app sha256:b']);
});
