import { expect } from 'vitest';
import { until } from '../../../../support/engine/http.ts';
import type { FieldRow } from '../table.ts';

export const lifecycleRows: readonly FieldRow[] = [
  {
    field: 'StopSignal',
    ask: {
      StopSignal: 'USR1',
      Cmd: ['sh', '-c', 'trap "exit 3" USR1; echo up; while :; do sleep 0.05; done'],
    },
    observe: async (look) => {
      await until('the trap', async () => (await look.engine.logs(look.id)).stdout === 'up\n');
      await look.engine.http.ok('POST', `/containers/${look.id}/stop`);
      return (await look.inspect()).State.ExitCode;
    },
    expected: 3,
  },
  {
    field: 'StopTimeout',
    what: 'seconds until SIGKILL',
    // As process 1 sleep ignores SIGTERM.
    ask: { StopTimeout: 1 },
    observe: async (look) => {
      const begin = performance.now();
      await look.engine.http.ok('POST', `/containers/${look.id}/stop`);
      const seconds = (performance.now() - begin) / 1000;
      expect(seconds).toBeGreaterThan(0.9);
      expect(seconds).toBeLessThan(8);
      return (await look.inspect()).State.ExitCode;
    },
    expected: 137,
  },
  {
    field: ['HostConfig.RestartPolicy.Name', 'HostConfig.RestartPolicy.MaximumRetryCount'],
    ask: { Cmd: ['false'], HostConfig: { RestartPolicy: { Name: 'on-failure', MaximumRetryCount: 2 } } },
    observe: async (look) => {
      const seen = await look.engine.untilState(look.id, 'exited');
      return seen.RestartCount;
    },
    expected: 2,
  },
  {
    field: 'HostConfig.AutoRemove',
    ask: { HostConfig: { AutoRemove: true } },
    observe: async (look) => {
      await look.engine.http.ok('POST', `/containers/${look.id}/kill`);
      await until(
        'the container to be gone',
        async () => (await look.engine.http.request('GET', `/containers/${look.id}/json`)).status === 404,
      );
      return 'gone';
    },
    expected: 'gone',
  },
  {
    field: ['HostConfig.LogConfig.Type', 'HostConfig.LogConfig.Config'],
    what: 'none keeps no output',
    ask: { Cmd: ['echo', 'lost'], HostConfig: { LogConfig: { Type: 'none', Config: {} } } },
    observe: async (look) => {
      await look.engine.wait(look.id);
      const { LogPath, HostConfig } = await look.inspect();
      return [LogPath, HostConfig.LogConfig?.Type];
    },
    expected: ['', 'none'],
  },
  {
    field: 'HostConfig.ContainerIDFile',
    what: 'is written by clients, and kept for them',
    ask: { HostConfig: { ContainerIDFile: '/run/client/cid' } },
    observe: async (look) => (await look.inspect()).HostConfig.ContainerIDFile,
    expected: '/run/client/cid',
  },
];
