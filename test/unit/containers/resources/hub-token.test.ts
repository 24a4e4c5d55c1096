import { armHere } from '../../../support/fakes/failpoints.ts';
import { readFileSync } from 'node:fs';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { limits } from '../../../../daemon/base/limits.ts';
import type { LaunchRequest } from '../../../../runtime/runc/launch-request.ts';
import { ContainerRig } from '../../../support/fakes/container-rig.ts';
import { settled } from '../../../support/fakes/manual-clock.ts';

const ASKING = { Labels: { 'berth.hub.token': 'acme/app', 'berth.hub.permissions': 'packages:write' } };
const SECRET = 'bhw_secret';

let rig: ContainerRig;
const launched: LaunchRequest[] = [];

beforeEach(async () => {
  rig = await ContainerRig.make();
  launched.length = 0;
  rig.runtime.onLaunch = (request) => void launched.push(request);
});

afterEach(() => {
  armHere('');
  rig[Symbol.dispose]();
});

const calls = (): string[] => rig.world.calls.filter((call) => call.startsWith('token.'));
const mounts = (): string[] => [...rig.world.mounted].filter((path) => path.endsWith('/hub'));

test('hub token: a container that asks has one while it runs, in a file that nothing shows', async () => {
  const id = await rig.run(ASKING);
  expect(calls()).toEqual(['token.check', 'token.mint']);
  expect(mounts()).toEqual([`${rig.directory}/containers/${id}/hub`]);
  const { process, mounts: made } = launched[0]?.spec ?? {};
  const file = made?.find(({ destination }) => destination === '/run/berth/hub-token');
  expect(file?.options).toEqual(['bind', 'ro', 'rprivate']);
  expect(readFileSync(file?.source ?? '', 'utf8')).toBe(SECRET);
  expect(process?.env).toEqual(
    expect.arrayContaining([
      'BERTH_HUB_URL=http://hub.test:5010',
      'BERTH_HUB_REPOSITORY=acme/app',
      'BERTH_HUB_TOKEN_FILE=/run/berth/hub-token',
    ]),
  );
  const shown = await rig.containers.inspect(id, { size: false });
  expect([shown.Mounts, shown.Config.Env ?? []]).toEqual([[], []]);
  expect(JSON.stringify([shown, [...rig.table.rows.values()], rig.journal.events], bigints)).not.toContain(
    SECRET,
  );
  await rig.exit(id, 0);
  expect([calls().at(-1), mounts(), [...rig.world.tokenHolders]]).toEqual(['token.revoke', [], []]);
});

test('hub token: each run has one of its own, and a start that fails has none', async () => {
  const id = await rig.run(ASKING);
  await rig.exit(id, 0);
  await rig.containers.start(id, {});
  expect([...rig.world.tokenHolders]).toEqual([id]);
  await rig.exit(id, 0);
  for (const failing of ['secretTmpfs', 'logs.open']) {
    rig.world.failing.add(failing);
    await expect(rig.containers.start(id, {})).rejects.toThrow(`${failing} failed`);
    rig.world.failing.clear();
    expect([mounts(), [...rig.world.tokenHolders]]).toEqual([[], []]);
  }
});

test('hub token: a start that fails at its token leaves nothing, and the next start has one', async () => {
  const id = await rig.create(ASKING);
  const before = new Set(rig.world.mounted);
  armHere('containers.start.hubtoken=error');
  await expect(rig.containers.start(id, {})).rejects.toThrow('failpoint containers.start.hubtoken');
  expect([rig.world.mounted, [...rig.world.tokenHolders], launched]).toEqual([before, [], []]);
  expect(await rig.status(id)).toMatch(/^created \d+: .*containers\.start\.hubtoken/);
  armHere('');
  await rig.containers.start(id, {});
  expect([mounts().length, [...rig.world.tokenHolders]]).toEqual([1, [id]]);
});

test('hub token: what could not be taken back at an exit is at the next try', async () => {
  const id = await rig.run(ASKING);
  armHere('containers.exit.hubtoken=error');
  await rig.exit(id, 3);
  expect(await rig.status(id)).toBe('exited 3');
  expect([mounts().length, [...rig.world.tokenHolders]]).toEqual([1, [id]]);
  armHere('');
  await rig.clock.advance(limits.retryDelaysMs[0]);
  expect([mounts(), [...rig.world.tokenHolders]]).toEqual([[], []]);
  await rig.containers.start(id, {});
  expect([mounts().length, [...rig.world.tokenHolders]]).toEqual([1, [id]]);
});

test('hub token: what no try at an exit took back holds up neither the next start nor the end of its run', async () => {
  const id = await rig.run(ASKING);
  armHere('containers.exit.hubtoken=error');
  await rig.exit(id, 0);
  for (const delayMs of limits.retryDelaysMs) {
    await rig.clock.advance(delayMs);
  }
  armHere('');
  await rig.containers.start(id, {});
  await rig.exit(id, 0);
  expect([mounts(), [...rig.world.tokenHolders]]).toEqual([[], []]);
});

test('hub token: what a start that failed could not take back is taken at the next try', async () => {
  const id = await rig.create(ASKING);
  rig.world.failing.add('logs.open');
  armHere('containers.exit.hubtoken=error');
  const failed = expect(rig.containers.start(id, {})).rejects.toThrow('logs.open failed');
  await settled();
  expect([...rig.world.tokenHolders]).toEqual([id]);
  armHere('');
  await rig.clock.advance(limits.retryDelaysMs[0]);
  await failed;
  expect([mounts(), [...rig.world.tokenHolders]]).toEqual([[], []]);
});

test('hub token: a run that ended while no daemon was there is given back by the next', async () => {
  const id = await rig.run(ASKING);
  await rig.restartDaemon();
  expect([mounts().length, [...rig.world.tokenHolders]]).toEqual([1, [id]]);
  rig.runtime.runs.delete(id);
  await rig.restartDaemon('boot-2');
  await settled();
  expect([mounts(), [...rig.world.tokenHolders]]).toEqual([[], []]);
});

test('hub token: who asks for none has none, and what cannot be is refused', async () => {
  await rig.run();
  expect(calls()).toEqual([]);
  await expect(rig.create({ Labels: { 'berth.hub.token': 'x' } })).rejects.toThrow('label berth.hub.token=x');
  rig.world.failing.add('token.check');
  await expect(rig.create(ASKING)).rejects.toThrow('token.check failed');
});

function bigints(_: string, value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value;
}
