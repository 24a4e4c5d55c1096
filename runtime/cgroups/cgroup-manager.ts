import { existsSync, rmdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { errnoOf, internal, invariant } from '../../daemon/base/errors.ts';
import type { CgroupDriver, CgroupLayout } from './detect.ts';
import { childCgroups, processesBelow, readControl, writeControl } from './control-files.ts';
import { OomCounts } from './oom-counts.ts';
import { cgroupDirectories, idOfCgroup, relativeCgroup, relativeParent } from './paths.ts';

export interface CgroupManagerDeps {
  layout: CgroupLayout;
  driver: CgroupDriver;
  /** Parent of all containers of this instance: `/berth`, or `berth.slice` under systemd. */
  parent: string;
}

const MEMORY_EVENTS = 'memory.events';
/** Waits between attempts; a killed process leaves its cgroup only when the kernel has torn it down. */
const RETRY_DELAYS_MS = [1, 2, 5, 10, 20, 50, 100, 200, 400, 800, 1600];

/** Kills in and removes the cgroups of containers, in every hierarchy of the host. runc makes them. */
export class CgroupManager {
  readonly driver: CgroupDriver;
  readonly parent: string;
  readonly #layout: CgroupLayout;
  /** Where systemd removes the cgroups, and with them their counts. */
  readonly #oomCounts: OomCounts | undefined;

  constructor({ layout, driver, parent }: CgroupManagerDeps) {
    this.#layout = layout;
    this.driver = driver;
    this.parent = parent;
    this.#oomCounts = driver === 'systemd' && layout.version === 2 ? new OomCounts() : undefined;
  }

  /**
   * Sends SIGKILL to every process in the cgroup and below, again until none is left that can be seen. Resolves false
   * when some outlive that (uninterruptible sleep).
   */
  async killAll(cgroupsPath: string): Promise<boolean> {
    const directories = this.#directories(cgroupsPath);
    for (const delayMs of RETRY_DELAYS_MS) {
      if (this.#killOnce(directories) === 0) {
        return true;
      }
      await sleep(delayMs);
    }
    return false;
  }

  /**
   * Removes the cgroup and what was made below it, killing what is still in there. Absent is fine.
   * Throws EngineError internal naming the processes that will not go.
   */
  async remove(cgroupsPath: string): Promise<void> {
    const directories = this.#directories(cgroupsPath);
    for (const delayMs of [...RETRY_DELAYS_MS, 0]) {
      const left = directories.filter((directory) => !removed(directory));
      if (left.length === 0) {
        this.#oomCounts?.forget(this.#unified(cgroupsPath));
        return;
      }
      this.#killOnce(left);
      await sleep(delayMs);
    }
    const pids = [...new Set(directories.flatMap(processesIn))];
    throw internal(
      `remove cgroup ${cgroupsPath}: still busy${pids.length > 0 ? `, processes ${pids.join(' ')}` : ''}`,
    );
  }

  /** Numbers of the processes in the cgroup and below it. */
  processes(cgroupsPath: string): number[] {
    const directory = this.#directories(cgroupsPath).find((one) => existsSync(one));
    return directory === undefined ? [] : processesIn(directory);
  }

  /** A container is about to run in there, or has since before our time; to be said before `oomKilled` is asked. */
  expect(cgroupsPath: string): void {
    this.#oomCounts?.expect(this.#unified(cgroupsPath));
  }

  /** Of a container that has ended: whether the kernel's OOM killer has ended a process in there. */
  oomKilled(cgroupsPath: string): boolean {
    return this.#oomCounts?.killedIn(this.#unified(cgroupsPath)) ?? this.oomKills(cgroupsPath) > 0;
  }

  /** The kernel's file that changes when a process in there lacks memory; version 2 only. */
  memoryEvents(cgroupsPath: string): string | undefined {
    return this.#layout.version === 2 ? join(this.#unified(cgroupsPath), MEMORY_EVENTS) : undefined;
  }

  /** How many processes the kernel's OOM killer has ended in there; 0 when the cgroup is gone or has no such count. */
  oomKills(cgroupsPath: string): number {
    return Number(/^oom_kill (\d+)$/m.exec(this.#oomState(cgroupsPath))?.[1] ?? 0);
  }

  /** True while its processes wait for memory because the killer is switched off, which only version 1 can. */
  isStarving(cgroupsPath: string): boolean {
    const state = this.#oomState(cgroupsPath);
    return /^oom_kill_disable 1$/m.test(state) && /^under_oom 1$/m.test(state);
  }

  #oomState(cgroupsPath: string): string {
    const memory = this.#layout.controllers.get('memory') ?? this.#layout.unified;
    const file = this.#layout.controllers.has('memory') ? 'memory.oom_control' : MEMORY_EVENTS;
    return memory === null
      ? ''
      : (readControl(join(memory, relativeCgroup(this.driver, cgroupsPath), file)) ?? '');
  }

  /** Ids of containers that have a cgroup below our parent, in whichever hierarchy. */
  list(): string[] {
    const parents = cgroupDirectories(this.#layout, relativeParent(this.driver, this.parent));
    const names = parents.flatMap((parent) => childCgroups(parent));
    return [...new Set(names.flatMap((name) => idOfCgroup(this.driver, name) ?? []))];
  }

  #unified(cgroupsPath: string): string {
    return join(this.#layout.unified ?? '/', relativeCgroup(this.driver, cgroupsPath));
  }

  #directories(cgroupsPath: string): string[] {
    const relative = relativeCgroup(this.driver, cgroupsPath);
    // Whatever a record on disk says: a parent, let alone the root, is never killed or removed.
    invariant(/[0-9a-f]{64}(\.scope)?$/.test(relative), `not the cgroup of a container: ${cgroupsPath}`);
    return cgroupDirectories(this.#layout, relative);
  }

  /** Number of processes found and killed. */
  #killOnce(directories: readonly string[]): number {
    for (const directory of directories) {
      // One write kills the whole tree without a race (version 2, Linux 5.14).
      writeControl(join(directory, 'cgroup.kill'), '1');
    }
    const freezer = this.#layout.controllers.get('freezer');
    const frozen = directories.filter(
      (directory) => freezer !== undefined && directory.startsWith(`${freezer}/`),
    );
    for (const directory of frozen) {
      // Frozen processes neither fork nor end, so the numbers read next stay theirs.
      writeControl(join(directory, 'freezer.state'), 'FROZEN');
    }
    const pids = new Set(directories.flatMap(processesIn));
    for (const pid of pids) {
      kill(pid);
    }
    for (const directory of frozen) {
      writeControl(join(directory, 'freezer.state'), 'THAWED');
    }
    return pids.size;
  }
}

/** True when the directory is gone, its children before it. */
function removed(directory: string): boolean {
  try {
    rmdirSync(directory);
    return true;
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') {
      return true;
    }
    if (errnoOf(error) !== 'EBUSY' && errnoOf(error) !== 'ENOTEMPTY') {
      throw error;
    }
  }
  const children = childCgroups(directory);
  return (
    children.length > 0 && children.every((name) => removed(join(directory, name))) && removed(directory)
  );
}

/** Those that may be killed: 1 and ourselves can only be a mistake. */
function processesIn(directory: string): number[] {
  return processesBelow(directory).filter((pid) => pid > 1 && pid !== process.pid);
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if (errnoOf(error) !== 'ESRCH') {
      throw error;
    }
  }
}
