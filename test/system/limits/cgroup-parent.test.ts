import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { cgroupDirectories } from '../../support/engine/cleanup.ts';
import { describeEngine, onReference, type Engine } from '../../support/engine/engine.ts';
import { differences } from '../../support/engine/oracle.ts';

/** A parent below the daemon's own, so that the end of the test takes it away and the oracle sees into it. */
function parentOf({ daemon }: Engine): { name: string; path: string } {
  const slice = /^(.*)\.slice$/.exec(daemon.cgroupParent)?.[1];
  return slice === undefined
    ? { name: `${daemon.cgroupParent}/jobs`, path: `${daemon.cgroupParent}/jobs` }
    : { name: `${slice.slice(1)}-jobs.slice`, path: `${daemon.cgroupParent}${slice}-jobs.slice` };
}

function below(path: string, id: string): string[] {
  return cgroupDirectories(path).filter((folder) => folder.includes(id));
}

describeEngine('cgroup parent', (engine) => {
  test('CgroupParent: holds the container, is shown by inspect, and is left empty', async () => {
    const { name, path } = parentOf(engine);
    const id = await engine.start(['sleep', '1000'], { CgroupParent: name });
    const { State, HostConfig } = await engine.inspect(id);
    expect(HostConfig.CgroupParent).toBe(name);
    expect(readFileSync(`/proc/${State.Pid}/cgroup`, 'utf8')).toContain(`${path}/`);
    expect(below(path, id)).not.toEqual([]);
    await engine.http.ok('POST', `/containers/${id}/kill`);
    await engine.wait(id);
    await expect.poll(() => below(path, id)).toEqual([]);
  });

  test.runIf(!onReference)(
    'CgroupParent: a crash in the middle of a start leaves no cgroup there',
    async () => {
      const { name, path } = parentOf(engine);
      const id = await engine.create(['sleep', '1000'], { CgroupParent: name });
      await engine.daemon.restart({ env: { BERTH_FAILPOINTS: 'runtime.launch.created=sigkill' } });
      await expect(engine.http.request('POST', `/containers/${id}/start`)).rejects.toThrow();
      expect(below(path, id)).not.toEqual([]);
      await engine.daemon.restart();
      await expect.poll(() => differences(engine.daemon)).toEqual([]);
      expect(below(path, id)).toEqual([]);
    },
  );

  test.each([
    ['private', '/'],
    ['host', '/.+'],
  ])('CgroupnsMode: %s shows the container its cgroup as %s', async (CgroupnsMode, shown) => {
    const { stdout, id } = await engine.run(['cat', '/proc/self/cgroup'], { CgroupnsMode });
    const paths = stdout
      .trim()
      .split('\n')
      .map((line) => line.split(':')[2]);
    // Hierarchies without a controller of ours may show the root in both.
    expect(paths.some((path) => new RegExp(`^${shown}$`).test(path ?? ''))).toBe(true);
    expect(paths.some((path) => path?.includes(id))).toBe(CgroupnsMode === 'host');
  });

  // Under dockerd a relative one is relative to the cgroup of the daemon, whatever its documentation says.
  test.runIf(!onReference && !existsSync('/sys/fs/cgroup/cgroup.controllers'))(
    'CgroupParent: a relative one is relative to the cgroup of init',
    async () => {
      const relative = parentOf(engine).name.slice(1);
      const id = await engine.start(['sleep', '1000'], { CgroupParent: relative });
      const { State } = await engine.inspect(id);
      expect(readFileSync(`/proc/${State.Pid}/cgroup`, 'utf8')).toContain(`:memory:/${relative}/${id}`);
    },
  );
});
