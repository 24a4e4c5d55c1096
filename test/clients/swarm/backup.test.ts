import { spawnSync } from 'node:child_process';
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { killProcessesNaming, removeCgroup, removeTree } from '../../support/engine/cleanup.ts';
import { until } from '../../support/engine/http.ts';
import { needsEngine } from '../../support/needs.ts';
import { TestSwarm } from '../../support/swarm/hosts/test-swarm.ts';

const MAIN = path.resolve(import.meta.dirname, '../../../dist/daemon/main.js');
const SECRET = 'the launch code';
const NO_NETWORK = ['--network', 'none', '--detach=false'];

interface Said {
  code: number | null;
  out: string;
  err: string;
}

/** Damages of a backup's copy, and what is said of each. */
const DAMAGES: readonly [what: string, damage: (copy: string) => void, said: string][] = [
  ['without its manifest', (copy) => rmSync(`${copy}/backup.json`), 'it has no backup.json'],
  ['with a torn manifest', (copy) => writeFileSync(`${copy}/backup.json`, '{"format": 1,'), 'it is not JSON'],
  ['of another format', (copy) => writeFileSync(`${copy}/backup.json`, '{"format": 9}'), 'its format is 9'],
  ['without a key', (copy) => rmSync(`${copy}/node.pem`), 'node.pem is missing'],
  [
    'with a byte more in its store',
    (copy) => appendFileSync(`${copy}/etcd/member/snap/db`, 'x'),
    'etcd/member/snap/db is damaged',
  ],
];

/** A manager and a worker. The tests build on each other. */
needsEngine('docker-cli', 'etcd')('backup and restore of a swarm', () => {
  let swarm: TestSwarm;
  let backup = '';

  beforeAll(async () => {
    swarm = await TestSwarm.start(2);
    backup = `${swarm.node(1).daemon.paths.root}/backup`;
  });
  afterAll(() => swarm[Symbol.asyncDispose]());

  /** `berthd swarm ...` on the host of a node. */
  const berthd = (number: number, argv: string[], env: Record<string, string> = {}): Said => {
    const { netns, paths } = swarm.node(number).daemon;
    const [file, ...args] = netns.enter(MAIN, 'swarm', ...argv, '--config-file', paths.config);
    const { status, stdout, stderr } = spawnSync(file, args, {
      encoding: 'utf8',
      env: { PATH: process.env['PATH'] ?? '', ...env },
    });
    return { code: status, out: stdout, err: stderr };
  };
  /** The host is lost, with its disk: another one takes its place. */
  const lose = async (number: number): Promise<void> => {
    const { daemon } = swarm.node(number);
    await daemon.kill9();
    killProcessesNaming(`berth-test-${daemon.name}/`);
    removeCgroup(daemon.cgroupParent);
    for (const root of [daemon.paths.execRoot, daemon.paths.dataRoot]) {
      removeTree(root);
      rmSync(root, { recursive: true, force: true });
    }
  };
  const node = (): { managers: unknown; isForced?: boolean } =>
    // Of the engine.
    JSON.parse(readFileSync(`${swarm.node(1).daemon.paths.dataRoot}/swarm/node.json`, 'utf8')) as {
      managers: unknown;
    };
  const state = (): Promise<string> => swarm.must(1, 'info', '--format', '{{.Swarm.LocalNodeState}}');
  /** The secret as the service's container has it. */
  const secretSeen = async (): Promise<string> => {
    const container = await swarm.must(1, 'ps', '--quiet', '--filter', 'name=vault');
    return container === '' ? '' : (await swarm.docker(1, 'exec', container, 'cat', '/run/secrets/code')).out;
  };

  test('backup: a host without a swarm, and a worker, have none', async () => {
    expect(berthd(1, ['backup', backup])).toEqual({
      code: 1,
      out: '',
      err: 'berthd: back up the swarm: this node belongs to no swarm\n',
    });
    await swarm.init();
    await swarm.join(2, 'worker');
    expect(berthd(2, ['backup', backup])).toEqual({
      code: 1,
      out: '',
      err: 'berthd: back up the swarm: this node is a worker: back up a manager, which has the state of the swarm\n',
    });
    expect(existsSync(backup)).toBe(false);
  });

  test('backup: a whole copy beside the daemon, private to root; a second one takes another name', async () => {
    writeFileSync(`${swarm.node(1).daemon.paths.root}/code`, SECRET);
    await swarm.must(1, 'secret', 'create', 'code', `${swarm.node(1).daemon.paths.root}/code`);
    const where = ['--constraint', 'node.hostname==n1'];
    await swarm.must(
      1,
      'service',
      'create',
      '--name',
      'vault',
      '--secret',
      'code',
      ...where,
      ...NO_NETWORK,
      'busybox',
      'sleep',
      '3600',
    );
    await swarm.must(
      1,
      'service',
      'create',
      '--name',
      'elsewhere',
      '--constraint',
      'node.hostname==n2',
      ...NO_NETWORK,
      'busybox',
      'sleep',
      '3600',
    );
    const cluster = await swarm.must(1, 'info', '--format', '{{.Swarm.Cluster.ID}}');
    expect(berthd(1, ['backup', backup])).toEqual({
      code: 0,
      out: `backed up the swarm ${cluster} to ${backup}\n`,
      err: '',
    });
    expect(readdirSync(backup).toSorted()).toEqual([
      'backup.json',
      'ca.pem',
      'etcd',
      'node.json',
      'node.pem',
    ]);
    const modes = ['', 'backup.json', 'node.pem', 'etcd', 'etcd/member', 'etcd/member/snap/db'].map(
      (name) => statSync(path.join(backup, name)).mode & 0o777,
    );
    expect(modes).toEqual([0o700, 0o600, 0o600, 0o700, 0o700, 0o600]);
    expect(berthd(1, ['backup', backup])).toMatchObject({
      code: 1,
      err: `berthd: back up the swarm: ${backup} is there already\n`,
    });
    expect(berthd(1, ['backup', '/no/such/place/x'])).toMatchObject({ code: 1, out: '' });
    expect(readdirSync(path.dirname(backup)).filter((name) => name.includes('incomplete'))).toEqual([]);
  });

  test('backup: killed at any step, it leaves nothing of its name, or all', () => {
    for (const step of ['swarm.backup.copied', 'swarm.backup.filled', 'swarm.backup.named']) {
      const target = `${backup}-${step}`;
      berthd(1, ['backup', target], { BERTH_FAILPOINTS: `${step}=sigkill` });
      expect([step, existsSync(target)]).toEqual([step, step === 'swarm.backup.named']);
      expect(existsSync(`${target}/backup.json`)).toBe(step === 'swarm.backup.named');
    }
    const full = `${backup}-full`;
    expect(berthd(1, ['backup', full], { BERTH_FAILPOINTS: 'swarm.backup.copied=errno(ENOSPC)' })).toEqual({
      code: 1,
      out: '',
      err: 'berthd: back up the swarm: ENOSPC: failpoint swarm.backup.copied\n',
    });
    expect(readdirSync(path.dirname(backup)).filter((name) => name.startsWith('backup-full'))).toEqual([]);
  });

  test('restore: refused beside a daemon, and over a swarm', async () => {
    const { daemon } = swarm.node(1);
    expect(berthd(1, ['restore', backup])).toEqual({
      code: 1,
      out: '',
      err:
        `berthd: restore the swarm: data root ${daemon.paths.dataRoot} is in use by another berthd ` +
        `(pid ${daemon.pid}): stop it first\n`,
    });
    await daemon.stop();
    expect(berthd(1, ['restore', backup])).toEqual({
      code: 1,
      out: '',
      err:
        'berthd: restore the swarm: this node belongs to a swarm: leave it first (docker swarm leave --force), ' +
        'or put it aside with --force\n',
    });
    await daemon.up();
    await until('the service', async () => (await secretSeen()) === SECRET);
  });

  test('restore: what is damaged is refused, and nothing is put in place', async () => {
    await lose(1);
    const { dataRoot, root } = swarm.node(1).daemon.paths;
    for (const [what, damage, said] of DAMAGES) {
      const copy = path.join(root, 'copy');
      rmSync(copy, { recursive: true, force: true });
      cpSync(backup, copy, { recursive: true });
      damage(copy);
      const { code, out, err } = berthd(1, ['restore', copy]);
      expect({ what, code, out }).toEqual({ what, code: 1, out: '' });
      expect(err).toMatch(/^berthd: restore the swarm: /);
      expect(err).toContain(said);
      expect(existsSync(path.join(dataRoot, 'swarm'))).toBe(false);
      expect(existsSync(path.join(dataRoot, 'tmp/swarm-restore'))).toBe(false);
    }
    expect(berthd(1, ['restore', '/no/such/backup']).err).toBe(
      'berthd: restore the swarm: /no/such/backup is no backup of a swarm: it has no backup.json\n',
    );
  });

  test('restore: killed before all is in place it leaves a host without a swarm', async () => {
    expect(berthd(1, ['restore', backup], { BERTH_FAILPOINTS: 'swarm.restore.staged=sigkill' }).out).toBe('');
    const { daemon } = swarm.node(1);
    await daemon.up();
    expect(await state()).toBe('inactive');
    await daemon.stop();
    expect(existsSync(path.join(daemon.paths.dataRoot, 'tmp/swarm-restore'))).toBe(false);
  });

  test('restore: on a new disk the swarm goes on, with its secrets, services and nodes', async () => {
    const { out } = berthd(1, ['restore', backup]);
    expect(out).toMatch(
      /^restored the swarm \w+ as of \S+ to \S+\nstart berthd: this manager goes on alone\n$/,
    );
    const { daemon } = swarm.node(1);
    await daemon.up();
    await daemon.loadBusybox();
    await until('the secret in its service', async () => (await secretSeen()) === SECRET);
    await until('both nodes', async () => {
      const list = await swarm.docker(
        1,
        'node',
        'ls',
        '--format',
        '{{.Hostname}} {{.Status}} {{.ManagerStatus}}',
      );
      return list.out.trim() === 'n1 Ready Leader\nn2 Ready';
    });
    await until('all tasks', async () => {
      const list = await swarm.docker(1, 'service', 'ls', '--format', '{{.Name}} {{.Replicas}}');
      return list.out.trim().split('\n').toSorted().join() === 'elsewhere 1/1,vault 1/1';
    });
    await until('the mark to be taken back', () => node().isForced === false);
    await swarm.must(1, 'service', 'create', '--name', 'new', ...NO_NETWORK, 'busybox', 'sleep', '3600');
  });

  test('restore --force: another swarm is put aside with its member of the store, at any step', async () => {
    const { daemon } = swarm.node(1);
    const { dataRoot } = daemon.paths;
    const later = await swarm.must(1, 'service', 'ls', '--quiet', '--filter', 'name=new');
    expect(later).not.toBe('');
    const container = await swarm.must(1, 'ps', '--quiet', '--filter', 'name=vault');
    await daemon.stop();
    const failed = berthd(1, ['restore', '--force', backup], {
      BERTH_FAILPOINTS: 'swarm.restore.put-aside=errno(EIO)',
    });
    expect(failed).toMatchObject({ code: 1, out: '' });
    // As it was: the swarm with the later service.
    await daemon.up();
    await until('the service', async () =>
      (await swarm.docker(1, 'service', 'ls', '--quiet')).out.includes(later),
    );
    await daemon.stop();
    for (const step of ['swarm.restore.put-aside', 'swarm.restore.placed']) {
      berthd(1, ['restore', '--force', backup], { BERTH_FAILPOINTS: `${step}=sigkill` });
      const isPlaced = existsSync(path.join(dataRoot, 'swarm/node.json'));
      expect([step, isPlaced]).toEqual([step, step === 'swarm.restore.placed']);
      expect(readdirSync(dataRoot).filter((name) => name.startsWith('swarm.before-'))).not.toEqual([]);
    }
    const { out } = berthd(1, ['restore', backup, '--force']);
    expect(out).toContain(`what was there before is in ${dataRoot}/swarm.before-`);
    await daemon.up();
    await until('the swarm of the backup', async () => {
      const list = await swarm.docker(1, 'service', 'ls', '--format', '{{.Name}} {{.Replicas}}');
      return list.out.trim().split('\n').toSorted().join() === 'elsewhere 1/1,vault 1/1';
    });
    expect(await secretSeen()).toBe(SECRET);
    expect(container).not.toBe('');
  });

  test('restore: a swarm that was locked is opened by its unlock key', async () => {
    const said = await swarm.must(1, 'swarm', 'update', '--autolock=true');
    const key = /SWMKEY-1-\S+/.exec(said)?.[0] ?? '';
    const locked = `${backup}-locked`;
    expect(berthd(1, ['backup', locked]).out).toContain('its keys are sealed: keep the unlock key too');
    expect(readFileSync(`${locked}/node.pem`, 'utf8')).not.toContain('BEGIN PRIVATE KEY');
    await lose(1);
    expect(berthd(1, ['restore', locked]).out).toContain('start berthd, then docker swarm unlock: ');
    const { daemon } = swarm.node(1);
    await daemon.up();
    await daemon.loadBusybox();
    expect(await state()).toBe('locked');
    expect(berthd(1, ['backup', `${backup}-closed`]).err).toMatch(
      /^berthd: back up the swarm: the store of this manager does not answer: unlock the swarm/,
    );
    await daemon.http.ok('POST', '/swarm/unlock', { UnlockKey: key });
    await until('the secret in its service', async () => (await secretSeen()) === SECRET);
  });

  test('restore: a host at another address has to name it', async () => {
    await swarm.must(1, 'swarm', 'update', '--autolock=false');
    const moved = `${backup}-moved`;
    expect(berthd(1, ['backup', moved]).code).toBe(0);
    await lose(1);
    const { netns, paths } = swarm.node(1).daemon;
    mkdirSync(paths.dataRoot, { recursive: true });
    const host = swarm.node(1).addr;
    const links = await netns.run('ip', '-o', '-4', 'addr', 'show', 'to', host);
    const [, device = '', old = ''] = /^\d+: (\S+)\s+inet (\S+)/m.exec(links) ?? [];
    const other = host.replace(/\d+$/, '201');
    await netns.run('ip', 'addr', 'del', old, 'dev', device);
    await netns.run('ip', 'addr', 'add', old.replace(host, other), 'dev', device);
    expect(berthd(1, ['restore', moved]).err).toBe(
      `berthd: restore the swarm: the manager was at ${host}, which this host does not have: ` +
        "name this host's address (--advertise-addr)\n",
    );
    expect(berthd(1, ['restore', moved, '--advertise-addr', other])).toMatchObject({ code: 0, err: '' });
    const { daemon } = swarm.node(1);
    await daemon.up();
    await daemon.loadBusybox();
    await until('the secret in its service', async () => (await secretSeen()) === SECRET);
    expect(await swarm.must(1, 'node', 'inspect', 'self', '--format', '{{.ManagerStatus.Addr}}')).toBe(
      `${other}:2377`,
    );
  });
});
