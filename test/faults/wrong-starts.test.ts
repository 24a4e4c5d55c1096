import { spawn } from 'node:child_process';
import { chmodSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import type { ContainerCreateRequest } from '../../api/types/container.ts';
import { describeEngine, onReference } from '../support/engine/engine.ts';
import type { Engine } from '../support/engine/engine.ts';
import { until } from '../support/engine/http.ts';
import { differences } from '../support/engine/oracle.ts';

interface WrongStart {
  title: string;
  /** The container; `folder` is an empty directory of the host. */
  body: (folder: string) => ContainerCreateRequest;
  /** Brings about what is wrong, after the container was created; answers how to put it right. */
  spoil: (engine: Engine, folder: string) => Promise<() => Promise<void>>;
  status: number;
  /** 0 = refused before it is tried. */
  exitCode: number;
  message: RegExp;
}

const SLEEP = ['sleep', '600'];
const published = { '80/tcp': [{ HostPort: '8410' }] };
const withPort: ContainerCreateRequest = {
  Cmd: SLEEP,
  ExposedPorts: { '80/tcp': {} },
  HostConfig: { NetworkMode: 'bridge', PortBindings: published },
};
const withTools = (folder: string): ContainerCreateRequest => ({
  Cmd: ['/tools/run'],
  HostConfig: { NetworkMode: 'none', Binds: [`${folder}:/tools`] },
});
const endpointFailure = (why: string): RegExp =>
  new RegExp(
    `^driver failed programming external connectivity on endpoint wrong \\([0-9a-f]{64}\\): ${why} ` +
      '\\(HostConfig.PortBindings: \\{"80/tcp":\\[\\{"HostIp":"","HostPort":"8410"\\}\\]\\}\\)$',
  );
const SCRIPT = '#!/bin/sh\nexec sleep 600\n';

const wrongStarts: readonly WrongStart[] = [
  {
    title: 'a port that a process of the host has',
    body: () => withPort,
    spoil: async ({ daemon }) => {
      const [file, ...args] = daemon.netns.enter('busybox', 'httpd', '-f', '-p', '8410');
      const server = spawn(file, args, { stdio: 'ignore' });
      await until('it to listen', async () => (await daemon.netns.run('ss', '-Hltn')).includes(':8410'));
      return async () => {
        const ended = new Promise((resolve) => {
          server.once('exit', resolve);
        });
        server.kill('SIGKILL');
        await ended;
      };
    },
    status: 500,
    exitCode: 128,
    message: endpointFailure('failed to bind host port 0.0.0.0:8410/tcp: address already in use'),
  },
  {
    title: 'a port that another container has',
    body: () => withPort,
    spoil: async (engine) => {
      const other = await engine.start(SLEEP, { NetworkMode: 'bridge', PortBindings: published });
      return () => engine.remove(other);
    },
    status: 500,
    exitCode: 128,
    message: endpointFailure('Bind for 0.0.0.0:8410 failed: port is already allocated'),
  },
  {
    title: 'a command that does not exist',
    body: withTools,
    spoil: async (_engine, folder) => async () => {
      writeFileSync(path.join(folder, 'run'), SCRIPT, { mode: 0o755 });
    },
    status: 400,
    exitCode: 127,
    message:
      /^OCI runtime create failed: .*exec: "\/tools\/run": stat \/tools\/run: no such file or directory: unknown$/,
  },
  {
    title: 'a command that cannot be executed',
    body: withTools,
    spoil: async (_engine, folder) => {
      writeFileSync(path.join(folder, 'run'), SCRIPT, { mode: 0o644 });
      return async () => chmodSync(path.join(folder, 'run'), 0o755);
    },
    status: 400,
    exitCode: 126,
    message: /^OCI runtime create failed: .*exec: "\/tools\/run": permission denied: unknown$/,
  },
  {
    title: 'a bind whose source is gone',
    body: (folder) => ({
      Cmd: SLEEP,
      HostConfig: {
        NetworkMode: 'none',
        Mounts: [{ Type: 'bind', Source: folder, Target: '/bound' }],
      },
    }),
    spoil: async (_engine, folder) => {
      rmSync(folder, { recursive: true });
      return async () => {
        mkdirSync(folder);
      };
    },
    status: 400,
    exitCode: 0,
    message: /^invalid mount config for type "bind": bind source path does not exist: \S+$/,
  },
];

describeEngine('a start that cannot be', (engine) => {
  test.runIf(!onReference).each(wrongStarts)(
    'for $title says why, leaves nothing behind and succeeds once that is put right',
    async ({ body, spoil, status, exitCode, message }) => {
      const folder = path.join(engine.daemon.paths.root, 'folder');
      mkdirSync(folder, { recursive: true });
      const { Id } = await engine.http.ok<{ Id: string }>('POST', '/containers/create?name=wrong', {
        Image: 'busybox:latest',
        ...body(folder),
      });
      const putRight = await spoil(engine, folder);
      try {
        const answer = await engine.http.request('POST', `/containers/${Id}/start`);
        const said = JSON.parse(answer.text).message;
        expect([answer.status, said]).toEqual([status, expect.stringMatching(message)]);
        const { State } = await engine.inspect(Id);
        expect(State).toMatchObject({
          Status: 'created',
          Running: false,
          Pid: 0,
          ExitCode: exitCode,
          // What is refused before it is tried leaves no mark, as with dockerd.
          Error: exitCode === 0 ? '' : said,
          StartedAt: '0001-01-01T00:00:00Z',
        });
        await expect.poll(() => differences(engine.daemon)).toEqual([]);
      } finally {
        await putRight();
      }
      await engine.http.ok('POST', `/containers/${Id}/start`);
      expect((await engine.inspect(Id)).State).toMatchObject({ Status: 'running', ExitCode: 0, Error: '' });
      await expect.poll(() => differences(engine.daemon)).toEqual([]);
      await engine.remove(Id);
      rmSync(folder, { recursive: true });
    },
  );

  test('with a volume driver that does not exist is refused at create, and makes nothing', async () => {
    const create = (driver: string): ReturnType<typeof engine.http.request> =>
      engine.http.request('POST', '/containers/create?name=wrong', {
        body: {
          Image: 'busybox:latest',
          Cmd: SLEEP,
          HostConfig: {
            NetworkMode: 'none',
            Mounts: [
              { Type: 'volume', Source: 'first', Target: '/first' },
              {
                Type: 'volume',
                Source: 'second',
                Target: '/v',
                VolumeOptions: { DriverConfig: { Name: driver } },
              },
            ],
          },
        },
      });
    const refused = await create('nope');
    expect([refused.status, refused.json]).toEqual([
      404,
      { message: 'create second: error looking up volume plugin nope: plugin "nope" not found' },
    ]);
    expect(await engine.http.ok('GET', '/volumes')).toMatchObject({ Volumes: [] });
    if (!onReference) {
      await expect.poll(() => differences(engine.daemon)).toEqual([]);
    }
    expect((await create('local')).status).toBe(201);
    await engine.http.ok('POST', '/containers/wrong/start');
  });
});
