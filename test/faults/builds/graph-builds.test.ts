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
});
