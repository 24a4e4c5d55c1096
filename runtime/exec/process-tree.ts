import { readdirSync, readFileSync } from 'node:fs';
import { setImmediate as yieldToLoop, setTimeout as sleep } from 'node:timers/promises';
import { sendSignal } from '../../daemon/base/kernel/processes/pidfd.ts';
import { identify, isAlive, statFields } from '../../daemon/base/kernel/processes/process.ts';
import type { ProcessIdentity } from '../../daemon/base/kernel/processes/process.ts';
import { limits } from '../../daemon/base/limits.ts';

const SIGKILL = 9;
const POLL_MS = 5;
/** Processes looked at in one turn of the event loop. */
const BATCH = 100;
/** Processes that fork while they are being killed are met again in the next round. */
const ROUNDS = 3;

/**
 * Kills a process that leads a session, everything in that session and everything below them. `candidates` are the
 * numbers of all processes that can belong to it: those in its cgroup.
 *
 * The leader goes last, and gets a moment to reap what it started. That becomes a child of the container's first
 * process otherwise, and where this one does not reap, as most do not, each would stay as a zombie.
 */
export async function killTree(leader: ProcessIdentity, candidates: () => readonly number[]): Promise<void> {
  if (!isAlive(leader)) {
    return;
  }
  const deadline = performance.now() + limits.treeReapMs;
  while (isAlive(leader) && performance.now() < deadline) {
    // A shell goes on with its next command; that one is killed too.
    const below = (await treeOf(leader.pid, candidates())).filter(({ pid }) => pid !== leader.pid);
    if (below.length === 0 && !hasChildren(leader.pid)) {
      break;
    }
    below.forEach((one) => sendSignal(one, SIGKILL));
    await sleep(POLL_MS);
  }
  sendSignal(leader, SIGKILL);
  for (let round = 0; round < ROUNDS; round += 1) {
    const left = await treeOf(leader.pid, candidates());
    if (left.length === 0) {
      return;
    }
    left.forEach((one) => sendSignal(one, SIGKILL));
    await sleep(POLL_MS);
  }
}

/** The live processes of the leader's session, and whatever descends from them. */
async function treeOf(leaderPid: number, candidates: readonly number[]): Promise<ProcessIdentity[]> {
  const parents = new Map<number, number>();
  const tree = new Set<number>([leaderPid]);
  let looked = 0;
  for (const pid of candidates) {
    looked += 1;
    if (looked % BATCH === 0) {
      await yieldToLoop();
    }
    const stat = relationsOf(pid);
    if (stat !== undefined) {
      parents.set(pid, stat.parent);
      if (stat.session === leaderPid) {
        tree.add(pid);
      }
    }
  }
  for (let size = 0; size !== tree.size;) {
    size = tree.size;
    for (const [pid, parent] of parents) {
      if (tree.has(parent)) {
        tree.add(pid);
      }
    }
  }
  return [...tree].filter((pid) => parents.has(pid)).flatMap((pid) => identify(pid) ?? []);
}

/** Zombies are children, too (proc(5), task/TID/children; not every kernel has it). */
function hasChildren(pid: number): boolean {
  try {
    return readdirSync(`/proc/${pid}/task`).some(
      (thread) => readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8') !== '',
    );
  } catch {
    return false;
  }
}

/** Parent and session of a process (proc(5) fields 4 and 6); undefined when it has ended. */
export function relationsOf(pid: number): { parent: number; session: number } | undefined {
  const [, parent, , session] = statFields(pid) ?? [];
  return parent === undefined ? undefined : { parent: Number(parent), session: Number(session) };
}
