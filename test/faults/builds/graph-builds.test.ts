import { afterAll, beforeAll, expect, it } from 'vitest';
import { GraphClient } from '../../support/buildkit/graph-client.ts';
import {
  busybox,
  files,
  mkfile,
  node,
  result,
  rm,
  scratch,
  shell,
  type Node,
} from '../../support/buildkit/graphs.ts';
import { TestDaemon } from '../../support/engine/daemon.ts';
import { differences } from '../../support/engine/oracle.ts';
import { needs } from '../../support/needs.ts';

const SIDES = { diff: { lower: { input: 0 }, upper: { input: 1 } } };

/** A graph that comes by each of the points, and that no build has made yet: `mark` is in it. */
function graphOf(mark: string): Node {
  const tree = scratch([mkfile('/kept', mark), mkfile('/gone', mark)]);
  const less = files([rm('/gone')], tree);
  const difference = node(SIDES, scratch([mkfile('/other', mark)]), less);
  const command = shell(
    'cp /in/kept /out/made',
    [
      { input: 1, dest: '/in', isReadonly: true },
      { input: -1, dest: '/out', output: 1 },
    ],
    busybox,
    difference,
  );
  return result(command, 1);
}

needs(
  'root',
  'built',
  'netns',
)('graphs of clients', () => {
  let daemon: TestDaemon;

  beforeAll(async () => {
    daemon = await TestDaemon.start({ armable: true });
    await daemon.loadBusybox();
  });
  afterAll(async () => {
    await daemon[Symbol.asyncDispose]();
  });

  const made = async (mark: string): Promise<string> => {
    await using client = await new GraphClient(daemon).open();
    return await client.solved(graphOf(mark), (found) => found.text('/made'));
  };
  const isClean = async (): Promise<void> => {
    await expect.poll(() => differences(daemon), { timeout: 30_000 }).toEqual([]);
  };

  it.each(['build.ops.rm', 'archives.erase.begin', 'build.ops.diff', 'build.ops.mount.result'])(
    'R1: kill -9, or a failure, at %s: nothing of it is left, and the build is made again',
    async (point) => {
      daemon.arm(`${point}=error(told by a test)`);
      await expect(made(`${point} failing`)).rejects.toThrow('told by a test');
      await isClean();
      daemon.arm(`${point}=sigkill`);
      await expect(made(`${point} killed`)).rejects.toThrow();
      await daemon.ended();
      daemon.arm('');
      await daemon.up();
      await isClean();
      expect(await made(`${point} killed`)).toBe(`${point} killed`);
      await isClean();
    },
  );

  /** A container with mounts, a process in it and a further one, by each of the points; what the second said. */
  const saidInContainer = async (): Promise<string> => {
    await using client = await new GraphClient(daemon).open();
    return await client.build(async (bridge) => {
      const [root, tree] = [await bridge.solve(busybox), await bridge.solve(scratch([mkfile('/f', 'it')]))];
      await bridge.container('c', [
        { dest: '/', resultId: root.ref },
        { dest: '/in', resultId: tree.ref },
        { dest: '/secret', type: 1, secret: { id: 'text', mode: 0o400 } },
      ]);
      const stream = bridge.processes();
      await stream.start('p', 'c', 'echo up; sleep 1000');
      const first = await stream.until('p', ({ out, order }) => out === 'up\n' || order.includes('exit'));
      const { out, error } = first.error === undefined ? await stream.run('e', 'c', 'cat /in/f') : first;
      await bridge.release('c');
      if (error !== undefined) {
        throw new Error(error);
      }
      return out;
    });
  };
  it.each([
    'build.containers.make',
    'images.build.container',
    'containers.stdio.open',
    'images.build.container.start',
    'images.build.container.exec',
    'containers.exec.own',
    'build.containers.release',
  ])("R1: kill -9, or a failure, at %s: nothing of a client's container is left", async (point) => {
    daemon.arm(`${point}=error(told by a test)`);
    await expect(saidInContainer()).rejects.toThrow('told by a test');
    await isClean();
    daemon.arm(`${point}=sigkill`);
    await expect(saidInContainer()).rejects.toThrow();
    await daemon.ended();
    daemon.arm('');
    await daemon.up();
    await isClean();
    expect(await saidInContainer()).toBe('it');
    await isClean();
  });
});
