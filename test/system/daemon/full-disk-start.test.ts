import { rmSync, statfsSync } from 'node:fs';
import { expect, test } from 'vitest';
import { Engine, onReference } from '../../support/engine/engine.ts';
import { until } from '../../support/engine/http.ts';
import { needsEngine } from '../../support/needs.ts';
import { differences } from '../../support/engine/oracle.ts';
import { SmallDisk } from '../../support/storage/small-disk.ts';

/** Takes each block that anybody gives back. */
const GREEDY = [
  'sh',
  '-c',
  'while :; do dd if=/dev/zero bs=512 conv=notrunc oflag=append of=/heap 2>/dev/null; echo full >>/notes; done',
];

needsEngine()('the start of a daemon on a full disk', () => {
  test.runIf(!onReference).each([1024, 4096] as const)(
    'R68: blocks of %i bytes: three times killed and started beside a container that writes without a pause',
    async (blockBytes) => {
      const engine = new Engine();
      await engine.up({});
      const { daemon } = engine;
      const { dataRoot } = daemon.paths;
      // The root of a test daemon is made anew, on a disk of its own.
      await daemon.stop();
      rmSync(dataRoot, { recursive: true });
      const disk = new SmallDisk(dataRoot, { mib: 200, blockBytes });
      try {
        await daemon.up();
        await daemon.loadBusybox();
        // Before the writer comes: it would take what is measured here.
        disk.fill(16 * 1024 * 1024);
        const writer = await engine.start(GREEDY, {}, {}, 'greedy');
        const { State } = await engine.inspect(writer);
        await until('the disk to be full', () => statfsSync(disk.path).bavail === 0);
        for (let round = 0; round < 3; round += 1) {
          await daemon.restart();
          expect((await engine.inspect(writer)).State).toMatchObject({ Running: true, Pid: State.Pid });
        }
        disk.free();
        await engine.remove(writer);
        await expect.poll(() => differences(daemon)).toEqual([]);
      } finally {
        disk.unmount();
        await engine.down();
      }
    },
  );
});
