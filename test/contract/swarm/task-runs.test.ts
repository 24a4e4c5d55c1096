import { execFileSync } from 'node:child_process';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { ContainerSpec } from '../../../api/types/swarm/container-spec.ts';
import { ID, inspected, said, started, taskOf } from '../../support/tasks/single-task.ts';
import { TaskDaemon } from '../../support/tasks/task-daemon-client.ts';

const { signal } = new AbortController();
let tasks: TaskDaemon;

beforeAll(async () => {
  tasks = await TaskDaemon.make();
});
afterEach(async () => {
  await tasks.executor.remove(ID);
});
afterAll(async () => {
  await tasks[Symbol.asyncDispose]();
});

const FILES = {
  spec: {
    Secrets: [
      { SecretID: 's1', SecretName: 'pw', File: { Name: 'pw.txt', UID: '1000', GID: '1001', Mode: 0o440 } },
      { SecretID: 's2', SecretName: 'key', File: { Name: '/etc/deep/key', UID: '0', GID: '0', Mode: 0o444 } },
    ],
    Configs: [
      { ConfigID: 'c1', ConfigName: 'cf', File: { Name: 'cf.ini', UID: '0', GID: '0', Mode: 0o444 } },
    ],
  } satisfies ContainerSpec,
  rest: {
    secrets: new Map([
      ['s1', Buffer.from('geheim-und-lang-genug')],
      ['s2', Buffer.from([0, 255, 10])],
    ]),
    configs: new Map([['c1', Buffer.from('k=v\n')]]),
  },
};

test('secrets and configs are files with their owner and mode, read-only, in memory', async () => {
  const command =
    'stat -c "%a %u %g" /run/secrets/pw.txt; cat /run/secrets/pw.txt; echo; wc -c < /etc/deep/key; cat /cf.ini; ' +
    '(echo x > /run/secrets/pw.txt) 2>&1; stat -f -c %T /run/secrets/pw.txt';
  const text = await said(tasks, command, FILES.spec, FILES.rest);
  expect(text.split('\n')).toEqual([
    '440 1000 1001',
    'geheim-und-lang-genug',
    '3',
    'k=v',
    expect.stringMatching(/read-only|Read-only/i),
    'tmpfs',
  ]);
});

test('secrets are seen nowhere on the disk, in no inspection, and by no other container', async () => {
  const task = taskOf({ ...FILES.spec }, FILES.rest);
  await started(tasks, task);
  const found = execFileSync('sh', ['-c', `grep -rl geheim-und-lang "${tasks.daemon.paths.root}" || true`]);
  expect(found.toString()).toBe('');
  expect(JSON.stringify(await inspected(tasks))).not.toMatch(/geheim|s1|pw\.txt/);
  const { Id } = await tasks.daemon.http.ok<{ Id: string }>('POST', '/containers/create', {
    Image: 'busybox',
    Cmd: ['cat', '/run/secrets/pw.txt'],
    HostConfig: { VolumesFrom: [`web.1.${ID}`] },
  });
  await tasks.daemon.http.ok('POST', `/containers/${Id}/start`);
  const { StatusCode } = await tasks.daemon.http.ok<{ StatusCode: number }>('POST', `/containers/${Id}/wait`);
  expect(StatusCode).toBe(1);
  await tasks.daemon.http.ok('DELETE', `/containers/${Id}`);
});

test('files of tasks outlive the daemon, and go with their task; with the last one their tmpfs', async () => {
  const task = taskOf(FILES.spec, FILES.rest);
  const mounted = (): number =>
    Number(
      execFileSync('sh', [
        '-c',
        `grep -c " ${tasks.daemon.paths.execRoot}/tasks " /proc/self/mounts || true`,
      ]),
    );
  await started(tasks, task);
  await tasks.restart();
  expect(await tasks.executor.leftovers()).toEqual([ID]);
  expect(mounted()).toBe(1);
  await tasks.exec(
    ID,
    'sh',
    '-c',
    '[ "$(cat /run/secrets/pw.txt)" = geheim-und-lang-genug ] && echo 9 > /end',
  );
  expect(await tasks.executor.wait(task, signal)).toMatchObject({ exitCode: 9 });
  await tasks.executor.remove(ID);
  expect(mounted()).toBe(0);
});

test('two files at one place are refused', async () => {
  const [first] = FILES.spec.Secrets;
  const spec = { Secrets: [first, { ...first, SecretID: 's2' }] } as ContainerSpec;
  await expect(tasks.executor.prepare(taskOf(spec, FILES.rest), signal)).rejects.toThrow(
    'Duplicate mount point: /run/secrets/pw.txt',
  );
});

const check = (Test: string, more = {}): ContainerSpec => ({
  Healthcheck: {
    Test: ['CMD-SHELL', Test],
    Interval: 100_000_000,
    Timeout: 5_000_000_000,
    Retries: 2,
    ...more,
  },
});

test('52: a task runs once its health check has said so', async () => {
  const task = taskOf(check('[ -e /healthy ]', { Retries: 1000 }));
  await tasks.executor.prepare(task, signal);
  const running = tasks.executor.start(task, signal);
  await expect.poll(async () => (await inspected(tasks)).State.Health?.FailingStreak).toBeGreaterThan(1);
  expect(await Promise.race([running, Promise.resolve('waits')])).toBe('waits');
  await tasks.exec(ID, 'touch', '/healthy');
  expect(await running).toMatchObject({ pid: expect.any(Number) as number });
});

test('a task that never becomes healthy is stopped, and says why', async () => {
  const task = taskOf(check('false'));
  expect(await started(tasks, task)).toMatchObject({
    exitCode: 137,
    cause: 'dockerexec: unhealthy container',
  });
});

test('a task that becomes unhealthy is stopped, and says why', async () => {
  const task = taskOf(check('! [ -e /ill ]'));
  await started(tasks, task);
  const end = tasks.executor.wait(task, signal);
  await tasks.exec(ID, 'touch', '/ill');
  expect(await end).toMatchObject({ exitCode: 137, cause: 'dockerexec: unhealthy container' });
});

test('a task that ends before it is healthy tells its end', async () => {
  const task = taskOf({ ...check('false', { Interval: 60_000_000_000 }), Args: ['exit 6'] });
  expect(await started(tasks, task)).toEqual({
    container: expect.any(String) as string,
    exitCode: 6,
  });
});

test('a container that is removed by hand is the end of its task', async () => {
  const task = taskOf({});
  await started(tasks, task);
  const end = tasks.executor.wait(task, signal);
  await tasks.daemon.http.ok('DELETE', `/containers/web.1.${ID}?force=1`);
  expect(await end).toMatchObject({ exitCode: 137 });
  await expect(tasks.executor.wait(task, signal)).rejects.toMatchObject({ code: 'not_found' });
});

test('a stop signal is given its grace period, then the task is killed', async () => {
  const task = taskOf({
    Args: ['trap "exit 5" TERM; touch /ready; while :; do sleep 0.05; done'],
    StopGracePeriod: 20_000_000_000,
  });
  await started(tasks, task);
  await expect
    .poll(
      async () =>
        (await tasks.daemon.http.request('HEAD', `/containers/web.1.${ID}/archive?path=/ready`)).status,
    )
    .toBe(200);
  expect(await tasks.executor.stop(task)).toMatchObject({ exitCode: 5 });
});

test('an image that is not here and cannot be pulled ends its task with the reason', async () => {
  const task = taskOf({ Image: 'registry.invalid/nope:1' });
  await expect(tasks.executor.prepare(task, signal)).rejects.toMatchObject({
    code: expect.stringMatching(/^(?!unavailable|deadline_exceeded)/) as string,
    message: expect.stringContaining('registry.invalid') as string,
  });
});

test('a command that is not there ends its task with the reason', async () => {
  const task = taskOf({ Command: ['/nope'], Args: [] });
  await expect(started(tasks, task)).rejects.toThrow('/nope');
});

/** Stream, last four characters and attributes of what a task says. */
async function lines(spec: ContainerSpec): Promise<[string, string, unknown][]> {
  await tasks.executor.remove(ID);
  const task = taskOf(spec, { task: { LogDriver: { Name: 'json-file', Options: { labels: 'a' } } } });
  await started(tasks, task);
  await tasks.executor.wait(task, signal);
  const read: [string, string, unknown][] = [];
  const subscription = { id: 's', tasks: [ID], follow: true, stdout: true, stderr: true };
  for await (const each of tasks.executor.logs(subscription, signal)) {
    expect(each.at).toMatch(/^\d{19}$/);
    read.push([each.stream, Buffer.from(each.line, 'base64').toString().slice(-4), each.attributes]);
  }
  // A line of 20,000 characters comes in parts; how many is the monitor's matter.
  return read.filter(([, text], at) => text !== 'qqqq' || read[at - 1]?.[1] !== 'qqqq');
}

test('logs: lines with their stream, time and attributes; a long line in parts; with a terminal too', async () => {
  const Labels = { a: 'x=1,y z' };
  const Args = [
    'echo out; sleep 0.1; echo err >&2; sleep 0.1; head -c 20000 /dev/zero | tr "\\0" q; echo end',
  ];
  expect(await lines({ Args, Labels })).toEqual([
    ['stdout', 'out\n', { a: 'x=1,y z' }],
    ['stderr', 'err\n', { a: 'x=1,y z' }],
    ['stdout', 'qqqq', { a: 'x=1,y z' }],
    ['stdout', 'end\n', { a: 'x=1,y z' }],
  ]);
  expect(await lines({ Args: ['echo out'], TTY: true })).toEqual([['stdout', 'ut\r\n', undefined]]);
});

test('describe: the node as GET /info has it', async () => {
  const info = await tasks.daemon.http.ok<Record<string, unknown>>('GET', '/info');
  const { Hostname, Platform, Resources, Engine } = await tasks.executor.describe();
  expect({ Hostname, Platform, Resources, version: Engine?.EngineVersion }).toEqual({
    Hostname: info['Name'],
    Platform: { Architecture: info['Architecture'], OS: 'linux' },
    Resources: { NanoCPUs: Number(info['NCPU']) * 1e9, MemoryBytes: info['MemTotal'] },
    version: info['ServerVersion'],
  });
  expect(Engine?.Plugins).toContainEqual({ Type: 'Volume', Name: 'local' });
  expect(Engine?.Plugins).toContainEqual({ Type: 'Network', Name: 'macvlan' });
  expect(Engine?.Plugins).toContainEqual({ Type: 'Log', Name: 'json-file' });
});
