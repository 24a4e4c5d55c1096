import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { release } from 'node:os';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { ContainerInspect, ContainerSummary } from '../../../api/types/container.ts';
import type { ContainerSpec } from '../../../api/types/swarm/container-spec.ts';
import type { TaskToRun } from '../../../swarm/agent/executor.ts';
import { differences } from '../../support/engine/oracle.ts';
import { until } from '../../support/engine/http.ts';
import { taskToRun } from '../../support/tasks/executor-contract.ts';
import { taskId } from '../../support/swarm/fake-leader.ts';
import { TaskDaemon } from '../../support/tasks/task-daemon-client.ts';

const { signal } = new AbortController();
function isAtLeast(wanted: number, wantedMinor: number): boolean {
  const [major = 0, minor = 0] = release().split('.').map(Number);
  return major > wanted || (major === wanted && minor >= wantedMinor);
}

const DATA = 'canary-of-a-secret-4711';

describe('what a task keeps in memory', () => {
  let tasks: TaskDaemon;
  let number = 700;
  let task: TaskToRun;

  beforeAll(async () => {
    tasks = await TaskDaemon.make();
  });

  afterEach(async () => {
    await tasks.executor.remove(task.id);
  });

  afterAll(async () => {
    expect(await differences(tasks.daemon)).toEqual([]);
    await tasks[Symbol.asyncDispose]();
  });

  async function begin(spec: ContainerSpec = {}): Promise<string> {
    number += 1;
    task = {
      ...taskToRun(taskId(number), {
        spec: {
          ContainerSpec: {
            Secrets: [
              { SecretID: 's', SecretName: 'key', File: { Name: 'key', UID: '0', GID: '0', Mode: 0o400 } },
            ],
            Configs: [
              {
                ConfigID: 'c',
                ConfigName: 'run',
                File: { Name: '/opt/run', UID: '0', GID: '0', Mode: 0o555 },
              },
            ],
            ...spec,
          },
        },
      }),
      secrets: new Map([['s', Buffer.from(DATA)]]),
      configs: new Map([['c', Buffer.from(`#!/bin/sh\necho ${DATA}\n`)]]),
    };
    const id = await tasks.executor.prepare(task, signal);
    await tasks.executor.start(task, signal);
    return id;
  }

  async function output(id: string, ...Cmd: string[]): Promise<string> {
    const { http } = tasks.daemon;
    const made = await http.ok<{ Id: string }>('POST', `/containers/${id}/exec`, {
      Cmd,
      Tty: true,
      AttachStdout: true,
    });
    const { text } = await http.request('POST', `/exec/${made.Id}/start`, { body: { Tty: true } });
    return text.trim();
  }

  function archive(path: string): string {
    const url = `http://x${path}`;
    return execFileSync('curl', ['-s', '--unix-socket', tasks.daemon.paths.socket, url], {
      maxBuffer: 2 ** 28,
      encoding: 'latin1',
    });
  }

  test('a config is a program where its mode says so', async () => {
    const id = await begin();
    expect(await output(id, '/opt/run')).toBe(DATA);
    expect(await output(id, 'stat', '-c', '%a %u %g', '/run/secrets/key')).toBe('400 0 0');
    expect(await output(id, 'sh', '-c', 'echo x 2>&1 > /run/secrets/key')).toContain('Read-only file system');
  });

  test('they lie in a file system of their own, which no swap takes', async () => {
    await begin();
    const line = readFileSync('/proc/self/mountinfo', 'utf8')
      .split('\n')
      .find((text) => text.includes(`${tasks.daemon.paths.execRoot}/tasks`));
    // Before Linux 6.4 there is no such option.
    const options = isAtLeast(6, 4) ? ['rw,nosuid,nodev,relatime - tmpfs', 'noswap'] : ['tmpfs'];
    options.forEach((option) => expect(line).toContain(option));
  });

  test('no copy, no export, no layer and no image has them', async () => {
    const id = await begin();
    expect(archive(`/containers/${id}/export`)).not.toContain(DATA);
    await tasks.executor.stop(task);
    expect(archive(`/containers/${id}/export`)).not.toContain(DATA);
    // The places are there, and empty.
    const copies = ['/run/secrets', '/opt/run'].map((path) =>
      archive(`/containers/${id}/archive?path=${path}`),
    );
    expect(copies.map((tar) => tar.includes(DATA))).toEqual([false, false]);
    expect(copies.map((tar) => /^(?:secrets\/|run)/.test(tar))).toEqual([true, true]);
    const { http } = tasks.daemon;
    await http.ok('POST', `/commit?container=${id}&repo=copy`);
    expect(archive('/images/copy/get')).not.toContain(DATA);
    expect(JSON.stringify(await http.ok<ContainerInspect>('GET', `/containers/${id}/json`))).not.toContain(
      tasks.daemon.paths.execRoot.concat('/tasks'),
    );
  });

  test('a container of an image that is made of a task is no task', async () => {
    const id = await begin();
    const { http } = tasks.daemon;
    await http.ok('POST', `/commit?container=${id}&repo=copy`);
    const copy = await http.ok<{ Id: string }>('POST', '/containers/create', { Image: 'copy' });
    const list = async (wanted: boolean): Promise<string[]> => {
      const filters = encodeURIComponent(JSON.stringify({ 'is-task': [String(wanted)] }));
      const found = await http.ok<ContainerSummary[]>('GET', `/containers/json?all=1&filters=${filters}`);
      return found.map(({ Id }) => Id);
    };
    expect([await list(true), await list(false)]).toEqual([[id], [copy.Id]]);
    await tasks.executor.remove(task.id);
    expect([await list(true), await list(false)]).toEqual([[], [copy.Id]]);
    await http.ok('DELETE', `/containers/${copy.Id}`);
  });

  test('a kill of the daemon takes nothing from a task that runs, and the next one waits for it', async () => {
    const id = await begin();
    await tasks.restart();
    expect(await tasks.executor.leftovers()).toEqual([task.id]);
    expect(await tasks.executor.prepare(task, signal)).toBe(id);
    expect(await tasks.executor.start(task, signal)).toMatchObject({ container: id });
    expect(await output(id, '/opt/run')).toBe(DATA);
    const end = tasks.executor.wait(task, signal);
    await tasks.end(task.id, 9);
    expect(await end).toEqual({ container: id, exitCode: 9 });
  });

  test('files that went with a reboot are there again for a task that was prepared before it', async () => {
    number += 1;
    const id = await begin();
    await tasks.executor.remove(task.id);
    expect(id).toHaveLength(64);
    const prepared = await tasks.executor.prepare(task, signal);
    const directory = `${tasks.daemon.paths.execRoot}/tasks`;
    execFileSync('umount', ['--lazy', directory]);
    await tasks.executor.start(task, signal);
    expect(await output(prepared, '/opt/run')).toBe(DATA);
  });

  test('the log of a task is read line by line, also while it is written', async () => {
    const id = await begin({
      Args: ['echo one; echo two >&2; while ! [ -e /end ]; do sleep 0.05; done; echo three'],
    });
    const lines: string[] = [];
    const subscription = { id: 'l', tasks: [task.id], follow: true, stdout: true, stderr: true };
    const reading = (async () => {
      for await (const { stream, line, at, task: of } of tasks.executor.logs(subscription, signal)) {
        expect([of, /^\d{19}$/.test(at)]).toEqual([task.id, true]);
        lines.push(`${stream} ${Buffer.from(line, 'base64').toString()}`);
      }
    })();
    await until('two lines', () => lines.length === 2);
    await tasks.end(task.id, 0);
    await reading;
    expect([id.length, lines.toSorted()]).toEqual([64, ['stderr two\n', 'stdout one\n', 'stdout three\n']]);
  });
});
