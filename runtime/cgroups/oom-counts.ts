import { dirname, join } from 'node:path';
import { childCgroups, readControl } from './control-files.ts';

/**
 * Whether the kernel's OOM killer has struck in a container's cgroup, where that may be gone when it is asked for:
 * systemd removes a scope's cgroup as soon as it is empty, a moment after the kill and often before it could be read
 * its count. The counts of version 2 are sums over all cgroups below, and the slice stays: what it has counted more
 * than the cgroups still in it belongs to those that are gone. Looked at after every exit, that is the one that ended.
 *
 * Paths are directories of the unified hierarchy.
 */
export class OomCounts {
  /** By slice: kills in it, at the last look, that belonged to cgroups gone or ended. */
  readonly #slices = new Map<string, number>();
  /** Ended cgroups, with the answer: asked again it is the same, and their kills count as gone while they stand. */
  readonly #ended = new Map<string, boolean>();

  /** A container is about to get this cgroup, or has it since before our time. Kills up to now are none of its end. */
  expect(cgroup: string): void {
    this.#ended.delete(cgroup);
    const slice = dirname(cgroup);
    if (!this.#slices.has(slice)) {
      this.#slices.set(slice, killsIn(slice) - this.#killsOfLiving(slice));
    }
  }

  /** The container of this cgroup has ended: did a kill happen in it? */
  killedIn(cgroup: string): boolean {
    const known = this.#ended.get(cgroup);
    if (known !== undefined) {
      return known;
    }
    const slice = dirname(cgroup);
    const before = this.#slices.get(slice);
    const own = killsIn(cgroup);
    const total = killsIn(slice);
    this.#ended.set(cgroup, own > 0);
    if (own === 0 && total === before) {
      // No live process has had a kill, and none has died of one: the usual case, with two files read.
      return false;
    }
    const gone = total - this.#killsOfLiving(slice);
    this.#slices.set(slice, gone);
    const killed = own > 0 || (before !== undefined && gone > before);
    this.#ended.set(cgroup, killed);
    return killed;
  }

  /** The container is gone for good. */
  forget(cgroup: string): void {
    this.#ended.delete(cgroup);
  }

  #killsOfLiving(slice: string): number {
    return childCgroups(slice)
      .map((name) => join(slice, name))
      .filter((cgroup) => !this.#ended.has(cgroup))
      .reduce((sum, cgroup) => sum + killsIn(cgroup), 0);
  }
}

/** `oom_kill` of memory.events: processes killed in the cgroup and below. 0 where there is no such file. */
function killsIn(cgroup: string): number {
  const events = readControl(join(cgroup, 'memory.events')) ?? '';
  return Number(/^oom_kill (\d+)$/m.exec(events)?.[1] ?? 0);
}
