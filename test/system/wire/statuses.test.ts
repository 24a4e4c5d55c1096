import { expect, test } from 'vitest';
import { describeEngine, onReference } from '../../support/engine/engine.ts';
import type { Engine } from '../../support/engine/engine.ts';
import { tar } from '../../support/images/tar.ts';

/** A request on one of the subjects below, and its answer. A text is looked for in the message. */
interface Row {
  ask: string;
  body?: unknown;
  status: number;
  says?: string;
  /** dockerd 20.10 answers something else. */
  isOurs?: true;
}

const TAR = tar([{ name: 'a', content: 'a' }]);
const q = (filters: object): string => `filters=${encodeURIComponent(JSON.stringify(filters))}`;
const ours = (row: Row): Row => ({ ...row, isOurs: true });

type Maker = (engine: Engine, name: string) => Promise<unknown>;
const SLEEP = ['sleep', '1000'];

const SUBJECTS: Readonly<Record<string, Maker>> = {
  run: (engine, name) => engine.start(SLEEP, {}, {}, name),
  tty: (engine, name) => engine.start(SLEEP, {}, { Tty: true }, name),
  paused: async (engine, name) => {
    await engine.start(SLEEP, {}, {}, name);
    await engine.http.ok('POST', `/containers/${name}/pause`);
  },
  made: (engine, name) => engine.create(['true'], {}, {}, name),
  exited: async (engine, name) => {
    await engine.start(['sh', '-c', 'exit 3'], {}, {}, name);
    await engine.wait(name);
  },
  readOnly: (engine, name) => engine.start(SLEEP, { ReadonlyRootfs: true }, {}, name),
  unlogged: (engine, name) => engine.start(SLEEP, { LogConfig: { Type: 'none' } }, {}, name),
};

/** Those that the rows speak of. */
async function makeSubjects(engine: Engine, list: readonly Row[]): Promise<void> {
  const text = JSON.stringify(list);
  const named = Object.entries(SUBJECTS).filter(([name]) => text.includes(`/${name}`));
  await Promise.all(named.map(([name, make]) => make(engine, name)));
}

/** Verbs of which each has an answer of 404 for a container that is not there. */
const ON_A_CONTAINER = [
  'GET /containers/nobody/json',
  'GET /containers/nobody/top',
  'GET /containers/nobody/logs?stdout=1',
  'GET /containers/nobody/changes',
  'GET /containers/nobody/export',
  'GET /containers/nobody/stats?stream=0',
  'POST /containers/nobody/resize?h=1&w=1',
  'POST /containers/nobody/start',
  'POST /containers/nobody/stop',
  'POST /containers/nobody/restart',
  'POST /containers/nobody/kill',
  'POST /containers/nobody/rename?name=somebody',
  'POST /containers/nobody/pause',
  'POST /containers/nobody/unpause',
  'POST /containers/nobody/attach?stream=1',
  'GET /containers/nobody/attach/ws',
  'POST /containers/nobody/wait',
  'DELETE /containers/nobody',
  'DELETE /containers/nobody?force=1',
  'GET /containers/nobody/archive?path=/',
];

const rows: Record<string, Row[]> = {
  list: [
    { ask: 'GET /containers/json?limit=-1', status: 200 },
    { ask: `GET /containers/json?${q({ status: [] })}`, status: 200 },
    { ask: 'GET /containers/json?filters=null', status: 200 },
    ours({ ask: 'GET /containers/json?limit=x', status: 400, says: '"x" for parameter limit' }),
    ours({ ask: 'GET /containers/json?limit=1.5', status: 400, says: '"1.5" for parameter limit' }),
    ours({ ask: 'GET /containers/json?filters=x', status: 400, says: 'invalid filters' }),
    { ask: `GET /containers/json?${q({ nope: ['x'] })}`, status: 400, says: "nvalid filter 'nope'" },
    {
      ask: `GET /containers/json?${q({ status: ['nope'] })}`,
      status: 400,
      says: "nvalid filter 'status=nope'",
    },
    ours({ ask: `GET /containers/json?${q({ exited: ['x'] })}`, status: 400, says: "'exited=x'" }),
    ours({ ask: `GET /containers/json?${q({ health: ['sick'] })}`, status: 400, says: "'health=sick'" }),
    ours({ ask: `GET /containers/json?${q({ publish: ['x'] })}`, status: 400, says: "'publish=x'" }),
    ours({ ask: `GET /containers/json?${q({ before: ['nobody'] })}`, status: 404, says: 'nobody' }),
    ours({ ask: 'GET /containers/json?since=nobody', status: 404, says: 'nobody' }),
  ],
  create: [
    { ask: 'POST /containers/create?name=a/b', body: {}, status: 400 },
    {
      ask: 'POST /containers/create?name=run',
      body: { Image: 'busybox', Cmd: ['true'] },
      status: 409,
      says: 'The container name "/run" is already in use by container',
    },
    {
      ask: 'POST /containers/create',
      body: { Image: 'nope:1' },
      status: 404,
      says: 'No such image: nope:1',
    },
    {
      ask: 'POST /containers/create?platform=linux/arm64',
      body: { Image: 'busybox', Cmd: ['true'] },
      status: 404,
      says: 'wanted linux/arm64',
    },
    {
      ask: 'POST /containers/create?platform=a/b/c/d',
      body: { Image: 'busybox', Cmd: ['true'] },
      status: 400,
      says: 'a/b/c/d',
    },
    {
      ask: 'POST /v1.41/containers/create',
      body: { Image: 'busybox', Cmd: ['true'], HostConfig: { KernelMemory: 4096 } },
      status: 400,
      says: 'Minimum kernel memory limit allowed is 6MB',
    },
    { ask: 'POST /containers/create', body: {}, status: 400, says: 'Config cannot be empty' },
    ours({ ask: 'POST /containers/create', status: 400, says: 'EOF' }),
    ours({ ask: 'POST /containers/create', body: [], status: 400, says: 'must be object, got a list' }),
  ],
  top: [
    { ask: 'GET /containers/run/top?ps_args=-o%20pid,comm', status: 200 },
    { ask: 'GET /containers/paused/top', status: 200 },
    { ask: 'GET /containers/made/top', status: 409, says: 'is not running' },
    { ask: 'GET /containers/exited/top', status: 409, says: 'is not running' },
    ours({ ask: 'GET /containers/run/top?ps_args=--nope', status: 400 }),
  ],
  logs: [
    { ask: 'GET /containers/made/logs?stdout=1', status: 200 },
    { ask: 'GET /containers/run/logs', status: 400, says: 'you must choose at least one stream' },
    { ask: 'GET /containers/unlogged/logs?stdout=1', status: 501, says: 'does not support reading' },
    ours({ ask: 'GET /containers/run/logs?stdout=1&tail=x', status: 400, says: '"x" for parameter tail' }),
    ours({ ask: 'GET /containers/run/logs?stdout=1&since=x', status: 400, says: '"x" for parameter since' }),
    ours({ ask: 'GET /containers/run/logs?stdout=1&until=x', status: 400, says: '"x" for parameter until' }),
  ],
  stats: [
    { ask: 'GET /containers/made/stats?stream=0', status: 200 },
    { ask: 'GET /containers/exited/stats?stream=0&one-shot=1', status: 200 },
    {
      ask: 'GET /containers/run/stats?one-shot=1',
      status: 400,
      says: 'cannot have stream=true and one-shot=true',
    },
  ],
  resize: [
    { ask: 'POST /containers/tty/resize?h=10&w=10', status: 200 },
    { ask: 'POST /containers/run/resize?h=10&w=10', status: 200 },
    { ask: 'POST /containers/made/resize?h=1&w=1', status: 409, says: 'is not running' },
    { ask: 'POST /containers/tty/resize?h=x&w=1', status: 400 },
    { ask: 'POST /containers/tty/resize', status: 400 },
  ],
  start: [
    { ask: 'POST /containers/run/start', status: 304 },
    { ask: 'POST /containers/paused/start', status: 409, says: 'unpause' },
    { ask: 'POST /containers/made/start', body: { HostConfig: {} }, status: 400, says: 'removed in v1.24' },
    { ask: 'POST /containers/made/start?checkpoint=x', status: 400, says: 'experimental mode' },
    ours({ ask: 'POST /containers/made/start?checkpoint-dir=/x', status: 400, says: 'not supported' }),
    ours({ ask: 'POST /containers/made/start?detachKeys=nope', status: 400, says: '(nope)' }),
    { ask: 'POST /containers/made/start', body: {}, status: 204 },
  ],
  'stop and restart': [
    { ask: 'POST /containers/made/stop', status: 304 },
    { ask: 'POST /containers/exited/stop', status: 304 },
    ours({ ask: 'POST /containers/run/stop?t=x', status: 400, says: '"x" for parameter t' }),
    ours({ ask: 'POST /containers/run/restart?t=x', status: 400, says: '"x" for parameter t' }),
    ours({ ask: 'POST /containers/run/stop?signal=NOPE', status: 400, says: 'Invalid signal: NOPE' }),
    ours({ ask: 'POST /containers/run/restart?signal=NOPE', status: 400, says: 'Invalid signal: NOPE' }),
    { ask: 'POST /v1.41/containers/tty/stop?signal=NOPE&t=0', status: 204 },
    { ask: 'POST /containers/paused/stop?t=0', status: 204 },
    { ask: 'POST /containers/exited/restart?t=0', status: 204 },
  ],
  kill: [
    { ask: 'POST /containers/exited/kill', status: 409, says: 'is not running' },
    { ask: 'POST /v1.24/containers/made/kill', status: 409, says: 'is not running' },
    { ask: 'POST /containers/run/kill?signal=NOPE', status: 400, says: 'Invalid signal: NOPE' },
    { ask: 'POST /containers/run/kill?signal=0', status: 400, says: 'Invalid signal: 0' },
    ours({ ask: 'POST /containers/run/kill?signal=99', status: 400, says: 'Invalid signal: 99' }),
    { ask: 'POST /containers/run/kill?signal=sigwinch', status: 204 },
    { ask: 'POST /containers/run/kill?signal=28', status: 204 },
    { ask: 'POST /containers/run/kill', status: 204 },
  ],
  rename: [
    { ask: 'POST /containers/made/rename', status: 400 },
    { ask: 'POST /containers/made/rename?name=made', status: 400, says: 'same name as its current name' },
    { ask: 'POST /containers/made/rename?name=%2Fmade', status: 400, says: 'same name as its current name' },
    { ask: 'POST /containers/made/rename?name=a%20b', status: 400, says: 'a b' },
    { ask: 'GET /containers/run/json', status: 200 },
    { ask: 'POST /containers/made/rename?name=run', status: 409, says: 'is already in use by container' },
    { ask: 'POST /containers/made/rename?name=%2Fother', status: 204 },
    { ask: 'GET /containers/other/json', status: 200 },
  ],
  'pause and unpause': [
    { ask: 'POST /containers/paused/pause', status: 409, says: 'is already paused' },
    { ask: 'POST /containers/made/pause', status: 409, says: 'is not running' },
    ours({ ask: 'POST /containers/run/unpause', status: 409, says: 'is not paused' }),
    { ask: 'POST /containers/paused/unpause', status: 204 },
  ],
  attach: [
    { ask: 'POST /containers/paused/attach?stream=1&stdout=1', status: 409, says: 'unpause' },
    { ask: 'POST /containers/run/attach?stream=1&detachKeys=nope', status: 400, says: '(nope)' },
    { ask: 'POST /containers/run/attach', status: 200 },
    { ask: 'POST /containers/made/attach?logs=1&stdout=1', status: 200 },
    { ask: 'GET /containers/run/attach/ws', status: 400 },
  ],
  wait: [
    { ask: 'POST /containers/exited/wait', status: 200, says: '"StatusCode":3' },
    { ask: 'POST /v1.24/containers/exited/wait', status: 200, says: '"StatusCode":3' },
    { ask: 'POST /containers/made/wait', status: 200, says: '"StatusCode":0' },
    ours({ ask: 'POST /containers/exited/wait?condition=nope', status: 400, says: '"nope' }),
    { ask: 'POST /v1.29/containers/exited/wait?condition=nope', status: 200, says: '"StatusCode":3' },
  ],
  remove: [
    { ask: 'DELETE /containers/run', status: 409, says: 'You cannot remove a running container' },
    { ask: 'DELETE /containers/paused', status: 409, says: 'You cannot remove a paused container' },
    { ask: 'DELETE /containers/run/nolink?link=1', status: 404 },
    { ask: 'DELETE /containers/made?v=1', status: 204 },
    { ask: 'DELETE /containers/run?force=1', status: 204 },
  ],
  archive: [
    { ask: 'GET /containers/run/archive', status: 400, says: 'bad parameter: path' },
    { ask: 'GET /containers/run/archive?path=/nope', status: 404, says: '/nope' },
    ours({ ask: 'GET /containers/run/archive?path=/bin/busybox/', status: 400, says: 'not a directory' }),
    { ask: 'HEAD /containers/run/archive', status: 400 },
    { ask: 'HEAD /containers/run/archive?path=/nope', status: 404 },
    { ask: 'HEAD /containers/run/archive?path=/etc', status: 200 },
    { ask: 'PUT /containers/run/archive', body: TAR, status: 400, says: 'bad parameter: path' },
    { ask: 'PUT /containers/run/archive?path=/nope', body: TAR, status: 404, says: '/nope' },
    ours({
      ask: 'PUT /containers/run/archive?path=/bin/busybox',
      body: TAR,
      status: 400,
      says: 'not a directory',
    }),
    ours({ ask: 'PUT /containers/readOnly/archive?path=/', body: TAR, status: 403, says: 'read-only' }),
    ours({ ask: 'PUT /containers/run/archive?path=/', body: Buffer.from('no tar'), status: 400 }),
    { ask: 'PUT /containers/run/archive?path=/', body: TAR, status: 200 },
    { ask: 'PUT /containers/made/archive?path=/', body: TAR, status: 200 },
  ],
  prune: [
    { ask: `POST /containers/prune?${q({ nope: ['x'] })}`, status: 400, says: "nvalid filter 'nope'" },
    ours({ ask: `POST /containers/prune?${q({ until: ['x'] })}`, status: 400, says: '"x"' }),
    ours({ ask: `POST /containers/prune?${q({ until: ['1h', '2h'] })}`, status: 400, says: 'more than one' }),
    { ask: `POST /containers/prune?${q({ label: ['nobody'] })}`, status: 200 },
    { ask: 'POST /v1.24/containers/prune', status: 200 },
  ],
  exec: [
    { ask: 'POST /containers/nobody/exec', body: { Cmd: ['true'] }, status: 404, says: 'nobody' },
    { ask: 'POST /containers/paused/exec', body: { Cmd: ['true'] }, status: 409, says: 'is paused' },
    { ask: 'POST /containers/made/exec', body: { Cmd: ['true'] }, status: 409, says: 'is not running' },
    { ask: 'POST /containers/run/exec', body: {}, status: 400, says: 'No exec command specified' },
    ours({
      ask: 'POST /containers/run/exec',
      body: { Cmd: ['a'], DetachKeys: 'nope' },
      status: 400,
      says: 'nope',
    }),
    ours({
      ask: 'POST /containers/run/exec',
      body: { Cmd: ['a'], WorkingDir: 'x' },
      status: 400,
      says: "'x'",
    }),
    ours({
      ask: 'POST /containers/run/exec',
      body: { Cmd: ['a'], Env: ['=x'] },
      status: 400,
      says: 'entry 0 has no name',
    }),
    ours({ ask: 'POST /containers/run/exec', body: { Cmd: ['a'], User: 'who' }, status: 400, says: 'who' }),
    { ask: 'POST /exec/nobody/start', body: {}, status: 404, says: 'nobody' },
    { ask: 'POST /exec/nobody/resize?h=1&w=1', status: 404 },
    { ask: 'GET /exec/nobody/json', status: 404, says: 'nobody' },
  ],
  update: [
    { ask: 'POST /containers/nobody/update', body: {}, status: 404, says: 'nobody' },
    { ask: 'POST /containers/run/update', body: {}, status: 200 },
    { ask: 'POST /containers/run/update', body: { Memory: 1 }, status: 400, says: 'Minimum memory limit' },
    ours({ ask: 'POST /containers/run/update', body: { Memory: 'x' }, status: 400, says: 'Memory' }),
    ours({ ask: 'POST /containers/run/update', status: 400, says: 'EOF' }),
  ],
  system: [
    { ask: 'GET /_ping', status: 200 },
    { ask: 'HEAD /_ping', status: 200 },
    { ask: 'GET /v9.9/_ping', status: 400, says: 'client version 9.9 is too new' },
    { ask: 'GET /v1.23/info', status: 200 },
    ours({ ask: 'GET /v1.21/info', status: 400, says: 'client version 1.21 is too old' }),
    { ask: 'GET /events?until=1', status: 200 },
    {
      ask: 'GET /events?since=2&until=1',
      status: 400,
      says: '`since` time (2) cannot be after `until` time (1)',
    },
    ours({ ask: 'GET /events?since=x', status: 400, says: '"x" for parameter since' }),
    ours({ ask: `GET /events?until=1&${q({ nope: ['x'] })}`, status: 400, says: "'nope'" }),
    ours({ ask: 'GET /system/df?type=nope', status: 400, says: 'nope' }),
    { ask: 'GET /v1.41/system/df?type=nope', status: 200 },
    ours({ ask: 'POST /auth', status: 400, says: 'EOF' }),
    ours({ ask: 'POST /auth', body: { username: 1 }, status: 400, says: 'username' }),
    { ask: 'GET /nope', status: 404, says: 'page not found' },
    { ask: 'PATCH /info', status: 404, says: 'page not found' },
    { ask: 'POST /containers/run/copy', body: { Resource: '/etc' }, status: 404 },
  ],
};

/** What the engine answered where it is not what the row says. */
async function difference(engine: Engine, { ask, body, status, says = '' }: Row): Promise<string[]> {
  const [method = '', path = ''] = ask.split(' ');
  const answer = await engine.http.request(method, path, body === undefined ? {} : { body });
  const isError = answer.status >= 400 && method !== 'HEAD';
  // An attach of dockerd fails on a connection that is hijacked already: there is no JSON then.
  const hasMessage = onReference || /^\{"message":"[^]+"\}\n$/.test(answer.text);
  const text = answer.text.replaceAll('\\"', '"');
  return answer.status === status && text.includes(says) && (!isError || hasMessage)
    ? []
    : [`${ask} ${JSON.stringify(body)?.slice(0, 100) ?? ''}: ${answer.status} ${answer.text.slice(0, 200)}`];
}

async function differencesOf(engine: Engine, list: readonly Row[]): Promise<string[]> {
  const found: string[] = [];
  for (const row of list.filter(({ isOurs }) => !onReference || isOurs !== true)) {
    found.push(...(await difference(engine, row)));
  }
  return found;
}

describeEngine('answers of each verb', (engine) => {
  test.each(Object.entries(rows))('%s: status and message of each way to ask', async (_verb, list) => {
    await makeSubjects(engine, list);
    expect(await differencesOf(engine, list)).toEqual([]);
  });

  test('a container that is not there is 404, and named', async () => {
    const list = ON_A_CONTAINER.map((ask): Row => ({ ask, status: 404, says: 'No such container: nobody' }));
    expect(await differencesOf(engine, list)).toEqual([]);
  });
});
