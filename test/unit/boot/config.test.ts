import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { loadConfig } from '../../../daemon/boot/config/config.ts';
import { fileKey } from '../../../daemon/boot/config/kinds.ts';
import { readFlags } from '../../../daemon/boot/config/flags.ts';
import { reloadAttributes, reloadConfig } from '../../../daemon/boot/config/reload.ts';
import { settingEntries, settings } from '../../../daemon/boot/config/settings.ts';
import { helpText } from '../../../daemon/boot/help.ts';

interface Given {
  argv?: string[];
  environment?: Record<string, string>;
  file?: unknown;
}

function load({ argv = [], environment = {}, file = {} }: Given = {}) {
  return loadConfig({
    commandLine: readFlags(argv),
    environment,
    readFile: (path) =>
      path === '/etc/berth/daemon.json'
        ? typeof file === 'string'
          ? file
          : JSON.stringify(file)
        : undefined,
  });
}

describe('loadConfig', () => {
  test('prefers flags over environment over file over defaults', () => {
    const file = { 'log-level': 'warn', mtu: 1400, dns: ['1.1.1.1'], group: 'file' };
    const environment = { BERTH_LOG_LEVEL: 'error', BERTH_MTU: '1300', BERTH_DNS: '2.2.2.2,3.3.3.3' };
    const { logLevel, mtu, dns, group, ip } = load({ file, environment, argv: ['--log-level=fatal'] });
    expect({ logLevel, mtu, dns, group, ip }).toEqual({
      logLevel: 'fatal',
      mtu: 1300,
      dns: ['2.2.2.2', '3.3.3.3'],
      group: 'file',
      ip: '0.0.0.0',
    });
  });

  test('reads proxies from their section of the file, and from flags and variables without it', () => {
    const file = {
      proxies: { 'http-proxy': 'http://file.test', 'https-proxy': 'file.test:3128', 'no-proxy': 'a' },
    };
    const environment = { BERTH_HTTPS_PROXY: 'https://variable.test' };
    const argv = ['--no-proxy', 'b,.c', '--http-proxy=http://flag.test'];
    const { httpProxy, httpsProxy, noProxy } = load({ file, environment, argv });
    expect({ httpProxy, httpsProxy, noProxy }).toEqual({
      httpProxy: 'http://flag.test',
      httpsProxy: 'https://variable.test',
      noProxy: 'b,.c',
    });
  });

  test.each<[Given, string]>([
    [
      { file: { 'http-proxy': 'http://u:secret@p.test' } },
      'file /etc/berth/daemon.json: unknown key "http-proxy"',
    ],
    [{ file: { proxies: 'http://u:secret@p.test' } }, 'daemon.json: proxies: must be an object'],
    [{ file: { proxies: { 'ftp-proxy': 'http://u:secret@p.test' } } }, 'unknown key "proxies.ftp-proxy"'],
    [
      { file: { proxies: { 'http-proxy': ['http://u:secret@p.test'] } } },
      'proxies.http-proxy: must be string, not ["http://xxxxx:xxxxx@p.test"]',
    ],
    [
      { argv: ['--https-proxy', 'socks5://u:secret@p.test'] },
      'https-proxy: must look like http[s]://[user:password@]host[:port], not "socks5://xxxxx:xxxxx@p.test"',
    ],
  ])('refuses what is no proxy, without its password: %j', (given, message) => {
    const reading = (): unknown => load(given);
    expect(reading).toThrow(message);
    expect(reading).not.toThrow('secret');
  });

  test('reads every kind of value from words and from JSON alike', () => {
    const argv = (
      '-D --ip-forward=false --default-shm-size 128m --label a=b --label=c -l warn --default-ulimit nofile=1024:2048 ' +
      '--default-ulimit core=-1 --add-runtime runc=/opt/runc --add-runtime crun=crun --default-runtime crun ' +
      '--default-network-opt bridge=mtu=1400 --default-network-opt bridge=com.docker.network.bridge.enable_icc=false ' +
      '--exec-opt native.cgroupdriver=cgroupfs -H tcp://127.0.0.1'
    ).split(' ');
    const file = {
      debug: true,
      'ip-forward': false,
      'default-shm-size': 128 * 2 ** 20,
      labels: ['a=b', 'c'],
      'log-level': 'warn',
      'default-ulimits': { nofile: { Name: 'nofile', Soft: 1024, Hard: 2048 }, core: { Soft: -1, Hard: -1 } },
      runtimes: { runc: { path: '/opt/runc' }, crun: { path: 'crun', runtimeArgs: [] } },
      'default-runtime': 'crun',
      'default-network-opts': {
        bridge: { mtu: '1400', 'com.docker.network.bridge.enable_icc': 'false' },
      },
      'exec-opts': ['native.cgroupdriver=cgroupfs'],
      hosts: ['tcp://127.0.0.1'],
    };
    expect(load({ argv })).toEqual(load({ file }));
    expect(load({ file }).defaultUlimits['core']).toEqual({ Name: 'core', Soft: -1, Hard: -1 });
  });

  test('reads pairs, of which the value may hold anything', () => {
    const { logOpts } = settings;
    expect(logOpts.normalize(logOpts.parse(['max-size=10m', 'labels=a=b,c']))).toEqual({
      'max-size': '10m',
      labels: 'a=b,c',
    });
  });

  test('gives a frozen configuration', () => {
    const config = load({ file: { labels: ['a=b'] } });
    expect([config, config.labels, config.runtimes].every((value) => Object.isFrozen(value))).toBe(true);
  });

  test('does not need its default file, but one that was asked for', () => {
    expect(() => load({ argv: ['--config-file', '/none.json'] })).toThrow(
      'configuration file /none.json: no such file',
    );
    expect(() => load({ environment: { BERTH_CONFIG_FILE: '/none.json' } })).toThrow(
      '/none.json: no such file',
    );
  });

  const FILE = 'configuration file /etc/berth/daemon.json';
  test.each<[Given, string]>([
    [{ file: '{' }, `${FILE}: Expected property name`],
    [{ file: '[]' }, `${FILE}: must hold one JSON object`],
    [{ file: { colour: 'red', shape: 1 } }, `${FILE}: unknown keys "colour", "shape"`],
    [{ file: { 'selinux-enabled': true } }, `${FILE}: key "selinux-enabled" not supported by berthd`],
    [{ file: { iptables: false } }, 'iptables: false is not supported: without rules'],
    [{ file: { ip6tables: false } }, 'ip6tables: false is not supported'],
    [{ file: { 'fixed-cidr-v6': 'fd00::/64' } }, 'fixed-cidr-v6: fd00::/64 needs ipv6: true'],
    [{ file: { ipv6: true, 'fixed-cidr-v6': '10.0.0.0/8/' } }, 'fixed-cidr-v6: must look like network/bits'],
    [{ file: { 'host-gateway-ip': '1.2.3' } }, 'host-gateway-ip: 1.2.3 is not an IP address'],
    ...(
      [
        ['10.0.0.0/16', 8],
        ['10.0.0.0/16', 31],
        ['300.0.0.0/16', 24],
        ['fd00::/64', 48],
      ] as const
    ).map(([base, size]): [Given, string] => [
      { file: { 'default-address-pools': [{ base, size }] } },
      `default-address-pools: ${base} cannot be cut into pieces of /${size}`,
    ]),
    [
      { file: { 'default-address-pools': [{ base: 'fd00::/64', size: 127 }] } },
      'default-address-pools (0.size): must be <= 126, not 127',
    ],
    [{ file: { __proto__: null, ['__proto__x']: 1 } }, `${FILE}: unknown key "__proto__x"`],
    [
      { file: { 'log-level': 'loud' } },
      `${FILE}: log-level: must be one of debug, info, warn, error, fatal, not "loud"`,
    ],
    [{ file: { mtu: '1500' } }, `${FILE}: mtu: must be integer, not "1500"`],
    [{ file: { mtu: 10 } }, `${FILE}: mtu: must be >= 68, not 10`],
    [{ file: { debug: 'yes' } }, `${FILE}: debug: must be boolean, not "yes"`],
    [{ file: { dns: ['1.1.1.1', 'x y'] } }, `${FILE}: dns (1): must look like address, not "x y"`],
    [{ file: { 'data-root': 'relative' } }, `${FILE}: data-root: must look like path, not "relative"`],
    [{ file: { instance: 'Up/..' } }, `${FILE}: instance: must look like name, not "Up/.."`],
    [
      { file: { 'default-ulimits': { nofile: { Soft: 1 } } } },
      `${FILE}: default-ulimits (nofile): must have required property 'Hard', not {"Soft":1}`,
    ],
    [{ file: { 'live-restore': false } }, 'live-restore: false is not supported'],
    [{ file: { 'userland-proxy': true } }, 'userland-proxy: true is not supported'],
    [{ file: { 'default-runtime': 'crun' } }, 'default-runtime: crun is not among runtimes'],
    [
      { file: { runtimes: { runc: { path: '/r', runtimeArgs: ['-x'] } } } },
      'runtimes: runc takes no runtimeArgs',
    ],
    [
      { file: { runtimes: { a: { path: 'b/c' } } } },
      'runtimes (a.path): must look like name=path, not "b/c"',
    ],
    [
      { file: { runtimes: { a: { path: '/b', options: {} } } } },
      'runtimes (a): must NOT have additional properties',
    ],
    [{ file: { runtimes: { '../a': { path: '/b' } } } }, 'runtimes: must look like name=path, not "../a"'],
    [{ file: { hosts: [] } }, 'hosts: the daemon must listen somewhere'],
    [
      { file: { hosts: ['tcp://0.0.0.0:2375'] } },
      'hosts: tcp://0.0.0.0:2375 can be reached from other machines',
    ],
    [{ file: { hosts: ['tcp://host1'] } }, 'it needs tlsverify'],
    [{ file: { 'metrics-addr': '127.0.0.1' } }, 'metrics-addr: must look like address:port, not "127.0.0.1"'],
    [{ file: { 'metrics-addr': 'http://a:1' } }, 'metrics-addr: must look like address:port'],
    [{ argv: ['--metrics-addr', ':70000'] }, 'metrics-addr: :70000: the port must be from 1 to 65535'],
    [{ file: { tlsverify: true, tlscert: '/c', tlskey: '/k' } }, 'tlsverify: needs tlscacert'],
    [{ file: { tls: true } }, 'tls: not supported without tlsverify'],
    [{ file: { hosts: ['unix://relative'] } }, 'must be absolute'],
    [{ file: { hosts: ['tcp://1.2.3.4:70000'] } }, 'must be unix:///path, fd://[name] or tcp://'],
    [{ file: { bip: '10.0.0.1/24', bridge: 'br0' } }, 'bip: cannot be combined with bridge'],
    [
      { file: { 'default-gateway': 'router' } },
      `${FILE}: default-gateway: must look like address, not "router"`,
    ],
    [{ file: { 'default-gateway-v6': 'fd00::1' } }, 'default-gateway-v6: fd00::1 needs ipv6: true'],
    [
      { file: { 'default-network-opts': { overlay: {} } } },
      'default-network-opts: there is no network driver "overlay"',
    ],
    [
      { file: { 'default-network-opts': { bridge: { 'com.docker.network.driver.mtu': 'big' } } } },
      'default-network-opts: network option com.docker.network.driver.mtu: invalid value "big"',
    ],
    [
      { argv: ['--default-network-opt', 'macvlan=colour=red'] },
      'default-network-opts: network option "colour"',
    ],
    [
      { argv: ['--default-network-opt', 'bridge=mtu'] },
      'flag --default-network-opt: must be key=value, not "mtu"',
    ],
    [{ file: { 'exec-root': '/var/lib/berth/run' } }, 'must not lie in each other'],
    [
      { environment: { BERTH_MTU: 'big' } },
      'environment variable BERTH_MTU: must be a whole number, not "big"',
    ],
    [{ argv: ['--debug=perhaps'] }, 'flag --debug: must be true or false, not "perhaps"'],
    [{ argv: ['--label', '=x'] }, 'flag --label (0): must look like key=value, not "=x"'],
    [
      { argv: ['--default-ulimit', 'nofile'] },
      'flag --default-ulimit: must be name=soft[:hard], not "nofile"',
    ],
    [{ argv: ['--default-shm-size', '0'] }, 'flag --default-shm-size'],
    [{ argv: ['--colour'] }, 'unknown flag: --colour'],
    [{ argv: ['run'] }, 'unexpected argument: "run"'],
    [{ argv: ['--group'] }, 'flag --group: needs a value'],
  ])('refuses %j', (given, message) => {
    expect(() => load(given)).toThrow(expect.objectContaining({ code: 'invalid_argument' }));
    expect(() => load(given)).toThrow(message);
  });
});

test('readFlags: tells what else is wanted of the program', () => {
  const given = [[], ['--validate', '-D'], ['-v'], ['--validate', '--help']];
  expect(given.map((argv) => readFlags(argv).action)).toEqual(['run', 'validate', 'version', 'help']);
});

test('reloadConfig: takes over what can change, names what waits for a restart', () => {
  const current = load({ file: { debug: false, mtu: 1500, labels: ['a=1'] } });
  const { config, taken, needRestart } = reloadConfig(
    current,
    load({ file: { debug: true, mtu: 1400, labels: ['a=1'] } }),
  );
  expect({ taken, needRestart, debug: config.debug, mtu: config.mtu }).toEqual({
    taken: ['debug'],
    needRestart: ['mtu'],
    debug: true,
    mtu: 1500,
  });
  expect(reloadAttributes(config, 'host1')).toEqual({
    debug: 'true',
    'default-ipc-mode': 'private',
    'default-runtime': 'runc',
    'default-shm-size': '67108864',
    'insecure-registries': '[]',
    labels: '["a=1"]',
    'live-restore': 'true',
    'log-level': 'info',
    'max-concurrent-downloads': '3',
    'max-concurrent-uploads': '5',
    name: 'host1',
    'registry-mirrors': '[]',
    runtimes: 'runc:runc',
    'shutdown-timeout': '2',
  });
});

describe('settings', () => {
  test('have keys, flags and letters of their own, and are all in the help text', () => {
    const help = helpText();
    const names = settingEntries.flatMap(([, { key, flag, short }]) => [
      `key ${key}`,
      `flag ${flag}`,
      ...(short === undefined ? [] : [`short ${short}`]),
    ]);
    expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
    const missing = settingEntries.filter(
      ([, setting]) =>
        !help.includes(`  --${setting.flag}`) ||
        !(setting.key === setting.flag || help.includes(`key ${fileKey(setting)}`)),
    );
    expect(missing).toEqual([]);
    expect(help.split('\n').filter((line) => line.length > 120)).toEqual([]);
  });

  test('the example file is a valid configuration', () => {
    const example = readFileSync(join(import.meta.dirname, '../../../systemd/daemon.json.example'), 'utf8');
    expect(() => load({ file: example })).not.toThrow();
  });
});
