import { afterEach, beforeEach, expect, test } from 'vitest';
import type { HostConfig } from '../../../../api/types/host-config.ts';
import { ContainerRig } from '../../../support/fakes/container-rig.ts';
import { settled } from '../../../support/fakes/manual-clock.ts';

let rig: ContainerRig;

beforeEach(async () => {
  rig = await ContainerRig.make();
});

afterEach(() => rig[Symbol.dispose]());

const ipc = (IpcMode: string, more: HostConfig = {}): { HostConfig: HostConfig } => ({
  HostConfig: { NetworkMode: 'none', IpcMode, ...more },
});
/** Mounts below the containers' directory, with names for ids. */
const mounted = (names: Record<string, string>): string[] =>
  [...rig.world.mounted]
    .map((path) =>
      Object.entries(names).reduce(
        (text, [name, id]) => text.replace(id, name),
        path.slice(`${rig.directory}/containers/`.length),
      ),
    )
    .toSorted();

test('shared memory: each holds a mount of its own while it runs, a joined one a bind of its donor’s', async () => {
  const a = await rig.run(ipc('shareable'));
  const b = await rig.run(ipc(`container:${a}`));
  const c = await rig.run(ipc(`container:${b}`));
  const d = await rig.run(ipc('host'));
  const e = await rig.run(ipc(`container:${d}`));
  const names = { a, b, c, d, e };
  expect(rig.world.calls.filter((call) => /^(tmpfs|bind)/.test(call))).toEqual([
    'tmpfs',
    `bind /containers/${a}/shm`,
    `bind /containers/${b}/shm`,
    expect.stringMatching(/^bind /),
  ]);
  const all = [
    'a/merged',
    'a/shm',
    'b/merged',
    'b/shm',
    'c/merged',
    'c/shm',
    'd/merged',
    'e/merged',
    'e/shm',
  ];
  expect(mounted(names)).toEqual(all);
  await rig.restartDaemon();
  expect(mounted(names)).toEqual(all);
  await rig.exit(a, 0);
  expect(mounted(names)).toEqual(all.slice(2));
  // What is joined is a container's own: it can be given on after its first owner has ended.
  await rig.exit(c, 0);
  await rig.containers.start(c, {});
  expect(mounted(names)).toEqual(all.slice(2));
  for (const id of [b, c, d, e]) {
    await rig.exit(id, 0);
  }
  expect(mounted(names)).toEqual([]);
});

test.each<[string, HostConfig, string]>([
  ['private', {}, 'non-shareable IPC (hint: use IpcMode:shareable for the donor container)'],
  ['none', {}, 'non-shareable IPC'],
  ['shareable', { Tmpfs: { '/dev/shm': '' } }, 'non-shareable IPC'],
])('shared memory: a donor with %s %j is refused, and nothing stays', async (mode, more, text) => {
  const donor = await rig.run(ipc(mode, more));
  const id = await rig.create(ipc(`container:${donor}`));
  await expect(rig.containers.start(id, {})).rejects.toMatchObject({
    code: 'invalid_argument',
    message: expect.stringContaining(text),
  });
  expect(mounted({ donor, id })).toEqual(['donor/merged']);
});

test('shared memory: a donor must run', async () => {
  const donor = await rig.create(ipc('shareable'));
  const id = await rig.create(ipc(`container:${donor}`));
  await expect(rig.containers.start(id, {})).rejects.toMatchObject({
    code: 'conflict',
    message: `can't join IPC of container ${donor}: container ${donor} is not running`,
  });
  await rig.containers.remove(donor, { volumes: false, force: false, link: false });
  await expect(rig.containers.start(id, {})).rejects.toThrow(`No such container: ${donor}`);
});

test.each(['tmpfs', 'overlay'])('shared memory: nothing stays when %s fails', async (step) => {
  const id = await rig.create(ipc('shareable'));
  rig.world.failing.add(step);
  await expect(rig.containers.start(id, {})).rejects.toThrow(`${step} failed`);
  expect(mounted({ id })).toEqual([]);
});

test('shared memory: what a daemon left of a start is swept', async () => {
  const id = await rig.create(ipc('shareable'));
  rig.runtime.launch = () => new Promise(() => undefined);
  void rig.containers.start(id, {});
  await settled();
  expect(mounted({ id })).toEqual(['id/merged', 'id/shm']);
  await rig.restartDaemon();
  expect(mounted({ id })).toEqual([]);
});
