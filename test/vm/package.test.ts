import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ContainerCreateResponse, ContainerInspect } from '../../api/types/container.ts';
import { demultiplex, HttpClient, until } from '../support/engine/http.ts';
import { busyboxImageTar } from '../support/images/images.ts';
import { needs } from '../support/needs.ts';
import { PATIENCE } from '../support/patience.ts';
import { processFile } from '../support/process.ts';
import { property, SERVICE, SOCKET } from '../support/engine/service.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const CONFIG = '/etc/berth/daemon.json';
const COUNT = 'i=0; until [ -e /enough ]; do i=$((i+1)); echo $i; sleep 0.02; done';

/** Runs a program of the guest; answers what it printed. */
function run(file: string, ...args: string[]): string {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  return execFileSync(file, args, { env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim();
}

function apt(...args: string[]): string {
  return run('apt-get', '-q', '-y', '--no-install-recommends', ...args);
}

needs('guest')('the Debian package', () => {
  const folder = mkdtempSync('/var/tmp/berth-package-');
  const file = join(ROOT, readdirSync(ROOT).find((name) => name.endsWith('.deb')) ?? 'berth.deb');
  const client = new HttpClient('/run/berth.sock');
  let id = '';
  let state: ContainerInspect['State'];

  const inspect = (): Promise<ContainerInspect> => client.ok('GET', `/containers/${id}/json`);
  const lines = async (): Promise<string[]> => {
    const { bytes } = await client.request('GET', `/containers/${id}/logs?stdout=1`);
    return demultiplex(bytes).stdout.trim().split('\n');
  };
  const nextDaemon = (before: string): Promise<void> =>
    until('the next daemon', async () => {
      // Between two daemons a connection may break.
      const answer = await client.request('GET', '/info').catch(() => undefined);
      return answer?.status === 200 && property('MainPID') !== before;
    });
  const expectNoGap = async (): Promise<void> => {
    const before = (await lines()).length;
    await until('more lines', async () => (await lines()).length > before + 20);
    const all = await lines();
    expect(all).toEqual(all.map((_line, index) => String(index + 1)));
  };

  beforeAll(() => {
    apt('install', file);
  }, 240_000 * PATIENCE);
  afterAll(() => {
    client[Symbol.dispose]();
    rmSync(folder, { recursive: true });
  });

  test('install: the service runs by itself, with the Node.js of the package', async () => {
    expect({
      units: [SERVICE, SOCKET].map(
        (unit) => `${property('UnitFileState', unit)} ${property('ActiveState', unit)}`,
      ),
      unit: property('FragmentPath'),
      node: readFileSync('/usr/sbin/berthd', 'utf8').split('\n')[0],
      manual: existsSync('/usr/share/man/man8/berthd.8.gz'),
      configuration: readFileSync(CONFIG, 'utf8'),
      group: run('getent', 'group', 'docker').split(':')[0],
      problems: run('dpkg', '--verify', 'berth'),
    }).toEqual({
      units: ['enabled active', 'enabled active'],
      unit: expect.stringMatching(/^(\/usr)?\/lib\/systemd\/system\/berth\.service$/),
      node: '#!/usr/bin/env -S UV_THREADPOOL_SIZE=16 /usr/lib/berth/bin/node',
      manual: true,
      configuration: '{}\n',
      group: 'docker',
      problems: '',
    });
    expect((await client.request('GET', '/_ping')).text).toBe('OK');
    expect(run('berthd', '--validate')).toBe('configuration OK');
    await client.ok('POST', '/images/load?quiet=1', busyboxImageTar());
  });

  test('upgrade: containers run on under the next daemon, logs have no gap, settings stay', async () => {
    const { Id } = await client.ok<ContainerCreateResponse>('POST', '/containers/create', {
      Image: 'busybox',
      Cmd: ['sh', '-c', COUNT],
    });
    id = Id;
    await client.ok('POST', `/containers/${id}/start`);
    state = (await inspect()).State;
    const settings = '{"labels":["rack=12"]}\n';
    writeFileSync(CONFIG, settings);
    const daemon = property('MainPID');
    const [, version = ''] = /^Version: (.*)$/m.exec(run('dpkg', '--info', file).replace(/^ /gm, '')) ?? [];
    const next = `${version}.next`;
    run('dpkg-deb', '--raw-extract', file, join(folder, 'next'));
    const control = join(folder, 'next/DEBIAN/control');
    writeFileSync(control, readFileSync(control, 'utf8').replace(`Version: ${version}`, `Version: ${next}`));
    run('dpkg-deb', '-Znone', '--build', join(folder, 'next'), join(folder, 'next.deb'));

    apt('install', join(folder, 'next.deb'));

    await nextDaemon(daemon);
    expect(run('dpkg-query', '-W', '-f', '${Version} ${Status}', 'berth')).toBe(
      `${next} install ok installed`,
    );
    expect(readFileSync(CONFIG, 'utf8')).toBe(settings);
    expect((await client.ok<{ Labels: string[] }>('GET', '/info')).Labels).toEqual(['rack=12']);
    expect((await inspect()).State).toEqual(state);
    await expectNoGap();
  });

  test('remove: the daemon goes, containers run on, and the package that comes again takes them over', async () => {
    apt('remove', 'berth');
    expect(existsSync('/run/berth.sock')).toBe(false);
    expect(existsSync('/usr/lib/berth')).toBe(false);
    expect(processFile(state.Pid, 'stat')).not.toBe('');
    apt('install', file);
    await nextDaemon('0');
    expect((await inspect()).State).toEqual(state);
    await expectNoGap();
  });

  test('purge: nothing of it runs or is left but what is in the data root', async () => {
    apt('purge', 'berth');
    await until('the container to end', () => processFile(state.Pid, 'stat') === '');
    expect({
      left: ['/etc/berth', '/run/berth', '/run/berth.sock', '/usr/lib/berth', '/usr/sbin/berthd'].filter(
        (name) => existsSync(name),
      ),
      mounts: readFileSync('/proc/mounts', 'utf8')
        .split('\n')
        .filter((line) => line.includes('berth/') && !line.includes(ROOT)),
      tables: run('nft', 'list', 'tables'),
      // A pattern that nothing matches is an error to newer ones.
      units: run('systemctl', 'list-unit-files', '--no-legend')
        .split('\n')
        .filter((line) => line.startsWith('berth')),
      data: existsSync('/var/lib/berth/containers'),
    }).toEqual({ left: [], mounts: [], tables: '', units: [], data: true });
    rmSync('/var/lib/berth', { recursive: true });
  });
});
