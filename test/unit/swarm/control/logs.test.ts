import { buffer } from 'node:stream/consumers';
import { beforeEach, expect, test } from 'vitest';
import type { LogsOptions } from '../../../../api/types/requests.ts';
import type { LogsItem, LogsRequest } from '../../../../swarm/protocol/logs.ts';
import { put } from '../../../../swarm/objects/parts.ts';
import { controlRig, NOBODY, type ControlRig } from '../../../support/swarm/control-rig.ts';
import { serviceWrites, taskRecord } from '../../../support/swarm/builders.ts';

const OPTIONS: LogsOptions = {
  follow: false,
  stdout: true,
  stderr: true,
  timestamps: false,
  details: false,
  signal: NOBODY,
};

let rig: ControlRig;
let asked: LogsRequest[];
let items: LogsItem[];

beforeEach(async () => {
  asked = [];
  items = [
    {
      kind: 'line',
      node: 'n',
      service: 's',
      line: {
        task: 't',
        stream: 'stderr',
        at: '1000000001',
        line: Buffer.from('hello\n').toString('base64'),
        attributes: { 'a b': 'c', 'com.docker.swarm.task.id': 'forged' },
      },
    },
  ];
  rig = await controlRig({
    readLogs: async function* (request) {
      asked.push(request);
      yield* items;
    },
  });
  await rig.context.cluster.commit({
    conditions: [],
    parts: [...serviceWrites('s'), put('task', taskRecord('t', 's'))],
  });
});

async function textOf(options: Partial<LogsOptions>): Promise<string> {
  const { bytes } = await rig.control.services.logs('s', { ...OPTIONS, ...options });
  return (await buffer(bytes)).toString('latin1');
}

test('lines are frames, with time and origin before them where that is asked for', async () => {
  expect(await textOf({})).toBe('\x02\0\0\0\0\0\0\x06hello\n');
  const origin =
    'a+b=c,com.docker.swarm.node.id=n,com.docker.swarm.service.id=s,com.docker.swarm.task.id=t hello\n';
  expect((await textOf({ details: true })).slice(8)).toBe(origin);
  expect((await textOf({ details: true, timestamps: true })).slice(8)).toBe(
    `1970-01-01T00:00:01.000000001Z ${origin}`,
  );
});

test('what could not be got is said at the end, on a stream of its own', async () => {
  items = [{ kind: 'warning', text: 'warning: incomplete log stream.' }];
  const text = 'Error grabbing logs: rpc error: code = Unknown desc = warning: incomplete log stream.\n';
  expect(await textOf({})).toBe(`\x03\0\0\0\0\0\0${String.fromCharCode(text.length)}${text}`);
});

test('a terminal has no frames', async () => {
  await rig.context.cluster.commit({
    conditions: [],
    parts: serviceWrites('s', { TaskTemplate: { ContainerSpec: { Image: 'busybox', TTY: true } } }),
  });
  expect(await textOf({})).toBe('hello\n');
});

test('what is asked for is handed on, of a service or of one task', async () => {
  await textOf({ follow: true, tail: 3, since: 5n, stderr: false });
  await rig.control.tasks.logs('t', OPTIONS).then(({ bytes }) => buffer(bytes));
  expect(asked).toEqual([
    { services: ['s'], tasks: [], follow: true, stdout: true, stderr: false, since: '5', tail: 3 },
    { services: [], tasks: ['t'], follow: false, stdout: true, stderr: true },
  ]);
});

test('no stream at all is refused', async () => {
  await expect(textOf({ stdout: false, stderr: false })).rejects.toMatchObject({
    code: 'invalid_argument',
    message: "must specify at least one of 'stdout' or 'stderr'",
  });
});
