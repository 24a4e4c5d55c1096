import { spawn, spawnSync } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { silentLogger } from '../../../daemon/base/logger.ts';
import { holdPidfile, lockDataRoot } from '../../../daemon/boot/host/lock.ts';
import { Notifier } from '../../../daemon/boot/notify.ts';

const repository = join(import.meta.dirname, '../../..');
let folder: string;
let child: ChildProcess | undefined;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'bth-boot-'));
});

afterEach(() => {
  child?.kill('SIGKILL');
  child = undefined;
  rmSync(folder, { recursive: true });
});

const tsx = (...args: string[]): string[] => ['--import', 'tsx', ...args];

/** Runs the program to its end. */
function berthd(...argv: string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, tsx('daemon/main.ts', ...argv), {
    cwd: repository,
    encoding: 'utf8',
    env: { PATH: process.env['PATH'] },
  });
  return { status, stdout, stderr };
}

test('--help, --version and --validate answer and end', () => {
  const config = join(folder, 'daemon.json');
  writeFileSync(config, '{"mtu": 1400}');
  expect(berthd('--help')).toMatchObject({
    status: 0,
    stdout: expect.stringContaining('--data-root') as string,
  });
  expect(berthd('--version').stdout).toMatch(/^Berth version \d+\.\d+\.\d+\n$/);
  expect(berthd('--validate', '--config-file', config)).toEqual({
    status: 0,
    stdout: 'configuration OK\n',
    stderr: '',
  });
});

test('a wrong configuration is one line and exit code 1', () => {
  const config = join(folder, 'daemon.json');
  writeFileSync(config, '{"colour": 1}');
  expect(berthd('--validate', '--config-file', config)).toEqual({
    status: 1,
    stdout: '',
    stderr: `berthd: configuration file ${config}: unknown key "colour"\n`,
  });
});

test('a data root in use is one line with the pid of its daemon, and free again when that is killed', async () => {
  const root = join(folder, 'root');
  const script = join(folder, 'holder.mts');
  writeFileSync(
    script,
    `import { lockDataRoot } from '${repository}/daemon/boot/host/lock.ts';
     lockDataRoot('${root}');
     console.log('held');
     setInterval(() => {}, 1000);`,
  );
  child = spawn(process.execPath, tsx(script), { cwd: repository, stdio: ['ignore', 'pipe', 'inherit'] });
  await once(child.stdout!, 'data');
  expect(statSync(root).mode & 0o777).toBe(0o710);
  expect(() => lockDataRoot(root)).toThrow(
    expect.objectContaining({
      code: 'conflict',
      message: `data root ${root} is in use by another berthd (pid ${child.pid})`,
    }),
  );
  child.kill('SIGKILL');
  await once(child, 'exit');
  using held = lockDataRoot(root);
  expect(readFileSync(held.path, 'utf8')).toBe(`${process.pid}\n`);
});

test('the pid file goes with its daemon', () => {
  const path = join(folder, 'run/berth.pid');
  const held = holdPidfile(path);
  expect(readFileSync(path, 'utf8')).toBe(`${process.pid}\n`);
  expect(() => holdPidfile(path)).toThrow(
    `pid file ${path} is in use by another berthd (pid ${process.pid})`,
  );
  held[Symbol.dispose]();
  expect(existsSync(path)).toBe(false);
});

test.each(['path', 'abstract'])('systemd is told by a socket with a name that is %s', async (kind) => {
  const socket = kind === 'path' ? join(folder, 'notify.sock') : `@bth-notify-${process.pid}`;
  const listener = `
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1].replace('@', '\\0', 1))
print('bound', flush=True)
for _ in range(5):
    print(s.recv(4096).decode().split('\\n')[0], flush=True)
`;
  child = spawn('python3', ['-c', listener, socket], { stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  child.stdout!.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  await once(child.stdout!, 'data');
  using notifier = new Notifier({ settings: { socket, watchdogMs: 40 }, log: silentLogger });
  notifier.ready();
  notifier.reloading();
  notifier.ready();
  notifier.stopping();
  await once(child, 'exit');
  expect(output.split('\n')).toEqual([
    'bound',
    'READY=1',
    'RELOADING=1',
    'READY=1',
    'STOPPING=1',
    'WATCHDOG=1',
    '',
  ]);
});

test('a notification nobody takes does not disturb', () => {
  const notifier = new Notifier({
    settings: { socket: join(folder, 'none'), watchdogMs: null },
    log: silentLogger,
  });
  expect(() => notifier.ready()).not.toThrow();
});
