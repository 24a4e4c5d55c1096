import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { describeEngine } from '../support/engine/engine.ts';

const run = promisify(execFile);

describeEngine('testcontainers', (engine) => {
  it('starts a container, waits for it, copies into it, runs a command in it and takes it away', async () => {
    const script = path.join(import.meta.dirname, 'testcontainers_client.ts');
    const [file, ...args] = engine.daemon.netns.enter(
      process.execPath,
      '--import',
      import.meta.resolve('tsx'),
      script,
    );
    const { stdout } = await run(file, args, {
      env: {
        PATH: process.env['PATH'],
        DOCKER_HOST: `unix://${engine.http.socketPath}`,
        // Its helper container, which removes what a crashed test left, is an image of a registry.
        TESTCONTAINERS_RYUK_DISABLED: 'true',
      },
      timeout: 120_000,
    });
    expect(JSON.parse(stdout)).toEqual({
      page: 'hello from inside\n',
      output: 'blue\ncopied\n',
      exitCode: 3,
      address: expect.stringMatching(/^172\./) as string,
    });
    expect(await engine.list()).toEqual([]);
  });
});
