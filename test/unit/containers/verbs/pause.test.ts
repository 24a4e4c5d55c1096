import { afterEach, beforeEach, expect, test } from 'vitest';
import { internal } from '../../../../daemon/base/errors.ts';
import { ContainerRig } from '../../../support/fakes/container-rig.ts';
import { settled } from '../../../support/fakes/manual-clock.ts';

let rig: ContainerRig;

beforeEach(async () => {
  rig = await ContainerRig.make();
});

afterEach(() => rig[Symbol.dispose]());

const freezer = (id: string): string => rig.runtime.control.freezerState(id);

test('pause, unpause: freeze and thaw, with one event each', async () => {
  const id = await rig.run();
  await rig.containers.pause(id);
  expect([await rig.status(id), freezer(id)]).toEqual(['paused 0', 'frozen']);
  await rig.containers.unpause(id);
  expect([await rig.status(id), freezer(id)]).toEqual(['running 0', 'thawed']);
  expect(rig.journal.actions()).toEqual(['pause', 'unpause']);
});

test('pause: what does not stop is thawed again and still running', async () => {
  const id = await rig.run();
  rig.runtime.control.onFreeze = () => {
    throw internal('some of its processes did not stop within 2000 ms');
  };
  await expect(rig.containers.pause(id)).rejects.toThrow(
    `Cannot pause container ${id}: some of its processes`,
  );
  expect([await rig.status(id), freezer(id)]).toEqual(['running 0', 'thawed']);
});

test('pause: a full disk leaves it running; unpause works all the same', async () => {
  const id = await rig.run();
  rig.journal.isDiskFull = true;
  await expect(rig.containers.pause(id)).rejects.toThrow('disk is full');
  expect([await rig.status(id), freezer(id)]).toEqual(['running 0', 'thawed']);
  rig.journal.isDiskFull = false;
  await rig.containers.pause(id);
  rig.journal.isDiskFull = true;
  await rig.containers.unpause(id);
  expect([await rig.status(id), freezer(id)]).toEqual(['running 0', 'thawed']);
});

test('pause: gives way to a kill that comes while it freezes', async () => {
  const id = await rig.run();
  rig.runtime.fatalSignals.delete(9);
  let killed: Promise<void> | undefined;
  rig.runtime.control.onFreeze = async () => {
    // The signal arrives when the processes are frozen already, and waits there.
    rig.runtime.control.freezers.set(id, 'frozen');
    rig.runtime.fatalSignals.add(9);
    killed = rig.containers.kill(id, {});
    await settled();
  };
  await expect(rig.containers.pause(id)).rejects.toThrow('is being stopped');
  await killed;
  expect(await rig.status(id)).toBe('exited 137');
});

test('pause: a container that was sent SIGKILL is refused', async () => {
  const id = await rig.run();
  rig.runtime.fatalSignals.delete(9);
  const killed = rig.containers.kill(id, {});
  await settled();
  await expect(rig.containers.pause(id)).rejects.toThrow('is being stopped');
  await rig.exit(id, 137);
  await killed;
  await rig.containers.start(id, {});
  await rig.containers.pause(id);
  expect(await rig.status(id)).toBe('paused 0');
});

test.each([
  ['stop', (id: string) => rig.containers.stop(id, {}), 'exited 143', ['kill 15', 'unpause', 'die 143']],
  ['kill', (id: string) => rig.containers.kill(id, {}), 'exited 137', ['kill 9', 'unpause', 'die 137']],
  ['restart', (id: string) => rig.containers.restart(id, {}), 'running 0', ['kill 15', 'unpause', 'die 143']],
])('%s: a paused container is thawed so that it can take the signal', async (_verb, act, status, events) => {
  const id = await rig.run();
  await rig.containers.pause(id);
  rig.journal.actions();
  await act(id);
  expect(await rig.status(id)).toBe(status);
  expect(rig.journal.actions().slice(0, 3)).toEqual(events);
});

test('kill: another signal waits in the frozen process', async () => {
  const id = await rig.run();
  await rig.containers.pause(id);
  await rig.containers.kill(id, { signal: 'USR1' });
  expect([await rig.status(id), freezer(id)]).toEqual(['paused 0', 'frozen']);
});

test('remove: a paused container is refused, and goes with force', async () => {
  const id = await rig.run();
  await rig.containers.pause(id);
  const options = { volumes: false, force: false, link: false };
  await expect(rig.containers.remove(id, options)).rejects.toThrow('You cannot remove a paused container');
  await rig.containers.remove(id, { ...options, force: true });
  await expect(rig.containers.inspect(id, { size: false })).rejects.toThrow('No such container');
});

test('pause: waits for an exec that is being launched, and lets no other in meanwhile', async () => {
  const id = await rig.run();
  const { Id } = await rig.execs.create(id, { Cmd: ['true'] });
  const late = await rig.execs.create(id, { Cmd: ['true'] });
  let launched!: () => void;
  rig.runtime.onExec = () =>
    new Promise((resolve) => {
      launched = resolve;
    });
  const first = rig.execs.start(Id, { detach: true, tty: false });
  await settled();
  const paused = rig.containers.pause(id);
  await settled();
  expect(freezer(id)).toBe('thawed');
  await expect(rig.execs.start(late.Id, { detach: true, tty: false })).rejects.toThrow(
    'is paused, unpause the container before exec',
  );
  launched();
  await first;
  await paused;
  expect(freezer(id)).toBe('frozen');
});

test.each([
  ['died between the freeze and the database', 'running', 'frozen', 'paused 0', ['pause']],
  ['died between the thaw and the database', 'paused', 'thawed', 'running 0', ['unpause']],
  ['died while freezing', 'running', 'changing', 'running 0', []],
  ['was just restarted', 'paused', 'frozen', 'paused 0', []],
] as const)('restore: a daemon that %s', async (_what, before, kernel, after, events) => {
  const id = await rig.run();
  if (before === 'paused') {
    await rig.containers.pause(id);
  }
  rig.journal.actions();
  rig.runtime.control.freezers.set(id, kernel);
  await rig.restartDaemon();
  expect(await rig.status(id)).toBe(after);
  expect(freezer(id)).toBe(after.startsWith('paused') ? 'frozen' : 'thawed');
  expect(rig.journal.actions()).toEqual(events);
});
