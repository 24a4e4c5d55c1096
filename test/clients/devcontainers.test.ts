import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { describeEngine } from '../support/engine/engine.ts';

const run = promisify(execFile);
const cli = path.resolve(import.meta.dirname, '../../node_modules/@devcontainers/cli/devcontainer.js');

describeEngine('the dev container CLI', (engine) => {
  it('brings a dev container up from a local image, runs commands in it, and finds it again', async () => {
    const workspace = mkdtempSync(path.join(tmpdir(), 'berth-devcontainer-'));
    mkdirSync(path.join(workspace, '.devcontainer'));
    writeFileSync(
      path.join(workspace, '.devcontainer/devcontainer.json'),
      JSON.stringify({
        image: 'busybox:latest',
        containerEnv: { COLOUR: 'blue' },
        // An image of its own user would be built for the other answer.
        updateRemoteUserUID: false,
        postCreateCommand: 'echo $COLOUR >created',
      }),
    );
    const devcontainer = async (verb: string, ...command: string[]): Promise<string> => {
      const { stdout } = await run(
        process.execPath,
        [cli, verb, '--workspace-folder', workspace, ...command],
        {
          env: {
            PATH: process.env['PATH'],
            HOME: workspace,
            DOCKER_HOST: `unix://${engine.http.socketPath}`,
          },
          timeout: 120_000,
        },
      );
      return stdout;
    };
    const up: unknown = JSON.parse(await devcontainer('up'));
    expect(up).toMatchObject({ outcome: 'success', remoteUser: 'root' });
    expect(readFileSync(path.join(workspace, 'created'), 'utf8')).toBe('blue\n');
    expect(await devcontainer('exec', 'sh', '-c', 'echo in $PWD')).toContain(`/workspaces/`);
    expect(JSON.parse(await devcontainer('up'))).toMatchObject({
      containerId: (await engine.list())[0]?.Id,
    });
  });
});
