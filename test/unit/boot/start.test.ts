import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { addresses } from '../../../daemon/boot/host/addresses.ts';
import { loadConfig } from '../../../daemon/boot/config/config.ts';
import { readFlags } from '../../../daemon/boot/config/flags.ts';
import { readPassedSockets } from '../../../daemon/boot/listen-fds.ts';
import { readNotifySettings } from '../../../daemon/boot/notify.ts';
import { preflight } from '../../../daemon/boot/host/preflight.ts';
import type { PreflightHost } from '../../../daemon/boot/host/preflight.ts';
import { ENGINE_VERSION } from '../../../daemon/boot/version.ts';

function config(...argv: string[]) {
  return loadConfig({ commandLine: readFlags(argv), environment: {}, readFile: () => undefined });
}

const FINE: PreflightHost = { userId: () => 0, isProgram: () => true, answers: async () => false };

test.each<[Partial<PreflightHost>, string[], string | undefined]>([
  [{}, [], undefined],
  [{ userId: () => 1000 }, [], 'berthd needs to run as root'],
  [
    { isProgram: (program) => program !== 'runc' },
    [],
    'runc: runc is not there or cannot be executed; on Debian',
  ],
  [
    { isProgram: (program) => program !== '/opt/runc' },
    ['--add-runtime=runc=/opt/runc'],
    'runc: /opt/runc is not there or cannot be executed',
  ],
  [{ isProgram: (program) => program !== 'conmon' }, [], 'conmon: conmon is not there'],
  [{ isProgram: (program) => program !== '/init' }, ['--init-path=/init'], 'init-path: /init is not there'],
  [{ answers: async (path) => path === '/b' }, ['-H', 'unix:///a', '-H', 'unix:///b'], 'unix:///b is in use'],
])('preflight: case %#, %j %j', async (host, argv, message) => {
  const checking = preflight(config(...argv), { ...FINE, ...host });
  await (message === undefined
    ? expect(checking).resolves.toBeUndefined()
    : expect(checking).rejects.toThrow(message));
});

test.each<[Record<string, string>, ReturnType<typeof readPassedSockets>]>([
  [{}, []],
  [{ LISTEN_PID: '7', LISTEN_FDS: '1' }, [{ fd: 3, name: 'unknown' }]],
  [
    { LISTEN_PID: '7', LISTEN_FDS: '2', LISTEN_FDNAMES: 'api:' },
    [
      { fd: 3, name: 'api' },
      { fd: 4, name: 'unknown' },
    ],
  ],
  [{ LISTEN_PID: '8', LISTEN_FDS: '1' }, []],
  [{ LISTEN_PID: '7', LISTEN_FDS: 'x' }, []],
])('readPassedSockets: %j', (environment, sockets) => {
  expect(readPassedSockets(environment, 7)).toEqual(sockets);
});

test.each<[Record<string, string>, ReturnType<typeof readNotifySettings>]>([
  [{}, { socket: null, watchdogMs: null }],
  [
    { NOTIFY_SOCKET: '/run/n', WATCHDOG_USEC: '30000000', WATCHDOG_PID: '7' },
    { socket: '/run/n', watchdogMs: 30_000 },
  ],
  [
    { NOTIFY_SOCKET: '@n', WATCHDOG_USEC: '30000000', WATCHDOG_PID: '8' },
    { socket: '@n', watchdogMs: null },
  ],
  [
    { NOTIFY_SOCKET: 'vsock:2:1', WATCHDOG_USEC: '1000' },
    { socket: null, watchdogMs: 1 },
  ],
])('readNotifySettings: %j', (environment, settings) => {
  expect(readNotifySettings(environment, 7)).toEqual(settings);
});

describe('addresses', () => {
  const facts = {
    passed: [
      { fd: 3, name: 'api' },
      { fd: 4, name: 'other' },
    ],
    groups: 'root:x:0:\ndocker:x:118:alice\n',
    readFile: (path: string) => `PEM of ${path}`,
  };

  test('come from hosts, group and certificates', () => {
    const argv = [
      '-H',
      'unix:///a',
      '-H',
      'fd://api',
      '-H',
      'fd://',
      '-H',
      'tcp://[::1]',
      '-H',
      'tcp://0.0.0.0:1',
    ];
    const tls = ['--tlsverify', '--tlscacert=ca', '--tlscert=cert', '--tlskey=key'];
    const pem = { certificate: 'PEM of cert', key: 'PEM of key', ca: 'PEM of ca' };
    expect(addresses(config(...argv, ...tls), facts)).toEqual({
      addresses: [
        { kind: 'unix', path: '/a', gid: 118 },
        { kind: 'inherited', fd: 3 },
        { kind: 'inherited', fd: 3 },
        { kind: 'inherited', fd: 4 },
        { kind: 'tcp', host: '::1', port: 2376, tls: pem },
        { kind: 'tcp', host: '0.0.0.0', port: 1, tls: pem },
      ],
      warnings: [],
    });
  });

  test.each([
    ['42', 42, 0],
    ['', 0, 0],
    ['nobody-has-this', 0, 1],
    ['doc', 0, 1],
  ])('group %j is number %d', (group, gid, warnings) => {
    const found = addresses(config(`--group=${group}`), facts);
    expect([found.addresses[0], found.warnings.length]).toEqual([
      { kind: 'unix', path: '/run/berth.sock', gid },
      warnings,
    ]);
  });

  test('a socket that systemd did not pass is refused', () => {
    expect(() => addresses(config('-H', 'fd://none'), facts)).toThrow(
      'fd://none: systemd passed no such socket',
    );
  });
});

test('ENGINE_VERSION is that of the package', () => {
  const manifest: unknown = JSON.parse(
    readFileSync(join(import.meta.dirname, '../../../package.json'), 'utf8'),
  );
  expect(manifest).toMatchObject({ version: ENGINE_VERSION });
});

test.each<[string, boolean]>([
  ['', false],
  ['127.0.0.1:9323', false],
  ['[::1]:9323', false],
  ['localhost:9323', false],
  [':9323', true],
  ['0.0.0.0:9323', true],
  ['[::]:9323', true],
  ['host1:9323', true],
])('addresses: metrics at %j warn of other machines: %j', (address, warns) => {
  const facts = { passed: [], groups: 'docker:x:5:', readFile: () => '' };
  const { warnings } = addresses(config('--metrics-addr', address), facts);
  expect(warnings).toEqual(
    warns ? [`metrics-addr: ${address} can be reached from other machines, without TLS or a password`] : [],
  );
});
