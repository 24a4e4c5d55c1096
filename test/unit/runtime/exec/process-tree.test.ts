import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { identify } from '../../../../daemon/base/kernel/processes/process.ts';
import { killTree } from '../../../../runtime/exec/process-tree.ts';

/** The look at the tree at which the leader runs again. */
const RUNS_AT = 4;

function childrenOf(pid: number): number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);
}

function stateOf(pid: number): string | undefined {
  return /\) (\w)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))?.[1];
}

test('a leader that is slow to run is not killed before it has reaped what it started', async () => {
  // Detached: it leads a session of its own.
  const shell = spawn('sh', ['-c', 'sleep 987; exit 3'], { detached: true, stdio: 'ignore' });
  const ended = once(shell, 'exit');
  const pid = shell.pid ?? 0;
  await expect.poll(() => childrenOf(pid)).toHaveLength(1);
  const [child = 0] = childrenOf(pid);
  process.kill(pid, 'SIGSTOP');
  await expect.poll(() => stateOf(pid)).toBe('T');
  const leader = identify(pid);
  expect(leader).toBeDefined();
  let looks = 0;
  await killTree(leader!, () => {
    looks += 1;
    if (looks === RUNS_AT) {
      process.kill(pid, 'SIGCONT');
    }
    return [pid, child];
  });
  await ended;
  expect(looks).toBeGreaterThanOrEqual(RUNS_AT);
});
