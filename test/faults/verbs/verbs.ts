import { appendFileSync, existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { constants } from 'node:os';
import { dirname } from 'node:path';
import { expect } from 'vitest';
import type { ContainerInspect, ContainerSummary } from '../../../api/types/container.ts';
import type { ExecInspect } from '../../../api/types/exec.ts';
import type { LogConfig } from '../../../api/types/host-config.ts';
import { kill } from '../../support/engine/cleanup.ts';
import { demultiplex, until, type HttpClient } from '../../support/engine/http.ts';
import { busyboxImageTar } from '../../support/images/images.ts';
import { LineReceiver } from '../../support/log-receivers.ts';
import { WAIT_MS } from '../../support/patience.ts';
import { untilCatching } from '../../support/process.ts';
import { buildVerbs } from './build-verbs.ts';
import { fileVerbs } from './file-verbs.ts';
import { imageVerbs } from './image-verbs.ts';
import { networkVerbs } from './network-verbs.ts';
import { registryVerbs } from './registry-verbs.ts';
import type { Verb } from './verb.ts';
import {
  BODY,
  NAME,
  accept,
  acceptOrAlready,
  createVictim,
  expectState,
  inspect,
  nothing,
  pauseVictim,
  publicView,
  removeVictim,
  startVictim,
  unchanged,
} from '../victim.ts';

/** Never started: its volume is filled when another container takes it over. */
const DONOR = { Image: 'busybox:latest', Volumes: { '/etc': {} } };

/** Its own topmost layer, so that what containers have on it has to be made. */
const FRESH_IMAGE = busyboxImageTar({
  tags: ['fresh:latest'],
  extraLayers: [[{ name: 'fresh', content: 'fresh' }]],
});

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
    name: 'create the first container of an image',
    only: /^containers\.(?:init\.|create\.workdir)/,
    checkRefused: unchanged,
    prepare: (http) => accept(http, 'POST', '/images/load?quiet=1', [200], FRESH_IMAGE),
    act: (http) =>
      accept(http, 'POST', `/containers/create?name=${NAME}`, [201, 409], {
        Image: 'fresh:latest',
        WorkingDir: '/work/here',
        HostConfig: { NetworkMode: 'none' },
      }),
    verify: async (http) => {
      await expectState(http, 'created');
      await accept(http, 'GET', `/containers/${NAME}/archive?path=/etc/mtab`, [200]);
    },
    undo: async (http) => {
      await removeVictim(http);
      await accept(http, 'DELETE', '/images/fresh:latest?force=1', [200, 404]);
    },
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
  {
    name: 'start with a terminal',
    only: /^runtime\./,
    checkRefused: (http) => expectState(http, 'created', 'exited'),
    prepare: (http) => createVictim(http, { Tty: true, OpenStdin: true }),
    act: (http) => accept(http, 'POST', `/containers/${NAME}/start`, [204, 304]),
    verify: (http) => expectState(http, 'running'),
    undo: removeVictim,
  },
  ...networkVerbs,
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
        kill(State.Pid);
      }
      await accept(http, 'POST', `/containers/${NAME}/wait`, [200]);
    },
    verify: (http) => expectState(http, 'exited'),
    undo: removeVictim,
  },
  {
    name: 'exit of one that is removed then',
    only: /^containers\.(exit|remove)\./,
    checkRefused: nothing,
    prepare: async (http) => {
      await createVictim(http, { HostConfig: { ...BODY.HostConfig, AutoRemove: true } });
      await accept(http, 'POST', `/containers/${NAME}/start`, [204]);
    },
    act: async (http) => {
      for (const { Id } of await http.ok<ContainerSummary[]>('GET', '/containers/json')) {
        const { status, json } = await http.request('GET', `/containers/${Id}/json`);
        const { State } = json as Partial<ContainerInspect>;
        // An earlier attempt may have ended it, and be removing it now.
        if (status === 200 && State?.Running === true) {
          kill(State.Pid);
        }
      }
      await until('it to be removed', async () => (await publicView(http)).containers.length === 0);
    },
    verify: async (http) => {
      expect((await publicView(http)).containers).toEqual([]);
    },
    undo: removeVictim,
  },
  {
    name: 'probe',
    only: /^(health|runtime\.exec|containers\.fact)\./,
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
    only: /^containers\.(stop|fact)\./,
    checkRefused: nothing,
    prepare: pauseVictim,
    act: (http) => accept(http, 'POST', `/containers/${NAME}/stop?t=2`, [204, 304]),
    verify: (http) => expectState(http, 'exited'),
    undo: removeVictim,
  },
  {
    name: 'stop one that does not listen',
    only: /^containers\.stop\./,
    checkRefused: nothing,
    prepare: async (http) => {
      await createVictim(http, { Cmd: ['sh', '-c', 'trap "" TERM; while :; do sleep 0.05; done'] });
      await accept(http, 'POST', `/containers/${NAME}/start`, [204]);
    },
    act: (http) => accept(http, 'POST', `/containers/${NAME}/stop?t=0`, [204, 304]),
    verify: (http) => expectState(http, 'exited'),
    undo: removeVictim,
  },
  ...['detached', 'with a terminal'].map((how): Verb => ({
    name: `exec ${how}`,
    checkRefused: nothing,
    prepare: startVictim,
    act: (http) => execute(http, how !== 'detached'),
    verify: (http) => expectState(http, 'running'),
    undo: removeVictim,
  })),
  {
    name: 'top',
    checkRefused: nothing,
    prepare: startVictim,
    act: (http) => accept(http, 'GET', `/containers/${NAME}/top`, [200]),
    verify: (http) => expectState(http, 'running'),
    undo: removeVictim,
  },
  {
    name: 'rename',
    checkRefused: unchanged,
    prepare: createVictim,
    // Back and forth: the second attempt begins at whichever name the first one has left.
    act: async (http) => {
      const { status } = await http.request('GET', '/containers/renamed/json');
      const [from, to] = status === 404 ? [NAME, 'renamed'] : ['renamed', NAME];
      await accept(http, 'POST', `/containers/${from}/rename?name=${to}`, [204]);
    },
    verify: async (http) => expect((await publicView(http)).containers).toHaveLength(1),
    undo: async (http) => {
      await accept(http, 'DELETE', '/containers/renamed?force=1&v=1', [204, 404]);
      await removeVictim(http);
    },
  },
  {
    name: 'rotate log',
    repeats: true,
    checkRefused: nothing,
    prepare: startWriter,
    act: async (http) => {
      const { LogPath } = await inspect(http);
      const before = rotatedFiles(LogPath).length;
      await accept(http, 'POST', `/containers/${NAME}/kill?signal=USR1`, [204]);
      await untilWith(http, 'the rotation', () => {
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
    name: 'rotate log, of which two are kept',
    repeats: true,
    only: /^logs\.rotate\.remove/,
    checkRefused: nothing,
    prepare: (http) =>
      startWriter(http, { Type: 'json-file', Config: { 'max-size': '20k', 'max-file': '2' } }),
    // The first rotation has nothing to remove yet.
    act: async (http) => {
      const { LogPath } = await inspect(http);
      const inode = (): number => statSync(LogPath, { throwIfNoEntry: false })?.ino ?? 0;
      for (let round = 0; round < 3; round += 1) {
        const before = inode();
        await accept(http, 'POST', `/containers/${NAME}/kill?signal=USR1`, [204]);
        await untilWith(http, 'the rotation', () => ![before, 0].includes(inode()));
      }
    },
    verify: async (http) => {
      const { LogPath } = await inspect(http);
      await until('the oldest to go', () => rotatedFiles(LogPath).length <= 1);
    },
    undo: removeVictim,
  },
  {
    name: 'deliver log',
    repeats: true,
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
      await untilWith(http, 'the lines', () => (receivers.get(http)?.count ?? 0) > before && hasAll());
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
  ...fileVerbs,
  ...imageVerbs,
  ...buildVerbs,
  ...registryVerbs,
];

const LIMITS = { Memory: 64 << 20, MemorySwap: 64 << 20, CpuShares: 512 };
const NO_LIMITS = { Memory: 0, MemorySwap: 0, CpuShares: 0 };

/** A command that ends by itself, to its end. */
async function execute(http: HttpClient, Tty: boolean): Promise<void> {
  const signal = AbortSignal.timeout(WAIT_MS);
  const body = { AttachStdout: Tty, Tty, Cmd: ['true'] };
  const made = await http.request('POST', `/containers/${NAME}/exec`, { body, signal });
  expect(made.status, made.text).toBe(201);
  const { Id } = made.json as { Id: string };
  await accept(http, 'POST', `/exec/${Id}/start`, [200], { Detach: !Tty, Tty });
  await until('its end', async () => {
    const { Running, ExitCode } = await http.ok<ExecInspect>('GET', `/exec/${Id}/json`);
    return !Running && ExitCode !== null;
  });
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

/** As a power cut leaves it, which the next start mends. */
async function tearLog(http: HttpClient): Promise<void> {
  const { Id } = await inspect(http);
  appendFileSync(`${dirname(http.socketPath)}/data/containers/${Id}/container.log`, '2026-01-01T00:00');
}

/** Of what a daemon does after its answer: there is nothing to wait for when it is dead. */
function untilWith(http: HttpClient, what: string, condition: () => boolean): Promise<void> {
  return until(what, async () => {
    await accept(http, 'GET', '/_ping', [200]);
    return condition();
  });
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
  await untilCatching((await inspect(http)).State.Pid, constants.signals.SIGUSR1);
}

function rotatedFiles(logPath: string): string[] {
  const names = readdirSync(dirname(logPath));
  return names.filter((name) => /^container\.log\.\d+(\.gz)?$/.test(name));
}
