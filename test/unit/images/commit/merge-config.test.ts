import { expect, test } from 'vitest';
import type { ContainerConfig } from '../../../../api/types/container.ts';
import { mergeRunConfig } from '../../../../daemon/images/commit/merge-config.ts';

const CONTAINER: ContainerConfig = {
  User: 'u',
  Env: ['A=1', 'B=2'],
  Cmd: ['c'],
  Entrypoint: ['e'],
  WorkingDir: '/w',
  Labels: { a: '1' },
  Volumes: { '/v': {} },
  ExposedPorts: { '80/tcp': {} },
  StopSignal: 'SIGINT',
  Healthcheck: { Test: ['CMD', 'x'], Retries: 3 },
};

const table: [string, ContainerConfig, ContainerConfig][] = [
  ['nothing asked is the container', {}, CONTAINER],
  [
    'its own wins',
    { User: 'v', WorkingDir: '/x', StopSignal: '9' },
    { User: 'v', WorkingDir: '/x', StopSignal: '9' },
  ],
  ['environments join by name', { Env: ['B=9', 'C'] }, { Env: ['B=9', 'C', 'A=1'] }],
  ['an entrypoint takes away the command', { Entrypoint: ['n'] }, { Entrypoint: ['n'], Cmd: null }],
  ['an empty entrypoint stays empty', { Entrypoint: [] }, { Entrypoint: [], Cmd: ['c'] }],
  ['a command keeps the entrypoint', { Cmd: ['n'] }, { Entrypoint: ['e'], Cmd: ['n'] }],
  [
    'maps join',
    { Labels: { a: '2', b: '3' }, Volumes: { '/y': {} }, ExposedPorts: { '81/tcp': {} } },
    {
      Labels: { a: '2', b: '3' },
      Volumes: { '/v': {}, '/y': {} },
      ExposedPorts: { '80/tcp': {}, '81/tcp': {} },
    },
  ],
  [
    'a health check is completed',
    { Healthcheck: { Retries: 1 } },
    { Healthcheck: { Test: ['CMD', 'x'], Retries: 1 } },
  ],
];

test.each(table)('mergeRunConfig: %s', (_what, asked, expected) => {
  expect(mergeRunConfig(asked, CONTAINER)).toEqual({ ...CONTAINER, ...expected });
});
