import { existsSync } from 'node:fs';
import {
  kill,
  killProcessesNaming,
  pidsInCgroup,
  processes,
  removeCgroup,
  removeTree,
} from '../../support/engine/cleanup.ts';
import type { TestDaemon } from '../../support/engine/daemon.ts';

/** Debian's package `faketime`. */
const FAKETIME = '/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1';

/** Environment of a daemon whose clock is off by so many seconds; empty where the machine has no libfaketime. */
export function clockOff(seconds: number): Record<string, string> {
  return existsSync(FAKETIME)
    ? {
        LD_PRELOAD: FAKETIME,
        FAKETIME: `${seconds < 0 ? '' : '+'}${seconds}s`,
        FAKETIME_DONT_FAKE_MONOTONIC: '1',
        DONT_FAKE_MONOTONIC: '1',
      }
    : {};
}

/** The process of a manager's store. */
export function storeOf({ paths }: TestDaemon): number | undefined {
  return processes().find(({ commandLine }) => commandLine.includes(`--data-dir=${paths.dataRoot}`))?.pid;
}

export function killStore(daemon: TestDaemon): void {
  const pid = storeOf(daemon);
  if (pid !== undefined) {
    kill(pid);
  }
}

/** What runs in containers of a daemon. */
export function containersPids({ cgroupParent }: TestDaemon): number[] {
  return pidsInCgroup(cgroupParent);
}

/** A new host in the place of the old one: nothing of it runs, its disk is empty, its kernel has just started. */
export async function wipe(daemon: TestDaemon): Promise<void> {
  await daemon.kill9();
  killStore(daemon);
  killProcessesNaming(`berth-test-${daemon.name}/`);
  removeCgroup(daemon.cgroupParent);
  removeTree(daemon.paths.dataRoot);
  removeTree(daemon.paths.execRoot);
  const links: { ifname: string }[] = JSON.parse(await daemon.netns.run('ip', '-j', 'link'));
  for (const { ifname } of links.filter((link) => !['lo', 'eth0'].includes(link.ifname))) {
    // The other end of a pair that is gone already.
    await daemon.netns.run('ip', 'link', 'del', ifname).catch(() => '');
  }
  await daemon.netns.run('nft', 'flush', 'ruleset');
}
