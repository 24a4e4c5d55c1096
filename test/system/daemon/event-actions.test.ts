import { expect, test } from 'vitest';
import type { ContainerCreateRequest } from '../../../api/types/container.ts';
import type { HostConfig } from '../../../api/types/host-config.ts';
import { describeEngine, onReference } from '../../support/engine/engine.ts';
import type { Engine } from '../../support/engine/engine.ts';
import { jsonLines, sleep, until } from '../../support/engine/http.ts';
import { isRuntime } from '../../support/process.ts';
import { tar } from '../../support/images/tar.ts';
import { untilNow } from '../../support/engine/until-now.ts';

interface Event {
  status: string;
  id: string;
  from: string;
  Type: string;
  Action: string;
  Actor: { ID: string; Attributes: Record<string, string> };
  scope: string;
  time: number;
  timeNano: number;
}

/** What is done to a container, and what is told of it: `action key=value ...`, in order. */
interface Row {
  title: string;
  act(engine: Engine, id: string): Promise<unknown>;
  told: string[];
  /** Else it sleeps. */
  command?: string[];
  host?: HostConfig;
  more?: ContainerCreateRequest;
  /** `created`: it is not started. */
  from?: 'created' | 'running';
  /** What the end tells of the run's time, at least: a busy machine makes it longer. */
  lastsSeconds?: number;
  /** dockerd 20.10 tells something else. */
  isOurs?: true;
}

const post = (engine: Engine, id: string, path: string, body?: unknown): Promise<unknown> =>
  engine.http.ok('POST', `/containers/${id}/${path}`, body);

/** Attaches, and detaches by the keys. */
async function attachAndLeave(engine: Engine, id: string): Promise<void> {
  const stream = await engine.http.hijack(
    `/containers/${id}/attach?stream=1&stdin=1&stdout=1&detachKeys=x,y`,
  );
  stream.socket.write('xy');
  await stream.raw();
}

async function execAndLeave(engine: Engine, id: string): Promise<void> {
  const { Id } = await engine.http.ok<{ Id: string }>('POST', `/containers/${id}/exec`, {
    AttachStdin: true,
    AttachStdout: true,
    Tty: true,
    DetachKeys: 'x,y',
    Cmd: ['cat'],
  });
  const stream = await engine.http.hijack(`/exec/${Id}/start`, { body: { Detach: false, Tty: true } });
  // Written to a terminal that is not there yet, they would be lost on their way.
  await until('the process', async () => {
    const { Pid } = await engine.http.ok<{ Pid: number }>('GET', `/exec/${Id}/json`);
    return Pid !== 0;
  });
  stream.socket.write('xy');
  await stream.raw();
}

const TERMINAL = { Tty: true, OpenStdin: true };
const nothing = (): Promise<unknown> => Promise.resolve();

const rows: Row[] = [
  { title: 'create', from: 'created', act: nothing, told: ['create'] },
  {
    title: 'start',
    from: 'created',
    act: (engine, id) => post(engine, id, 'start'),
    told: ['create', 'start'],
  },
  {
    title: 'die: exit code and time',
    command: ['sh', '-c', 'sleep 1.3; exit 3'],
    act: (engine, id) => engine.wait(id),
    told: ['die exitCode=3'],
    lastsSeconds: onReference ? 0 : 1,
  },
  {
    title: 'stop that is obeyed',
    command: ['sh', '-c', 'trap "exit 7" TERM; echo ready; while :; do sleep 0.05; done'],
    act: async (engine, id) => {
      await until('the trap', async () => (await engine.logs(id)).stdout === 'ready\n');
      await post(engine, id, 'stop');
    },
    told: ['kill signal=15', 'die exitCode=7', 'stop'],
  },
  {
    title: 'stop that is not obeyed',
    act: (engine, id) => post(engine, id, 'stop?t=0'),
    told: ['kill signal=15', 'kill signal=9', 'die exitCode=137', 'stop'],
  },
  {
    title: 'kill',
    act: (engine, id) => post(engine, id, 'kill'),
    told: ['kill signal=9', 'die exitCode=137'],
  },
  {
    title: 'kill with a signal that ends nothing',
    act: (engine, id) => post(engine, id, 'kill?signal=SIGUSR1'),
    command: ['sh', '-c', 'trap : USR1; while :; do sleep 0.05; done'],
    told: ['kill signal=10'],
  },
  {
    title: 'restart',
    act: (engine, id) => post(engine, id, 'restart?t=0'),
    told: ['kill signal=15', 'kill signal=9', 'die exitCode=137', 'stop', 'start', 'restart'],
  },
  {
    title: 'rename',
    act: (engine, id) => post(engine, id, 'rename?name=renamed'),
    told: ['rename name=renamed oldName=/subject'],
  },
  { title: 'pause and unpause', act: pauseAndUnpause, told: ['pause', 'unpause'] },
  {
    title: 'update',
    act: (engine, id) => post(engine, id, 'update', { CpuShares: 512 }),
    told: ['update'],
  },
  {
    title: 'resize',
    more: TERMINAL,
    act: (engine, id) => post(engine, id, 'resize?h=24&w=80'),
    told: ['resize height=24 width=80'],
  },
  {
    title: 'attach and detach',
    command: ['cat'],
    more: TERMINAL,
    act: attachAndLeave,
    told: ['attach', 'detach'],
  },
  {
    title: 'exec',
    act: (engine, id) => engine.exec(id, ['sh', '-c', 'exit 4']),
    told: [
      'exec_create: sh -c exit 4 execID=…',
      'exec_start: sh -c exit 4 execID=…',
      'exec_die execID=… exitCode=4',
    ],
  },
  {
    title: 'exec that its client leaves',
    act: execAndLeave,
    // dockerd 20.10 ends the command, and puts a blank behind its name.
    isOurs: true,
    told: ['exec_create: cat execID=…', 'exec_start: cat execID=…', 'exec_detach execID=…'],
  },
  {
    title: 'health_status',
    more: { Healthcheck: { Test: ['CMD', 'true', 'x'], Interval: 200e6 } },
    act: (engine, id) =>
      until('health', async () => (await engine.inspect(id)).State.Health?.Status === 'healthy'),
    // The probes themselves are told to those who listen (health.test.ts), and not kept.
    told: onReference
      ? [
          'exec_create: true x execID=…',
          'exec_start: true x execID=…',
          'exec_die execID=… exitCode=0',
          'health_status: healthy',
        ]
      : ['health_status: healthy'],
  },
  {
    title: 'top',
    act: (engine, id) => engine.http.ok('GET', `/containers/${id}/top`),
    told: ['top'],
  },
  {
    title: 'export',
    act: (engine, id) => engine.http.request('GET', `/containers/${id}/export`),
    told: ['export'],
  },
  {
    title: 'archive out',
    act: (engine, id) => engine.http.request('GET', `/containers/${id}/archive?path=/etc/passwd`),
    told: ['archive-path'],
  },
  {
    title: 'archive in',
    act: async (engine, id) => {
      await engine.http.ok('PUT', `/containers/${id}/archive?path=/tmp`, tar([{ name: 'a', content: 'a' }]));
    },
    told: ['extract-to-dir'],
  },
  {
    title: 'oom',
    command: ['sh', '-c', 'sleep 0.3; tail /dev/zero'],
    host: { Memory: 8 * 1024 * 1024 },
    act: (engine, id) => engine.wait(id),
    told: ['oom', 'die exitCode=137'],
  },
  {
    title: 'restart by policy: one die per exit',
    command: ['sh', '-c', 'sleep 0.2; exit 5'],
    host: { RestartPolicy: { Name: 'on-failure', MaximumRetryCount: 2 } },
    act: (engine, id) => engine.wait(id),
    told: ['die exitCode=5', 'start', 'die exitCode=5', 'start', 'die exitCode=5'],
  },
  {
    title: 'a start that fails',
    from: 'created',
    command: ['/nope'],
    act: (engine, id) => engine.http.request('POST', `/containers/${id}/start`),
    told: ['create'],
  },
  {
    title: 'destroy',
    from: 'created',
    act: (engine, id) => engine.http.ok('DELETE', `/containers/${id}`),
    told: ['create', 'destroy'],
  },
  {
    title: 'destroy by force',
    act: (engine, id) => engine.http.ok('DELETE', `/containers/${id}?force=1`),
    told: ['kill signal=9', 'die exitCode=137', 'destroy'],
  },
  {
    title: 'destroy by auto-remove',
    host: { AutoRemove: true },
    act: async (engine, id) => {
      const removed = engine.wait(id, '?condition=removed');
      await post(engine, id, 'kill');
      await removed;
    },
    told: ['kill signal=9', 'die exitCode=137', 'destroy'],
  },
];

async function pauseAndUnpause(engine: Engine, id: string): Promise<void> {
  await post(engine, id, 'pause');
  await post(engine, id, 'unpause');
}

async function past(engine: Engine, id: string): Promise<Event[]> {
  const filters = encodeURIComponent(JSON.stringify({ container: [id] }));
  const answer = await engine.http.request('GET', `/events?since=0&until=${untilNow()}&filters=${filters}`);
  return jsonLines(answer.text) as Event[];
}

/** `die exitCode=3`: the action with the attributes that it adds, but for how long it took. */
function lineOf({ Action, Actor: { Attributes } }: Event): string {
  const { image: _image, name = '', tier: _tier, execDuration: _seconds, ...all } = Attributes;
  // What Berth alone tells (test/system/cluster).
  const { 'berth.occurrence': _id, ...own } = all;
  const shown = {
    ...own,
    ...(name !== 'subject' && { name }),
    ...(own['execID'] !== undefined && { execID: '…' }),
  };
  const details = Object.entries(shown).map(([key, value]) => `${key}=${value}`);
  return [Action, ...details.toSorted()].join(' ');
}

/** Events from the start on, without those up to it where the row begins with a running container. */
async function told(engine: Engine, id: string, from: Row['from']): Promise<Event[]> {
  const events = await past(engine, id);
  return from === 'created' ? events : events.slice(events.findIndex(({ Action }) => Action === 'start') + 1);
}

describeEngine('events of each action', (engine) => {
  test.each(rows.filter(({ isOurs }) => !onReference || isOurs !== true))('$title', async (row) => {
    const { command, host, more } = row;
    const create = { Labels: { tier: 'web' }, ...more };
    const id = await engine.create(command ?? ['sleep', '1000'], host, create, 'subject');
    if (row.from !== 'created') {
      await post(engine, id, 'start');
      const { Pid } = (await engine.inspect(id)).State;
      await until('its command', () => !isRuntime(Pid));
    }
    await row.act(engine, id);
    await expect.poll(async () => (await told(engine, id, row.from)).map(lineOf)).toEqual(row.told);
    // Nothing comes later.
    await sleep(100);
    const events = await told(engine, id, row.from);
    expect(events.map(lineOf)).toEqual(row.told);
    if (row.lastsSeconds !== undefined) {
      const { execDuration = 0 } = events.find(({ Action }) => Action === 'die')?.Actor.Attributes ?? {};
      expect(Number(execDuration)).toBeGreaterThanOrEqual(row.lastsSeconds);
    }
    for (const event of events) {
      expect(event).toMatchObject({
        Type: 'container',
        scope: 'local',
        Actor: { ID: id, Attributes: { image: 'busybox:latest', tier: 'web' } },
      });
    }
  });
});
