import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { describeEngine, onReference } from '../../support/engine/engine.ts';
import type { Engine } from '../../support/engine/engine.ts';

/**
 * Runs as the uid of argv[0]: walks the other arguments and prints, one JSON line each, whatever it could list, read,
 * write or connect to.
 */
const INTRUDER = `
  const fs = require('node:fs');
  const net = require('node:net');
  const [uid, ...roots] = process.argv.slice(1);
  process.setgroups([Number(uid)]);
  process.setgid(Number(uid));
  process.setuid(Number(uid));
  const found = [];
  const can = (what, file, action) => {
    try { action(); found.push(what + ' ' + file); return true; } catch { return false; }
  };
  const sockets = [];
  const walk = (file) => {
    let stat;
    try { stat = fs.lstatSync(file); } catch { return; }
    if (stat.isDirectory()) {
      let names = [];
      can('list', file, () => { names = fs.readdirSync(file); });
      can('write', file, () => fs.accessSync(file, fs.constants.W_OK));
      names.forEach((name) => walk(file + '/' + name));
    } else if (stat.isSocket()) {
      sockets.push(file);
    } else if (stat.isFile()) {
      can('read', file, () => fs.closeSync(fs.openSync(file, 'r')));
      can('write', file, () => fs.closeSync(fs.openSync(file, 'r+')));
    } else if (stat.isFIFO()) {
      can('read', file, () => fs.accessSync(file, fs.constants.R_OK));
      can('write', file, () => fs.accessSync(file, fs.constants.W_OK));
    }
  };
  roots.forEach(walk);
  const connect = (file) => new Promise((resolve) => {
    const socket = net.connect(file);
    socket.once('connect', () => { found.push('connect ' + file); socket.destroy(); resolve(); });
    socket.once('error', resolve);
  });
  Promise.all(sockets.map(connect)).then(() => process.stdout.write(JSON.stringify(found)));
`;

/** What uid 1000 can do to these paths. */
function intrude(paths: readonly string[]): string[] {
  const output = execFileSync(process.execPath, ['-e', INTRUDER, '1000', ...paths], { encoding: 'utf8' });
  return JSON.parse(output);
}

/** What find(1) names; files that go while it looks, of which it complains, are none of these. */
function find(...args: readonly string[]): string[] {
  return spawnSync('find', args, { encoding: 'utf8' }).stdout.split('\n').filter(Boolean);
}

/** Every file and socket that root sees there: an unprivileged user may know names without listing folders. */
function namesBelow(...roots: readonly string[]): string[] {
  return find(...roots, '-xdev', '-not', '-path', '*/rootfs/*');
}

/** Containers of every kind that have something on disk: log, volume, shared memory, terminal, exec session. */
async function populate(engine: Engine): Promise<void> {
  const host = { NetworkMode: 'bridge', IpcMode: 'shareable', Binds: ['data:/data'] };
  const id = await engine.start(
    ['sh', '-c', 'umask 0; echo secret; echo secret >/data/file; echo s >/open; exec sleep 600'],
    host,
    { OpenStdin: true },
  );
  await engine.start(['sleep', '600'], {}, { Tty: true, OpenStdin: true });
  await engine.create(['true']);
  for (const Tty of [false, true]) {
    const { Id } = await engine.http.ok<{ Id: string }>('POST', `/containers/${id}/exec`, {
      Cmd: ['sleep', '600'],
      AttachStdin: true,
      AttachStdout: true,
      Tty,
    });
    await engine.http.hijack(`/exec/${Id}/start`, { body: { Tty } });
  }
}

describeEngine('daemon files', (engine) => {
  test.runIf(!onReference)(
    'class 8: an unprivileged user lists, opens and connects to nothing below the roots',
    async () => {
      await populate(engine);
      const { dataRoot, execRoot } = engine.daemon.paths;
      expect(intrude([dataRoot, execRoot])).toEqual([]);
      // By name as well: a folder that can be passed hides nothing.
      const names = namesBelow(dataRoot, execRoot);
      expect(names.length).toBeGreaterThan(20);
      expect(intrude(names)).toEqual([]);
    },
  );

  test('class 8: who is not in the group of the socket cannot connect to it', () => {
    const { socket } = engine.daemon.paths;
    expect(statSync(socket).mode & 0o777).toBe(0o660);
    expect(intrude([socket])).toEqual([]);
  });

  test.runIf(!onReference)(
    'class 8: the folders of the engine have the modes that keep others out',
    async () => {
      await populate(engine);
      const { dataRoot, execRoot } = engine.daemon.paths;
      const modes = Object.fromEntries(
        ['', 'layers', 'containers', 'volumes', 'tmp', 'berth.db', 'berth.lock'].map((name) => {
          const { mode, uid, gid } = statSync(path.join(dataRoot, name));
          return [name, `${(mode & 0o777).toString(8)} ${uid}:${gid}`];
        }),
      );
      for (const [name, mode] of Object.entries(modes)) {
        expect([name, mode]).toEqual([name, expect.stringMatching(/^(600|700|701|710|711) 0:0$/)]);
      }
      expect((statSync(dataRoot).mode & 0o007).toString(8)).toBe('0');
      expect((statSync(execRoot).mode & 0o077).toString(8)).toBe('0');
    },
  );

  test.runIf(!onReference)(
    'class 8: no socket is abstract, and every named one lies below the roots',
    async () => {
      await populate(engine);
      const { root, execRoot } = engine.daemon.paths;
      const inside = await engine.daemon.netns.run('cat', '/proc/net/unix');
      const own = [...inside.split('\n'), ...readFileSync('/proc/net/unix', 'utf8').split('\n')]
        .map((line) => line.split(/\s+/)[7] ?? '')
        .filter((name) => name.includes(engine.daemon.name) || /conmon|runc|berth/i.test(name));
      expect(own.filter((name) => name.startsWith('@'))).toEqual([]);
      const named = inside
        .split('\n')
        .slice(1)
        .map((line) => line.split(/\s+/)[7] ?? '')
        .filter((name) => name !== '');
      // conmon binds by way of a descriptor of its folder: the path would be longer than a socket's may be.
      const strange = named.filter(
        (name) =>
          !name.startsWith(root) &&
          !name.startsWith(execRoot) &&
          !/^\/proc\/self\/fd\/\d+\/attach$/.test(name),
      );
      expect(strange).toEqual([]);
      expect(find(execRoot, '-type', 's').length).toBeGreaterThan(0);
      expect(find(execRoot, '-type', 's', '-perm', '/077')).toEqual([]);
    },
  );

  test.runIf(!onReference)(
    'class 8: a set-user-id program of a container is out of reach for users of the host',
    async () => {
      const script =
        'cp /bin/busybox /data/root-shell; chmod 6755 /data/root-shell; cp -p /data/root-shell /root-shell';
      const id = await engine.start(['sh', '-c', `${script}; echo ready; exec sleep 600`], {
        Binds: ['data:/data'],
      });
      await expect.poll(async () => (await engine.logs(id)).stdout).toBe('ready\n');
      const { dataRoot, execRoot } = engine.daemon.paths;
      const found = find(dataRoot, execRoot, '-name', 'root-shell');
      expect(found.length).toBeGreaterThanOrEqual(2);
      expect(intrude(found)).toEqual([]);
      const merged = `/proc/${(await engine.inspect(id)).State.Pid}/root/root-shell`;
      expect(intrude([merged])).toEqual([]);
    },
  );
});
