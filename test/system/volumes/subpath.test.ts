import { spawn } from 'node:child_process';
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { mountsBelow } from '../../support/engine/cleanup.ts';
import { describeEngine } from '../../support/engine/engine.ts';
import { differences } from '../../support/engine/oracle.ts';
import { untar } from '../../support/images/untar.ts';

function host(Subpath: string, more: object = {}): object {
  return {
    Mounts: [{ Type: 'volume', Source: 'parted', Target: '/x', VolumeOptions: { Subpath }, ...more }],
  };
}

// Since API 1.45, which dockerd refuses to older clients; here every client may ask. The texts are dockerd's.
describeEngine(
  'a part of a volume',
  (engine) => {
    let root: string;

    beforeEach(async () => {
      const { Mountpoint } = await engine.http.ok<{ Mountpoint: string }>('POST', '/volumes/create', {
        Name: 'parted',
      });
      root = Mountpoint;
      mkdirSync(`${root}/folder/inner`, { recursive: true });
      chmodSync(`${root}/folder`, 0o755);
      writeFileSync(`${root}/folder/inner/hello`, 'hello');
      writeFileSync(`${root}/file`, 'a file');
      symlinkSync('folder/inner', `${root}/near`);
      symlinkSync('/etc', `${root}/absolute`);
      symlinkSync('../../../../../../../../etc', `${root}/up`);
      symlinkSync('up', `${root}/to-up`);
      symlinkSync('loop', `${root}/loop`);
    });
    afterEach(async () => {
      await engine.removeAll();
      await engine.http.ok('DELETE', '/volumes/parted');
    });

    const mounts = (): string[] =>
      mountsBelow(`${engine.daemon.paths.dataRoot}/containers`).filter((path) => path.includes('source-'));

    test.each([
      ['folder', ['find', '/x'], '/x\n/x/inner\n/x/inner/hello\n'],
      ['./folder//inner/', ['cat', '/x/hello'], 'hello'],
      ['folder/../file', ['cat', '/x'], 'a file'],
      ['near', ['ls', '/x'], 'hello\n'],
    ])('%s is all that is seen', async (subpath, command, stdout) => {
      expect(await engine.run(command, host(subpath))).toMatchObject({ exitCode: 0, stdout });
      await expect.poll(mounts).toEqual([]);
    });

    test('read-only, or written to', async () => {
      const { exitCode } = await engine.run(['touch', '/x/new'], host('folder', { ReadOnly: true }));
      expect(exitCode).not.toBe(0);
      await engine.run(['touch', '/x/new'], host('folder'));
      expect((await engine.run(['ls', '/v/folder'], { Binds: ['parted:/v'] })).stdout).toBe('inner\nnew\n');
    });

    test.each([
      ['missing', 404, /cannot access path .*parted.*missing: no such file or directory/],
      ['file/below', 404, /cannot access path .*: not a directory/],
      ['loop', 404, /cannot access path .*: too many levels of symbolic links/],
      ['absolute', 400, /path concatenation escapes the base directory, base: .*, subpath: absolute/],
      ['up', 400, /path concatenation escapes the base directory/],
      ['to-up/passwd', 400, /path concatenation escapes the base directory/],
    ])('class 22: %s is refused at the start, and leaves nothing', async (subpath, status, text) => {
      const id = await engine.create(['true'], host(subpath));
      const answer = await engine.http.request('POST', `/containers/${id}/start`);
      expect([answer.status, answer.text]).toEqual([status, expect.stringMatching(text)]);
      expect(mounts()).toEqual([]);
      await expect.poll(() => differences(engine.daemon)).toEqual([]);
    });

    test.each(['/etc', '..', 'folder/../../parted', 'a/../..'])(
      '%s is refused at create',
      async (subpath) => {
        const answer = await engine.http.request('POST', '/containers/create', {
          body: { Image: 'busybox', HostConfig: host(subpath) },
        });
        expect([answer.status, answer.text]).toEqual([
          400,
          expect.stringContaining('subpath must be a relative path within the volume'),
        ]);
      },
    );

    test('cp sees the part too, also of a container that never ran', async () => {
      const id = await engine.create(['true'], host('folder'));
      const { bytes } = await engine.http.request('GET', `/containers/${id}/archive?path=/x/inner/hello`);
      expect(untar(bytes).map(({ content }) => content.toString())).toEqual(['hello']);
      const outside = await engine.create(['true'], host('absolute'));
      const answer = await engine.http.request('GET', `/containers/${outside}/archive?path=/x/passwd`);
      expect(answer.status).toBe(404);
    });

    test('class 22: a folder that becomes a link while containers start never leads out', async () => {
      const swap = spawn(
        'python3',
        [
          '-c',
          `import os
os.chdir('${root}')
os.symlink('/etc', 'evil')
while True:
    os.rename('folder', 'kept'); os.rename('evil', 'folder')
    os.rename('folder', 'evil'); os.rename('kept', 'folder')`,
        ],
        { stdio: 'ignore' },
      );
      const seen = new Set<string>();
      try {
        for (let round = 0; round < 25; round += 1) {
          const id = await engine.create(['ls', '/x'], host('folder'));
          const { status } = await engine.http.request('POST', `/containers/${id}/start`);
          if (status === 204) {
            await engine.wait(id);
            seen.add((await engine.logs(id)).stdout);
          } else {
            seen.add(String(status));
          }
        }
      } finally {
        swap.kill('SIGKILL');
      }
      expect([...seen].filter((each) => !['inner\n', '400', '404', '500'].includes(each))).toEqual([]);
      await expect.poll(mounts).toEqual([]);
    });

    test.each(['containers.start.subpath', 'containers.start.subpaths.unmounted', 'containers.start.begun'])(
      'R1: a daemon killed at %s leaves no mount',
      async (point) => {
        const id = await engine.create(['sleep', '1000'], host('folder'));
        engine.daemon.arm(`${point}=sigkill`);
        // A daemon that dies answers nothing.
        await engine.http.request('POST', `/containers/${id}/start`).catch(() => undefined);
        await engine.daemon.ended();
        engine.daemon.arm('');
        await engine.daemon.up();
        await expect.poll(() => differences(engine.daemon)).toEqual([]);
        expect(mounts()).toEqual([]);
        await engine.http.request('POST', `/containers/${id}/start`);
        expect((await engine.exec(id, ['ls', '/x'])).stdout).toBe('inner\n');
      },
    );
  },
  { armable: true },
);
