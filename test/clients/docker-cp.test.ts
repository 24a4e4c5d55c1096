import { execFileSync, spawnSync } from 'node:child_process';
import {
  lstatSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { describeEngine } from '../support/engine/engine.ts';
import { packed } from '../support/images/trees.ts';

/** docker cp, export, diff and system df as people type them. */
describeEngine('docker CLI with files', (engine) => {
  const run = (args: string[], input?: Buffer): { code: number | null; out: Buffer; err: string } => {
    const result = spawnSync('docker', args, {
      env: {
        PATH: process.env['PATH'] ?? '',
        HOME: engine.daemon.paths.root,
        DOCKER_HOST: `unix://${engine.daemon.paths.socket}`,
      },
      timeout: 120_000,
      maxBuffer: 256 * 1024 * 1024,
      ...(input && { input }),
    });
    return { code: result.status, out: result.stdout, err: result.stderr.toString() };
  };
  const must = (args: string[], input?: Buffer): Buffer => {
    const { code, out, err } = run(args, input);
    expect({ args, code, err: code === 0 ? '' : err }).toEqual({ args, code: 0, err: '' });
    return out;
  };
  const scratch = (): string => {
    const folder = join(engine.daemon.paths.root, 'scratch');
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(join(folder, 'tree/sub'), { recursive: true });
    writeFileSync(join(folder, 'tree/file'), 'from the host', { mode: 0o640 });
    writeFileSync(join(folder, 'tree/sub/other'), 'deeper');
    symlinkSync('file', join(folder, 'tree/link'));
    return folder;
  };

  test.each(['running', 'created'])('cp: files, directories and links both ways (%s)', async (state) => {
    const folder = scratch();
    const id = await engine.create(['sleep', '600'], { Binds: ['cli:/vol'] });
    if (state === 'running') {
      await engine.http.ok('POST', `/containers/${id}/start`);
    }
    must(['cp', `${folder}/tree/file`, `${id}:/tmp/renamed`]);
    must(['cp', `${folder}/tree`, `${id}:/tmp`]);
    must(['cp', `${folder}/tree/.`, `${id}:/vol`]);
    must(['cp', `${id}:/tmp/renamed`, `${folder}/back`]);
    expect(readFileSync(`${folder}/back`, 'utf8')).toBe('from the host');
    must(['cp', `${id}:/tmp/tree`, `${folder}/copy`]);
    expect(readFileSync(`${folder}/copy/sub/other`, 'utf8')).toBe('deeper');
    expect(readlinkSync(`${folder}/copy/link`)).toBe('file');
    expect(lstatSync(`${folder}/copy/file`).mode & 0o777).toBe(0o640);
    must(['cp', `${id}:/vol/.`, `${folder}/volume`]);
    expect(readFileSync(`${folder}/volume/sub/other`, 'utf8')).toBe('deeper');
    // A link is copied as one, and with -L what it points to.
    must(['cp', `${id}:/vol/link`, `${folder}/aslink`]);
    expect(readlinkSync(`${folder}/aslink`)).toBe('file');
    must(['cp', '-L', `${id}:/vol/link`, `${folder}/followed`]);
    expect(lstatSync(`${folder}/followed`).isFile()).toBe(true);
    must(['cp', '-a', `${folder}/tree/file`, `${id}:/tmp/archived`]);
    const missing = run(['cp', `${id}:/no/such`, folder]);
    expect([missing.code, missing.err]).toEqual([
      1,
      expect.stringContaining('Could not find the file /no/such'),
    ]);
    const wrong = run(['cp', `${folder}/tree`, `${id}:/tmp/renamed`]);
    expect([wrong.code, wrong.err]).toEqual([1, expect.stringContaining('cannot copy directory')]);
    await engine.remove(id);
    await engine.http.ok('DELETE', '/volumes/cli');
  });

  test('cp: a tar from standard input, and one to standard output', async () => {
    const folder = scratch();
    const id = await engine.start(['sleep', '600']);
    const bytes = await packed(folder);
    must(['cp', '-', `${id}:/tmp`], bytes);
    must(['cp', '-', `${id}:/root`], gzipSync(bytes));
    const listed = (path: string): string =>
      execFileSync('tar', ['-tvf', '-'], { input: must(['cp', `${id}:${path}`, '-']) }).toString();
    for (const path of ['/tmp/tree', '/root/tree']) {
      expect(
        listed(path)
          .split('\n')
          .map((line) => line.replace(/^.*\d\d:\d\d /, '')),
      ).toEqual(['tree/', 'tree/file', 'tree/link -> file', 'tree/sub/', 'tree/sub/other', '']);
    }
  });

  test('export, import, diff and system df', async () => {
    const id = await engine.start(['sh', '-c', 'echo 1 > /added; rm /etc/group; exec sleep 600']);
    await expect.poll(() => must(['diff', id]).toString()).toBe('A /added\nC /etc\nD /etc/group\n');
    must(['import', '-', 'again:1'], must(['export', id]));
    expect(must(['run', '--rm', 'again:1', '/bin/cat', '/added']).toString()).toBe('1\n');
    const verbose = must(['system', 'df', '-v']).toString();
    expect(verbose).toMatch(
      /^Images space usage:[^]*busybox[^]*Containers space usage:[^]*Local Volumes space usage:/,
    );
    expect(verbose).toContain(id.slice(0, 12));
    expect(must(['system', 'df']).toString()).toMatch(
      /^TYPE +TOTAL +ACTIVE +SIZE +RECLAIMABLE\nImages +2 +1 /,
    );
  });
});
