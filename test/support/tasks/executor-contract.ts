import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Executor, TaskToRun } from '../../../swarm/agent/executor.ts';
import type { AssignedTask } from '../../../swarm/protocol/session.ts';
import { assignedTask, taskId } from '../swarm/fake-leader.ts';

export interface ExecutorRig {
  executor: Executor;
  /** A task's container ends by itself. */
  end(taskId: string, exitCode: number): Promise<void>;
  /** How often a task's container was started. */
  starts(taskId: string): Promise<number>;
}

/** A task of an image that is there, whose command runs until `end`. */
export function taskToRun(id: string, given: Partial<AssignedTask> = {}): TaskToRun {
  const task = assignedTask(id, given);
  const { ContainerSpec } = task.spec;
  return {
    ...task,
    spec: {
      ...task.spec,
      ContainerSpec: {
        Image: 'busybox',
        Command: ['sh', '-c'],
        Args: ['while ! [ -e /end ]; do sleep 0.05; done; exit $(cat /end)'],
        StopGracePeriod: 0,
        ...(ContainerSpec?.Image === 'busybox' && Object.keys(ContainerSpec).length === 1
          ? {}
          : ContainerSpec),
      },
    },
    name: `web.1.${id}`,
    node: 'node1',
    secrets: new Map(),
    configs: new Map(),
  };
}

/** What every executor does. Its tasks are gone after each test. */
export function describeExecutor(rig: () => ExecutorRig): void {
  const { signal } = new AbortController();
  let number = 0;
  let task: TaskToRun;
  let executor: Executor;

  beforeEach(() => {
    number += 1;
    task = taskToRun(taskId(number));
    ({ executor } = rig());
  });

  afterEach(async () => {
    await executor.remove(task.id);
  });

  test('prepare: makes a container, once, and starts nothing', async () => {
    const id = await executor.prepare(task, signal);
    expect(await executor.prepare(task, signal)).toBe(id);
    expect(await executor.leftovers()).toEqual([task.id]);
    expect(await rig().starts(task.id)).toBe(0);
  });

  test('start: runs it, once', async () => {
    const container = await executor.prepare(task, signal);
    const running = await executor.start(task, signal);
    expect(running).toMatchObject({ container, ports: [], pid: expect.any(Number) as number });
    expect(await executor.start(task, signal)).toEqual(running);
    expect(await rig().starts(task.id)).toBe(1);
  });

  test('wait: tells the end, also when it is asked again', async () => {
    const container = await executor.prepare(task, signal);
    await executor.start(task, signal);
    const end = executor.wait(task, signal);
    await rig().end(task.id, 3);
    expect(await end).toEqual({ container, exitCode: 3 });
    expect(await executor.wait(task, signal)).toEqual({ container, exitCode: 3 });
  });

  test('start: one that has ended is not started again, its end is told', async () => {
    const container = await executor.prepare(task, signal);
    await executor.start(task, signal);
    await rig().end(task.id, 4);
    await executor.wait(task, signal);
    expect(await executor.start(task, signal)).toEqual({ container, exitCode: 4 });
    expect(await rig().starts(task.id)).toBe(1);
  });

  test('wait: ends when it is called off', async () => {
    await executor.prepare(task, signal);
    await executor.start(task, signal);
    const off = new AbortController();
    const end = executor.wait(task, off.signal);
    off.abort();
    await expect(end).rejects.toMatchObject({ code: 'canceled' });
  });

  test('wait, start: without a container there is nothing', async () => {
    await expect(executor.wait(task, signal)).rejects.toMatchObject({ code: 'not_found' });
    await expect(executor.start(task, signal)).rejects.toMatchObject({ code: 'not_found' });
  });

  test('stop: ends it; of what does not run nothing is said', async () => {
    expect(await executor.stop(task)).toBe(undefined);
    const container = await executor.prepare(task, signal);
    expect(await executor.stop(task)).toBe(undefined);
    await executor.start(task, signal);
    expect(await executor.stop(task)).toEqual({ container, exitCode: 137 });
    expect(await executor.stop(task)).toEqual({ container, exitCode: 137 });
  });

  test('remove: takes it away, running or not, and does not mind when nothing is there', async () => {
    await executor.prepare(task, signal);
    await executor.start(task, signal);
    await executor.remove(task.id);
    expect(await executor.leftovers()).toEqual([]);
    await executor.remove(task.id);
  });
}
