import { existsSync } from 'node:fs';
import { mustRunCommand } from '../../daemon/base/command.ts';
import { errorText, internal } from '../../daemon/base/errors.ts';
import { Poller } from '../../daemon/base/kernel/sockets/poller.ts';
import type { Logger } from '../../daemon/base/logger.ts';
import { CgroupManager } from '../cgroups/cgroup-manager.ts';
import type { CgroupManagerDeps } from '../cgroups/cgroup-manager.ts';
import { QuickMoves } from '../cgroups/quick-moves.ts';
import type { MonitorSettings } from '../monitor/conmon-argv.ts';
import { MonitorControl } from '../monitor/monitor-control.ts';
import { ExitRecords } from '../monitor/exit-records.ts';
import { ExitWatch } from '../monitor/exit-watch.ts';
import { monitorOf } from '../monitor/monitor-pid.ts';
import { OomWatch } from '../monitor/oom-watch.ts';
import { ExecRoot } from './exec-root.ts';
import { LaunchedContainers } from './launched-containers.ts';
import { OtherRuntimes } from './other-runtimes.ts';
import type { ConfiguredRuntimes, RuntimeProgram } from './other-runtimes.ts';
import { SealedBinary } from './sealed-binary.ts';

export interface ConmonRuntimeDeps {
  /** Absolute paths of the programs. */
  runcPath: string;
  runtimes: ConfiguredRuntimes;
  conmonPath: string;
  /** Directory for everything live, usually on a tmpfs; short, because conmon makes sockets in it. */
  execRoot: string;
  cgroup: CgroupManagerDeps;
  log: Logger;
}

/** What launching, cleaning up and executing share. */
export interface RuntimeParts {
  readonly deps: ConmonRuntimeDeps;
  readonly root: ExecRoot;
  /** runc. */
  readonly program: SealedBinary;
  /** Where conmon makes its console sockets. */
  readonly temporary: string;
  readonly cgroups: CgroupManager;
  readonly quickMoves: QuickMoves;
  readonly records: ExitRecords;
  readonly exits: ExitWatch;
  readonly ooms: OomWatch;
  readonly poller: Poller;
  readonly control: MonitorControl;
  readonly launched: LaunchedContainers;
  /** Containers of other runtimes than runc. */
  readonly others: OtherRuntimes;
}

/** Sockets have 108 bytes for their path; conmon's console sockets are named `XXXXXX/conmon-term.XXXXXX`. */
const TEMPORARY_PATH_MAX = 78;

/** Makes the parts, and the directories of the exec root that are missing. */
export function makeParts(deps: ConmonRuntimeDeps): RuntimeParts {
  const { log, cgroup } = deps;
  const root = new ExecRoot(deps.execRoot);
  root.prepare();
  const cgroups = new CgroupManager(cgroup);
  const launched = new LaunchedContainers(root, cgroups);
  const records = new ExitRecords({ directory: root.exits, log });
  return {
    deps,
    root,
    program: new SealedBinary(deps.runcPath, log),
    temporary: root.temporary.length <= TEMPORARY_PATH_MAX ? root.temporary : '/tmp',
    cgroups,
    quickMoves: new QuickMoves({ layout: cgroup.layout, log }),
    records,
    exits: new ExitWatch({
      records,
      // conmon may end before it is told of the kill that ended its container; the kernel's own count stays.
      oomKilled: (id) => cgroups.oomKilled(launched.cgroupsPath(id)) || existsSync(root.bundle(id).oom),
      monitorAlive: (id) => monitorOf(root.bundle(id)) !== undefined,
      inherited: () => launched.inherited(),
      log,
    }),
    ooms: new OomWatch({
      sign: (id) => {
        const counts = cgroups.memoryEvents(launched.cgroupsPath(id));
        return counts === undefined
          ? { kind: 'marker', file: root.bundle(id).oom }
          : { kind: 'counts', file: counts };
      },
      kills: (id) => cgroups.oomKills(launched.cgroupsPath(id)),
      isStarving: (id) => cgroups.isStarving(launched.cgroupsPath(id)),
      log,
    }),
    poller: new Poller(),
    control: new MonitorControl(),
    launched,
    others: new OtherRuntimes({
      configured: deps.runtimes,
      root: root.runc,
      systemdCgroup: cgroup.driver === 'systemd',
      programOf: (id) => launched.record(id)?.runtime,
      log,
    }),
  };
}

/** What conmon is told about a runtime's program. */
export function monitorSettings(
  { deps, root }: RuntimeParts,
  { path, args }: RuntimeProgram,
): MonitorSettings {
  return {
    conmonPath: deps.conmonPath,
    runtimePath: path,
    runtimeArgs: args,
    runcRoot: root.runc,
    exitDirectory: root.exits,
    systemdCgroup: deps.cgroup.driver === 'systemd',
  };
}

/** Runs a verb of runc. Throws internal with what it printed. */
export async function callRunc(
  { deps, root, cgroups }: RuntimeParts,
  ...args: [string, ...string[]]
): Promise<void> {
  const global = ['--root', root.runc, ...(cgroups.driver === 'systemd' ? ['--systemd-cgroup'] : [])];
  try {
    await mustRunCommand([deps.runcPath, ...global, ...args]);
  } catch (error) {
    throw internal(`OCI runtime ${args[0]} failed: ${errorText(error)}`, { cause: error });
  }
}
