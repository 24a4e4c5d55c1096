import { afterEach, beforeEach, expect, test } from 'vitest';
import { EngineError } from '../../../daemon/base/errors.ts';
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
