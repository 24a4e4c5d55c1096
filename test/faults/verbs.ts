import { appendFileSync, existsSync, readdirSync, readFileSync } from 'node:fs';
import { constants } from 'node:os';
import { dirname } from 'node:path';
import { expect } from 'vitest';
import type { ContainerInspect, ContainerSummary, LogConfig } from '../../api/types/container.ts';
import type { ImageSummary } from '../../api/types/image.ts';
import { demultiplex, until, type HttpClient } from '../support/http.ts';
import { LineReceiver } from '../support/log-receivers.ts';
import { busyboxImageTar } from '../support/images.ts';
import { tar } from '../support/tar.ts';
import { networkVerbs } from './network-verbs.ts';
import { registryVerbs } from './registry-verbs.ts';

/** What the engine is asked to do while it is made to die or to fail. */
export interface Verb {
  name: string;
  /** Failpoints to try, where another verb covers the others. */
  only?: RegExp;
  /** Throws when it has had an effect although it was refused. `before` is the view before it. */
  checkRefused(http: HttpClient, before: PublicView): Promise<void>;
  /** Makes what the verb works on, with a healthy daemon. */
  prepare(http: HttpClient): Promise<void>;
  /** The verb itself; failing is normal for a daemon that dies. Also the second attempt, which must not throw. */
  act(http: HttpClient): Promise<void>;
  /** Throws unless the verb has had its effect. */
  verify(http: HttpClient): Promise<void>;
  /** Takes away what verb and preparation made. */
  undo(http: HttpClient): Promise<void>;
}

/** The one container that verbs work on. */
export const NAME = 'victim';
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

/** Never started: its volume is filled when another container takes it over. */
const DONOR = { Image: 'busybox:latest', Volumes: { '/etc': {} } };

/** Often until the first success, then not again: a trace of it comes to an end. */
const CHECK = {
  Healthcheck: { Test: ['CMD', 'true'], Interval: 3600e9, StartPeriod: 3600e9, StartInterval: 200e6 },
};

/** What containers of each daemon deliver to. */
const receivers = new Map<HttpClient, LineReceiver>();

export const verbs: readonly Verb[] = [
  {
    name: 'create',
    checkRefused: unchanged,
    prepare: nothing,
    act: (http) => accept(http, 'POST', `/containers/create?name=${NAME}`, [201, 409], BODY),
    verify: async (http) => {
      await expectState(http, 'created');
      // The named one, and one anonymous: no attempt that failed has left another.
      expect((await publicView(http)).volumes).toHaveLength(2);
    },
    undo: removeVictim,
  },
  {
    name: 'create with volumes from',
    checkRefused: unchanged,
    prepare: (http) => accept(http, 'POST', '/containers/create?name=donor', [201], DONOR),
    act: (http) =>
      accept(http, 'POST', `/containers/create?name=${NAME}`, [201, 409], {
        Image: 'busybox:latest',
        HostConfig: { VolumesFrom: ['donor'] },
      }),
    verify: async (http) => {
      await expectState(http, 'created');
      expect((await publicView(http)).volumes).toHaveLength(1);
    },
    undo: async (http) => {
      await removeVictim(http);
      await accept(http, 'DELETE', '/containers/donor?force=1&v=1', [204, 404]);
    },
  },
  {
    name: 'start',
    checkRefused: (http) => expectState(http, 'created', 'exited'),
    prepare: async (http) => {
      await createVictim(http);
      await tearLog(http);
    },
    act: (http) => accept(http, 'POST', `/containers/${NAME}/start`, [204, 304]),
    verify: (http) => expectState(http, 'running'),
    undo: removeVictim,
  },
  ...networkVerbs({
    name: NAME,
    body: BODY,
    start: startVictim,
    remove: removeVictim,
    inspect,
    expectState,
    unchanged,
    accept,
  }),
  {
    name: 'stop',
    checkRefused: nothing,
    prepare: startVictim,
    act: (http) => accept(http, 'POST', `/containers/${NAME}/stop?t=2`, [204, 304]),
    verify: (http) => expectState(http, 'exited'),
    undo: removeVictim,
  },
  {
    name: 'exit',
    checkRefused: nothing,
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
    name: 'probe',
    checkRefused: nothing,
    prepare: (http) => createVictim(http, CHECK),
    act: async (http) => {
      await accept(http, 'POST', `/containers/${NAME}/start`, [204, 304]);
      await until(
        'a healthy container',
        async () => (await inspect(http)).State.Health?.Status === 'healthy',
      );
    },
    verify: (http) => expectState(http, 'running'),
    undo: removeVictim,
  },
  {
    name: 'remove',
    checkRefused: nothing,
    prepare: startVictim,
    act: (http) => accept(http, 'DELETE', `/containers/${NAME}?force=1&v=1`, [204, 404]),
    verify: async (http) => {
      // The anonymous volume goes too, the named one stays.
      const { containers, volumes } = await publicView(http);
      expect([...containers, ...volumes].join(' ')).toBe('named');
    },
    undo: removeVictim,
  },
  {
    name: 'pause',
    checkRefused: (http) => expectState(http, 'running', 'paused'),
    prepare: startVictim,
    act: (http) => acceptOrAlready(http, `/containers/${NAME}/pause`, 'is already paused'),
    verify: (http) => expectState(http, 'paused'),
    undo: removeVictim,
  },
  {
    name: 'unpause',
    checkRefused: (http) => expectState(http, 'running', 'paused'),
    prepare: pauseVictim,
    act: (http) => acceptOrAlready(http, `/containers/${NAME}/unpause`, 'is not paused'),
    verify: (http) => expectState(http, 'running'),
    undo: removeVictim,
  },
  {
    name: 'update',
    checkRefused: (http) => expectLimits(http, NO_LIMITS),
    prepare: startVictim,
    act: (http) => accept(http, 'POST', `/containers/${NAME}/update`, [200], LIMITS),
    verify: (http) => expectLimits(http, LIMITS),
    undo: removeVictim,
  },
  {
    name: 'stop a paused one',
    checkRefused: nothing,
    prepare: pauseVictim,
    act: (http) => accept(http, 'POST', `/containers/${NAME}/stop?t=2`, [204, 304]),
    verify: (http) => expectState(http, 'exited'),
    undo: removeVictim,
  },
  {
    name: 'rotate log',
    checkRefused: nothing,
    prepare: startWriter,
    act: async (http) => {
      const { LogPath } = await inspect(http);
      const before = rotatedFiles(LogPath).length;
      await accept(http, 'POST', `/containers/${NAME}/kill?signal=USR1`, [204]);
      await until('the rotation', () => {
        const files = rotatedFiles(LogPath);
        return files.length > before && files.every((name) => name.endsWith('.gz'));
      });
    },
    verify: async (http) => {
      const { bytes } = await http.request('GET', `/containers/${NAME}/logs?stdout=1`);
      const lines = demultiplex(bytes).stdout.trim().split('\n').map(Number);
      expect(lines).toEqual(lines.map((_, index) => index + 1));
    },
    undo: removeVictim,
  },
  {
    name: 'deliver log',
    checkRefused: nothing,
    prepare: async (http) => {
      const receiver = new LineReceiver(`${http.socketPath}.lines`);
      await receiver.up();
      receivers.set(http, receiver);
      const Config = { 'syslog-address': `unix://${receiver.path}` };
      await startWriter(http, { Type: 'syslog', Config });
    },
    act: async (http) => {
      const before = receivers.get(http)?.count ?? 0;
      await accept(http, 'POST', `/containers/${NAME}/kill?signal=USR1`, [204]);
      const hasAll = (): boolean => Number(receivers.get(http)?.lines().at(-1)) % 1000 === 0;
      await until('the lines', () => (receivers.get(http)?.count ?? 0) > before && hasAll());
    },
    verify: async (http) => {
      // Lines may come twice after a kill; none is missing.
      const lines = [...new Set(receivers.get(http)?.lines())].map(Number).toSorted((a, b) => a - b);
      expect(lines).toEqual(lines.map((_, index) => index + 1));
    },
    undo: async (http) => {
      await removeVictim(http);
      await receivers.get(http)?.down();
      receivers.delete(http);
    },
  },
  ...['running', 'created'].map((state): Verb => ({
    name: `put archive, ${state}`,
    checkRefused: nothing,
    prepare: async (http) => {
      await createVictim(http);
      if (state === 'running') {
        await accept(http, 'POST', `/containers/${NAME}/start`, [204]);
      }
    },
    act: (http) => accept(http, 'PUT', `/containers/${NAME}/archive?path=/named`, [200], copied()),
    verify: async (http) => {
      // Into the volume, which any container sees.
      await accept(http, 'HEAD', `/containers/${NAME}/archive?path=/named/deep/file`, [200]);
    },
    undo: removeVictim,
  })),
  // One of each way to the files: layers, the whole mount, and both compared.
  ...(
    [
      ['archive?path=/etc', 'created'],
      ['export', 'running'],
      ['changes', 'created'],
    ] as const
  ).map(([what, state]): Verb => ({
    name: `get ${what.replace(/\?.*/, '')}, ${state}`,
    checkRefused: nothing,
    prepare: state === 'running' ? startVictim : createVictim,
    act: (http) => accept(http, 'GET', `/containers/${NAME}/${what}`, [200]),
    verify: (http) => expectState(http, state),
    undo: removeVictim,
  })),
  {
    name: 'load',
    checkRefused: unchanged,
    prepare: nothing,
    act: (http) => accept(http, 'POST', '/images/load?quiet=1', [200], twoLayers()),
    verify: (http) => accept(http, 'GET', '/images/faulty:1/json', [200]),
    undo: (http) => accept(http, 'DELETE', '/images/faulty:1?force=1', [200, 404]),
  },
  ...registryVerbs({ unchanged, accept }),
];

const LIMITS = { Memory: 64 << 20, MemorySwap: 64 << 20, CpuShares: 512 };
const NO_LIMITS = { Memory: 0, MemorySwap: 0, CpuShares: 0 };

/** Longer than any verb takes, stop with its timeout included: who has no answer by then hangs. */
const ANSWER_TIMEOUT_MS = 15_000;

async function accept(
  http: HttpClient,
  method: string,
  path: string,
  statuses: number[],
  body?: unknown,
): Promise<void> {
  const signal = AbortSignal.timeout(ANSWER_TIMEOUT_MS);
  const answer = await http.request(method, path, { signal, ...(body === undefined ? {} : { body }) });
  if (!statuses.includes(answer.status) || answer.text.includes('errorDetail')) {
    throw new Error(`${method} ${path}: ${answer.status} ${answer.text.slice(0, 300)}`);
  }
}

function inspect(http: HttpClient): Promise<ContainerInspect> {
  return http.ok('GET', `/containers/${NAME}/json`);
}

async function expectState(http: HttpClient, ...statuses: string[]): Promise<void> {
  const { State } = await inspect(http);
  expect(statuses).toContain(State.Status);
}

async function createVictim(http: HttpClient, more: object = {}): Promise<void> {
  await accept(http, 'POST', `/containers/create?name=${NAME}`, [201], { ...BODY, ...more });
}

/** As a power cut leaves it, which the next start mends. */
async function tearLog(http: HttpClient): Promise<void> {
  const { Id } = await inspect(http);
  appendFileSync(`${dirname(http.socketPath)}/data/containers/${Id}/container.log`, '2026-01-01T00:00');
}

async function startVictim(http: HttpClient): Promise<void> {
  await createVictim(http);
  await accept(http, 'POST', `/containers/${NAME}/start`, [204]);
}

/** What inspect says, and that the kernel does not say otherwise. */
async function expectLimits(http: HttpClient, limits: typeof LIMITS): Promise<void> {
  const { HostConfig, State } = await inspect(http);
  expect(HostConfig).toMatchObject(limits);
  const shares = limits.CpuShares || 1024;
  expect(controlFile(State.Pid, 'cpu.shares', 'cpu.weight')).toMatch(
    new RegExp(`^(${shares}|${1 + Math.floor(((shares - 2) * 9999) / 262_142)}|100)\n$`),
  );
  expect(controlFile(State.Pid, 'memory.limit_in_bytes', 'memory.max')).toMatch(
    limits.Memory === 0 ? /^(9223372036854771712|max)\n$/ : new RegExp(`^${limits.Memory}\n$`),
  );
}

/** A file of the cgroup that a process is in, whichever hierarchy has it. */
function controlFile(pid: number, ...names: string[]): string {
  for (const line of readFileSync(`/proc/${pid}/cgroup`, 'utf8').trim().split('\n')) {
    const [, controllers = '', path = ''] = /^\d+:([^:]*):(.*)$/.exec(line) ?? [];
    for (const name of names) {
      const file = `/sys/fs/cgroup/${controllers.replace(/^name=/, '')}${path}/${name}`;
      if (existsSync(file)) {
        return readFileSync(file, 'utf8');
      }
    }
  }
  throw new Error(`no ${names[0]} for ${pid}`);
}

async function pauseVictim(http: HttpClient): Promise<void> {
  await startVictim(http);
  const { State } = await inspect(http);
  // Frozen before its shell has set the trap, it would not take a stop signal.
  await until('the trap to be set', () => catches(State.Pid, constants.signals.SIGTERM));
  await accept(http, 'POST', `/containers/${NAME}/pause`, [204]);
}

/** Whether a process has a handler for the signal (proc(5), SigCgt). */
function catches(pid: number, signal: number): boolean {
  const mask = /^SigCgt:\s+([0-9a-f]+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? '0';
  return (BigInt(`0x${mask}`) & (1n << BigInt(signal - 1))) !== 0n;
}

/** A second attempt may find that the first one got as far as its effect. */
async function acceptOrAlready(http: HttpClient, path: string, already: string): Promise<void> {
  const answer = await http.request('POST', path, { signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS) });
  if (answer.status !== 204 && !(answer.status === 409 && answer.text.includes(already))) {
    throw new Error(`POST ${path}: ${answer.status} ${answer.text.slice(0, 300)}`);
  }
}

/** Writes the next thousand numbers at each SIGUSR1. */
async function startWriter(http: HttpClient, logConfig?: LogConfig): Promise<void> {
  const more = 'n=$((i+1000)); while [ $i -lt $n ]; do i=$((i+1)); echo $i; done';
  const LogConfig = logConfig ?? {
    Type: 'json-file',
    Config: { 'max-size': '20k', 'max-file': '99', compress: 'true' },
  };
  await accept(http, 'POST', `/containers/create?name=${NAME}`, [201], {
    Image: 'busybox:latest',
    Cmd: ['sh', '-c', `i=0; trap '${more}' USR1; while :; do sleep 0.05; done`],
    HostConfig: { NetworkMode: 'none', LogConfig },
  });
  await accept(http, 'POST', `/containers/${NAME}/start`, [204]);
}

function rotatedFiles(logPath: string): string[] {
  const names = readdirSync(dirname(logPath));
  return names.filter((name) => /^container\.log\.\d+(\.gz)?$/.test(name));
}

async function removeVictim(http: HttpClient): Promise<void> {
  await accept(http, 'DELETE', `/containers/${NAME}?force=1&v=1`, [204, 404]);
  await accept(http, 'DELETE', '/volumes/named?force=1', [204, 404]);
}

async function unchanged(http: HttpClient, before: PublicView): Promise<void> {
  expect(await publicView(http)).toEqual(before);
}

async function nothing(): Promise<void> {
  // Nothing to prepare, or nothing to check.
}

function copied(): Buffer {
  return tar([
    { name: 'deep/', mode: 0o700 },
    { name: 'deep/file', content: 'copied' },
    { name: 'link', type: '2', linkName: 'deep' },
  ]);
}

function twoLayers(): Buffer {
  const layer = tar([{ name: 'proof', content: 'second layer' }]);
  return busyboxImageTar({ tags: ['faulty:1'], extraLayers: [layer] });
}

/** What a user sees: which containers in which state, volumes, images. */
export type PublicView = Record<'containers' | 'volumes' | 'images', string[]>;

export async function publicView(http: HttpClient): Promise<PublicView> {
  const containers = await http.ok<ContainerSummary[]>('GET', '/containers/json?all=1');
  const { Volumes } = await http.ok<{ Volumes: { Name: string }[] | null }>('GET', '/volumes');
  const images = await http.ok<ImageSummary[]>('GET', '/images/json?all=1');
  return {
    containers: containers.map(({ Names, State }) => `${Names.join(' ')} ${State}`).toSorted(),
    volumes: (Volumes ?? []).map(({ Name }) => Name).toSorted(),
    images: images.flatMap(({ Id, RepoTags }) => [Id, ...RepoTags]).toSorted(),
  };
}
