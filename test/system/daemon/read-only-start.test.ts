/** A daemon that starts while its disk takes no changes: what runs must still be seen, stopped and removed. */
import { rmSync } from 'node:fs';
import { afterEach, expect, test } from 'vitest';
import { Engine, onReference } from '../../support/engine/engine.ts';
import { until } from '../../support/engine/http.ts';
import { needsEngine } from '../../support/needs.ts';
import { differences } from '../../support/engine/oracle.ts';
import { downgrade } from '../../support/storage/downgrade.ts';
import { SmallDisk } from '../../support/storage/small-disk.ts';

const OBEDIENT = ['sh', '-c', 'trap "exit 7" TERM; while :; do sleep 0.05; done'];
const NAMES = ['stopped', 'killed', 'removed'] as const;

needsEngine()('the start of a daemon on a disk that takes no changes', () => {
  const engine = new Engine();
  let disk: SmallDisk;

  const begin = async (): Promise<void> => {
    await engine.up({});
    // The root of a test daemon is made anew, on a disk of its own.
    await engine.daemon.stop();
    const { dataRoot } = engine.daemon.paths;
    rmSync(dataRoot, { recursive: true });
    disk = new SmallDisk(dataRoot, { mib: 160 });
    await engine.daemon.up();
    await engine.daemon.loadBusybox();
    for (const name of NAMES) {
      await engine.start(OBEDIENT, {}, {}, name);
    }
  };
  afterEach(async () => {
    disk.unmount();
    await engine.down();
  });
  const view = async (): Promise<string[]> => {
    const all = await engine.list();
    return all.map(({ Names, State }) => `${Names[0]} ${State}`).toSorted();
  };
  /** All that is done to be rid of containers. */
  const getRid = async (): Promise<void> => {
    expect(engine.daemon.log()).toContain(`${engine.daemon.paths.dataRoot}/berth.db takes no changes`);
    const body = { Name: 'new', Driver: 'bridge' };
    const refused = await engine.http.request('POST', '/networks/create', { body });
    expect([refused.status, refused.text]).toEqual([
      500,
      expect.stringMatching(/the database takes no changes: its disk/),
    ]);
    expect(await view()).toEqual(['/killed running', '/removed running', '/stopped running']);
    await engine.http.ok('POST', '/containers/stopped/stop');
    await engine.http.ok('POST', '/containers/killed/kill');
    await engine.wait('killed');
    await engine.http.ok('DELETE', '/containers/removed?force=1');
    expect(await view()).toEqual(['/killed exited', '/stopped exited']);
    expect((await engine.inspect('stopped')).State.ExitCode).toBe(7);
  };
  const end = async (): Promise<void> => {
    await engine.removeAll();
    await expect.poll(() => differences(engine.daemon)).toEqual([]);
  };

  test.runIf(!onReference)('R66: read-only: containers are listed, stopped, killed and removed', async () => {
    await begin();
    await engine.daemon.kill9();
    disk.breakDown();
    await engine.daemon.up();
    await getRid();
    expect(await engine.daemon.stop()).toBe(0);
    await until('its users to be gone', () => disk.mend());
    await engine.daemon.up();
    expect(await view()).toEqual(['/killed exited', '/removed exited', '/stopped exited']);
    expect((await engine.inspect('stopped')).State.ExitCode).toBe(7);
    await end();
  });

  test.runIf(!onReference)('R66: full, with a database of an older berthd: the same', async () => {
    await begin();
    await engine.daemon.stop();
    downgrade(`${engine.daemon.paths.dataRoot}/berth.db`, 5);
    disk.fillUp();
    await engine.daemon.up();
    await getRid();
    expect(await engine.daemon.stop()).toBe(0);
    disk.free();
    await engine.daemon.up();
    expect((await engine.inspect('stopped')).State.ExitCode).toBe(7);
    expect(await view()).toEqual(['/killed exited', '/stopped exited']);
    await end();
  });
});
