import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { until } from '../../support/engine/http.ts';
import { needs } from '../../support/needs.ts';

const repository = join(import.meta.dirname, '../../..');
let folder: string;
let child: ChildProcess | undefined;
let output = '';

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'bth-life-'));
  output = '';
});

afterEach(() => {
  child?.kill('SIGKILL');
  rmSync(folder, { recursive: true });
});

/** Starts a daemon that is all of daemon/boot around an engine of a few lines; `body` are the engine's methods. */
async function start(body: string): Promise<ChildProcess> {
  const script = join(folder, 'daemon.mts');
  writeFileSync(
    script,
    `import { createLogger } from '${repository}/daemon/base/logger.ts';
     import { loadConfig } from '${repository}/daemon/boot/config/config.ts';
     import { readFlags } from '${repository}/daemon/boot/config/flags.ts';
     import { run } from '${repository}/daemon/boot/run.ts';
     import { readFileSync } from 'node:fs';
     const argv = ['--config-file', '${folder}/daemon.json', '--data-root', '${folder}/data', '--exec-root',
       '${folder}/run', '--pidfile', '${folder}/pid', '--host', 'unix://${folder}/sock', '--group='];
     const load = () => loadConfig({ commandLine: readFlags(argv), environment: {},
       readFile: (path) => readFileSync(path, 'utf8') });
     const log = await createLogger({ level: 'info', pretty: false });
     setInterval(() => {}, 1000);
     await run({ config: load(), log, loadConfig: load, compose: async () => ({ ${body} }) });`,
  );
  writeFileSync(join(folder, 'daemon.json'), '{"labels": ["a=1"]}');
  child = spawn(process.execPath, ['--import', 'tsx', script], {
    cwd: repository,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  child.stderr!.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  child.stdout!.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  await until('the daemon to be ready', () => output.includes('berthd is ready'));
  return child;
}

needs(
  'root',
  'runc',
  'conmon',
)('run', () => {
  test('SIGTERM stops the engine, takes the pid file away and ends with 0', async () => {
    const daemon = await start(`reload: async () => {}, stop: async () => console.log('engine stopped')`);
    expect(readFileSync(join(folder, 'pid'), 'utf8')).toBe(`${daemon.pid}\n`);
    daemon.kill('SIGTERM');
    expect(await once(daemon, 'exit')).toEqual([0, null]);
    expect(output).toContain('engine stopped');
    expect(existsSync(join(folder, 'pid'))).toBe(false);
  });

  test('an engine that does not stop keeps nobody waiting for more than the shutdown timeout', async () => {
    const daemon = await start(`reload: async () => {}, stop: () => new Promise(() => {})`);
    const begun = performance.now();
    daemon.kill('SIGTERM');
    expect(await once(daemon, 'exit')).toEqual([0, null]);
    expect(performance.now() - begun).toBeLessThan(20_000);
    expect(output).toContain('stopping took too long');
  });

  test('SIGHUP hands over the reloadable settings; a wrong file changes nothing', async () => {
    const daemon = await start(
      `reload: async (config) => console.log(JSON.stringify(config.labels)), stop: async () => {}`,
    );
    writeFileSync(join(folder, 'daemon.json'), '{"labels": ["b=2"], "mtu": 1400}');
    daemon.kill('SIGHUP');
    await until('the reload', () => output.includes('configuration read again'));
    expect(output).toContain('["b=2"]');
    expect(output).toContain('"taken":["labels"],"needRestart":["mtu"]');
    writeFileSync(join(folder, 'daemon.json'), '{"labels": 7}');
    daemon.kill('SIGHUP');
    await until('the refusal', () => output.includes('the configuration was not read again'));
    expect(output).toContain('labels: must be array, not 7');
    expect(daemon.exitCode).toBeNull();
  });

  test('SIGUSR1 tells the state instead of opening a debugger', async () => {
    const daemon = await start(`reload: async () => {}, stop: async () => {}`);
    daemon.kill('SIGUSR1');
    await until('the state', () => output.includes('state of the daemon'));
    expect(output).not.toContain('Debugger listening');
  });

  test('an error that nobody caught is logged and ends the daemon with 2', async () => {
    const daemon = await start(
      `reload: async () => { setTimeout(() => { throw new Error('a bug') }) }, stop: async () => {}`,
    );
    daemon.kill('SIGHUP');
    expect(await once(daemon, 'exit')).toEqual([2, null]);
    expect(output).toMatch(/"level":"fatal".*a bug/);
  });
});
