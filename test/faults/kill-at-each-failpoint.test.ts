import { existsSync, readFileSync, rmSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ContainerInspect } from '../../api/types/container.ts';
import { TestDaemon } from '../support/daemon.ts';
import { sleep, until, type HttpClient } from '../support/http.ts';
import { busyboxImageTar } from '../support/images.ts';
import { needs } from '../support/needs.ts';
import { differences } from '../support/oracle.ts';
import { tar } from '../support/tar.ts';

/**
 * For each verb: its failpoints are listed by running it once with a trace; then, for each of them, a daemon that
 * kills itself there does the verb, a new daemon starts on what is left, the oracle must find nothing lost and nothing
 * leaked, and the verb tried again must succeed.
 */
interface Verb {
  name: string;
  /** Makes what the verb works on, with a healthy daemon. */
  prepare(http: HttpClient): Promise<void>;
  /** The verb itself; failing is normal for a daemon that dies. Also the second attempt, which must not throw. */
  act(http: HttpClient): Promise<void>;
  /** Throws unless the verb has had its effect. */
  verify(http: HttpClient): Promise<void>;
  /** Takes away what verb and preparation made. */
  undo(http: HttpClient): Promise<void>;
}

/** A failpoint as `name@nth`: the nth passing in the life of that daemon. */
interface Point {
  name: string;
  nth: number;
}

const NAME = 'victim';
/** Everything a container can hold on to: address, port, shared memory, named and anonymous volume. */
const BODY = {
  Image: 'busybox:latest',
  Cmd: ['sh', '-c', 'trap "exit 0" TERM; while :; do sleep 0.05; done'],
  ExposedPorts: { '80/tcp': {} },
  Volumes: { '/anonymous': {} },
  HostConfig: {
    NetworkMode: 'bridge',
    IpcMode: 'shareable',
    Binds: ['named:/named'],
    PortBindings: { '80/tcp': [{ HostPort: '8400' }] },
  },
};

const verbs: readonly Verb[] = [
  {
    name: 'create',
    prepare: nothing,
    act: (http) => accept(http, 'POST', `/containers/create?name=${NAME}`, [201, 409], BODY),
    verify: (http) => expectState(http, 'created'),
    undo: removeVictim,
  },
  {
    name: 'start',
    prepare: createVictim,
    act: (http) => accept(http, 'POST', `/containers/${NAME}/start`, [204, 304]),
    verify: (http) => expectState(http, 'running'),
    undo: removeVictim,
  },
  {
    name: 'stop',
    prepare: startVictim,
    act: (http) => accept(http, 'POST', `/containers/${NAME}/stop?t=2`, [204, 304]),
    verify: (http) => expectState(http, 'exited'),
    undo: removeVictim,
  },
  {
    name: 'exit',
    prepare: startVictim,
    act: async (http) => {
      const { State } = await inspect(http);
      if (State.Running) {
        process.kill(State.Pid, 'SIGKILL');
      }
      await accept(http, 'POST', `/containers/${NAME}/wait`, [200]);
    },
    verify: (http) => expectState(http, 'exited'),
    undo: removeVictim,
  },
  {
    name: 'remove',
    prepare: startVictim,
    act: (http) => accept(http, 'DELETE', `/containers/${NAME}?force=1&v=1`, [204, 404]),
    verify: (http) => accept(http, 'GET', `/containers/${NAME}/json`, [404]),
    undo: removeVictim,
  },
  {
    name: 'load',
    prepare: nothing,
    act: (http) => accept(http, 'POST', '/images/load?quiet=1', [200], twoLayers()),
    verify: (http) => accept(http, 'GET', '/images/faulty:1/json', [200]),
    undo: (http) => accept(http, 'DELETE', '/images/faulty:1?force=1', [200, 404]),
  },
];

needs(
  'root',
  'runc',
  'conmon',
  'nft',
  'ip',
  'busybox',
  'built',
)('kill -9 at each failpoint', () => {
  let daemon: TestDaemon;
  let kills = 0;
  beforeAll(async () => {
    daemon = await TestDaemon.start();
    await daemon.loadBusybox();
  });
  afterAll(async () => {
    console.log(`${kills} kills at failpoints of ${verbs.map(({ name }) => name).join(', ')}`);
    await daemon[Symbol.asyncDispose]();
  });

  test.each(verbs)('$name: converges after a kill at each of its failpoints', async (verb) => {
    const points = await tracePoints(daemon, verb);
    expect(points).not.toEqual([]);
    const problems: string[] = [];
    for (const point of points) {
      kills += 1;
      for (const problem of await killAt(daemon, verb, point)) {
        // At once as well: a run takes minutes.
        console.log(`${verb.name}: ${point.name}@${point.nth}: ${problem}`);
        problems.push(`${point.name}@${point.nth}: ${problem}`);
      }
    }
    console.log(`${verb.name}: ${points.length} kills`);
    expect(problems).toEqual([]);
  });
});

/** Runs the verb with a trace; answers first, second and last passing of each failpoint, in order. */
async function tracePoints(daemon: TestDaemon, verb: Verb): Promise<Point[]> {
  const file = daemon.paths.failpointTrace;
  await verb.prepare(daemon.http);
  rmSync(file, { force: true });
  await daemon.restart({ gracefully: true, env: { BERTH_FAILPOINT_TRACE: file } });
  const before = readTrace(file).length;
  await verb.act(daemon.http);
  // What follows the answer (clean-up after an exit) belongs to the verb as well.
  await settled(file);
  const trace = readTrace(file);
  await daemon.restart({ gracefully: true });
  await verb.undo(daemon.http);
  const passed = trace.map((name, index) => ({
    name,
    nth: trace.slice(0, index + 1).filter((other) => other === name).length,
    index,
  }));
  const ofVerb = passed.filter(({ index }) => index >= before);
  return ofVerb.filter(({ name, nth }) => {
    const same = ofVerb.filter((other) => other.name === name).map((other) => other.nth);
    return same.indexOf(nth) < 2 || nth === same.at(-1);
  });
}

/** Problems found; always leaves a healthy daemon without containers. */
async function killAt(daemon: TestDaemon, verb: Verb, point: Point): Promise<string[]> {
  const problems: string[] = [];
  const step = async (what: string, action: () => Promise<unknown>): Promise<void> => {
    try {
      await action();
    } catch (error) {
      problems.push(`${what}: ${String(error)}`);
    }
  };
  await step('prepare', () => verb.prepare(daemon.http));
  await daemon.restart({ gracefully: true, env: { BERTH_FAILPOINTS: `${point.name}=sigkill@${point.nth}` } });
  // The answer of a daemon that dies is no answer; what counts is what it leaves.
  await verb.act(daemon.http).catch(() => undefined);
  await step('die there', () => daemon.ended(5000));
  await daemon.kill9();
  await step('start again', () => daemon.up());
  problems.push(...(await converge(daemon, 'after the kill')));
  await step('second attempt', () => verb.act(daemon.http));
  await step('its effect', () => verb.verify(daemon.http));
  problems.push(...(await converge(daemon, 'after the second attempt')));
  await step('undo', () => verb.undo(daemon.http));
  problems.push(...(await converge(daemon, 'after undo')));
  return problems;
}

/** What the oracle still finds after it had time to settle. */
async function converge(daemon: TestDaemon, when: string): Promise<string[]> {
  let found: string[] = [];
  for (let attempt = 0; attempt < 50; attempt += 1) {
    try {
      found = await differences(daemon);
    } catch (error) {
      found = [String(error)];
    }
    if (found.length === 0) {
      return [];
    }
    await sleep(100);
  }
  return found.map((difference) => `${when}: ${difference}`);
}

async function accept(
  http: HttpClient,
  method: string,
  path: string,
  statuses: number[],
  body?: unknown,
): Promise<void> {
  const answer = await http.request(method, path, body === undefined ? {} : { body });
  if (!statuses.includes(answer.status) || answer.text.includes('errorDetail')) {
    throw new Error(`${method} ${path}: ${answer.status} ${answer.text.slice(0, 300)}`);
  }
}

function inspect(http: HttpClient): Promise<ContainerInspect> {
  return http.ok('GET', `/containers/${NAME}/json`);
}

async function expectState(http: HttpClient, status: string): Promise<void> {
  const { State } = await inspect(http);
  if (State.Status !== status) {
    throw new Error(`${NAME} is ${State.Status}, not ${status}`);
  }
}

async function createVictim(http: HttpClient): Promise<void> {
  await accept(http, 'POST', `/containers/create?name=${NAME}`, [201], BODY);
}

async function startVictim(http: HttpClient): Promise<void> {
  await createVictim(http);
  await accept(http, 'POST', `/containers/${NAME}/start`, [204]);
}

async function removeVictim(http: HttpClient): Promise<void> {
  await accept(http, 'DELETE', `/containers/${NAME}?force=1&v=1`, [204, 404]);
  await accept(http, 'DELETE', '/volumes/named?force=1', [204, 404]);
}

async function nothing(): Promise<void> {
  // The verb needs no preparation.
}

function twoLayers(): Buffer {
  const layer = tar([{ name: 'proof', content: 'second layer' }]);
  return busyboxImageTar({ tags: ['faulty:1'], extraLayers: [layer] });
}

function readTrace(file: string): string[] {
  return existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : [];
}

async function settled(file: string): Promise<void> {
  let seen = -1;
  await until('the trace to end', async () => {
    const length = readTrace(file).length;
    const quiet = length === seen;
    seen = length;
    await sleep(300);
    return quiet;
  });
}
