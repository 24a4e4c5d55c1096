import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, test } from 'vitest';
import { sendSignal } from '../../../../daemon/base/kernel/processes/pidfd.ts';
import { identify, isAlive } from '../../../../daemon/base/kernel/processes/process.ts';

test('identify tells a process from a later one of the same number', () => {
  const self = identify(process.pid);
  expect(self).toMatchObject({ pid: process.pid });
  expect(isAlive({ pid: process.pid, startTime: '1' })).toBe(false);
  expect(identify(0x7ffffffe)).toBeUndefined();
});

test('sendSignal reaches exactly the process it was given', async () => {
  const child = spawn('sleep', ['60'], { stdio: 'ignore' });
  await once(child, 'spawn');
  const identity = identify(child.pid ?? 0);
  expect(identity).toBeDefined();
  if (identity === undefined) {
    return;
  }
  expect(sendSignal({ ...identity, startTime: '1' }, 9)).toBe(false);
  expect(isAlive(identity)).toBe(true);
  const exited = once(child, 'exit');
  expect(sendSignal(identity, 15)).toBe(true);
  expect((await exited)[1]).toBe('SIGTERM');
  expect(sendSignal(identity, 15)).toBe(false);
});
