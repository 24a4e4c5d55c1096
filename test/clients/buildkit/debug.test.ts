import { mkdirSync, writeFileSync } from 'node:fs';
import { spawn } from 'node-pty';
import { beforeAll, expect, test } from 'vitest';
import { describeEngine } from '../../support/engine/engine.ts';
import { until } from '../../support/engine/http.ts';
import { hasTrixie, inTrixie } from '../../support/trixie.ts';

/** Debian 13's buildx 0.13 wants a terminal for this, and to be told that it may. */
const MADE = 'FROM busybox\nRUN echo of-the-build >/made\n';
const FAILS = 'FROM busybox\nRUN echo before-it-failed >/left && exit 7\n';

describeEngine('buildx debug build: a shell in what was built', (engine) => {
  const root = (): string => engine.daemon.paths.root;
  /** Debugs a build of this folder, has the shell print `file`, leaves both, and answers what stood on the screen. */
  const debug = async (
    folder: string,
    on: string,
    file: string,
  ): Promise<{ screen: string; code: number }> => {
    const invoked = ['debug', '--invoke=/bin/sh', `--on=${on}`, 'build', '--progress=plain'];
    const [program, ...args] = inTrixie('docker', 'buildx', ...invoked, `${root()}/${folder}`);
    const env = {
      PATH: process.env['PATH'] ?? '',
      HOME: root(),
      DOCKER_HOST: `unix://${engine.daemon.paths.socket}`,
      BUILDX_EXPERIMENTAL: '1',
    };
    const terminal = spawn(program, args, { env, cols: 120, rows: 30 });
    let screen = '';
    terminal.onData((data) => {
      screen += data;
    });
    const ended = new Promise<number>((resolve) => {
      terminal.onExit(({ exitCode }) => resolve(exitCode));
    });
    const shows = (text: string): Promise<void> =>
      until(`${text} on the screen`, () => screen.includes(text));
    try {
      await shows('/ # ');
      terminal.write(`cat ${file}; echo "shell $((40 + 2))"\n`);
      await shows('shell 42');
      terminal.write('exit\n');
      await shows('(buildx)');
      // It has the terminal raw.
      terminal.write('exit\r');
      return { code: await ended, screen };
    } finally {
      terminal.kill();
    }
  };

  beforeAll(() => {
    for (const [folder, text] of Object.entries({ made: MADE, fails: FAILS })) {
      mkdirSync(`${root()}/${folder}`);
      writeFileSync(`${root()}/${folder}/Dockerfile`, text);
    }
  });

  test.runIf(hasTrixie())('--invoke: in the result, once the build has ended well', async () => {
    const { screen, code } = await debug('made', 'always', '/made');
    expect(screen).toMatch(/^of-the-build\r$/m);
    expect(screen).not.toContain('berth-result');
    expect(code).toBe(0);
  });

  test.runIf(hasTrixie())('--on=error: in what the command that failed has left', async () => {
    const { screen, code } = await debug('fails', 'error', '/left');
    expect(screen).toMatch(/^before-it-failed\r$/m);
    expect(screen).toContain('did not complete successfully: exit code: 7');
    expect(code).toBe(1);
  });
});
