import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { describeEngine } from '../../support/engine/engine.ts';
import type { Engine } from '../../support/engine/engine.ts';
import type { Answer } from '../../support/engine/http.ts';
import { tar, type TarEntry } from '../../support/images/tar.ts';
import { untar } from '../../support/images/untar.ts';

const TAR = { 'Content-Type': 'application/x-tar' };
const ROUNDS = Number(process.env['BERTH_RACE_ROUNDS'] ?? 900);
const SECRET = 'secret of the host';
/**
 * Swaps a directory of a container with links that lead out of it if anybody follows them on the host: absolute,
 * relative, and by the container's own /proc.
 */
const SWAP = [
  'mkdir -p /race/real/deep',
  'cd /race',
  'for l in /berth-canary ../../../../../berth-canary /proc/1/root/berth-canary; do',
  '  ln -sfn $l "l$(echo $l | tr / _)"',
  'done',
  'touch /ready',
  'while :; do',
  '  for l in l*; do mv -T real kept; mv -T $l real; mv -T real $l; mv -T kept real; done',
  'done',
].join('\n');

/** Class 2 of the security cases: copying into and out of a container that works against it. */
describeEngine('archive against a hostile container', (engine) => {
  // What is wanted lies at the same path on the host, where a container's file of that name would lead to.
  const canary = '/berth-canary';
  const withCanary = async (work: () => Promise<void>): Promise<void> => {
    mkdirSync(`${canary}/deep`, { recursive: true });
    writeFileSync(`${canary}/file`, SECRET);
    writeFileSync(`${canary}/deep/file`, SECRET);
    const before = fingerprint(canary);
    try {
      await work();
      expect(fingerprint(canary)).toBe(before);
    } finally {
      rmSync(canary, { recursive: true, force: true });
    }
  };

  test('class 2: a directory swapped for a link while files are copied leads nowhere but inside', async () => {
    await withCanary(async () => {
      const id = await engine.start(['sh', '-c', SWAP], { CapAdd: ['SYS_PTRACE'] });
      await expect.poll(async () => await stat(engine, id, '/ready')).toBe(200);
      const body = tar([
        { name: 'real/file', content: 'inside' },
        { name: 'real/deep/file', content: 'inside' },
      ]);
      const seen = new Set<string>();
      const one = async (round: number): Promise<void> => {
        if (round % 2 === 0) {
          const path = round % 4 === 0 ? '/race' : '/race/real';
          const names =
            round % 4 === 0
              ? body
              : tar([
                  { name: 'file', content: 'inside' },
                  { name: 'deep/file', content: 'in' },
                ]);
          const answer = await engine.http.request('PUT', url(id, path), { body: names, headers: TAR });
          seen.add(`put ${answer.status}`);
        } else {
          const path =
            ['/race/real/file', '/race/real', '/race/real/deep/file', '/race'][(round >> 1) % 4] ?? '';
          const answer = await getOrCut(engine, id, path);
          seen.add(`get ${answer?.status ?? 'cut'}`);
          expect(answer?.bytes.includes(SECRET) ?? false).toBe(false);
        }
      };
      for (let round = 0; round < ROUNDS; round += 6) {
        await Promise.all(Array.from({ length: 6 }, (_unused, index) => one(round + index)));
      }
      // The race was one: both outcomes were seen.
      expect([...seen]).toEqual(expect.arrayContaining(['put 200', 'get 200']));
    });
  }, 180_000);

  test('class 2: a volume shared with a container that swaps its directories is no way out for another', async () => {
    await withCanary(async () => {
      const binds = { Binds: ['shared:/race'] };
      await engine.start(['sh', '-c', SWAP], binds);
      const idle = await engine.create(['true'], binds);
      await expect.poll(() => stat(engine, idle, '/race/real')).toBe(200);
      for (let round = 0; round < ROUNDS / 10; round += 1) {
        await engine.http.request('PUT', url(idle, '/race/real'), {
          body: tar([{ name: 'file', content: 'inside' }]),
          headers: TAR,
        });
        const answer = await getOrCut(engine, idle, '/race/real');
        expect(answer?.bytes.includes(SECRET) ?? false).toBe(false);
      }
    });
  }, 120_000);

  test('class 2: absolute links work as inside, also where the host has the same path', async () => {
    await withCanary(async () => {
      const id = await engine.start([
        'sh',
        '-c',
        `mkdir -p /run /var; ln -s /run /var/run; ln -s ${canary} /to; mkdir ${canary}; touch /ready; exec sleep 600`,
      ]);
      await expect.poll(() => stat(engine, id, '/ready')).toBe(200);
      for (const path of ['/var/run', '/to']) {
        const body = tar([{ name: 'x', content: 'inside' }]);
        expect((await engine.http.request('PUT', url(id, path), { body, headers: TAR })).status).toBe(200);
      }
      expect((await engine.exec(id, ['cat', '/run/x', `${canary}/x`])).stdout).toBe('insideinside');
    });
  });

  test('class 2: programs and libraries of the image are not run, whatever the tar is compressed with', async () => {
    const marker = '/berth-evil-ran';
    const evil = `#!/bin/sh\ntouch ${marker}\n`;
    const names = [
      'usr/bin/xz',
      'usr/bin/bzip2',
      'usr/bin/zstd',
      'usr/bin/tar',
      'bin/xz',
      'lib/libnss_files.so.2',
    ];
    const id = await engine.create(['sleep', '600']);
    const entries = names.map((name) => ({ name, content: evil, mode: 0o755 }));
    await engine.http.request('PUT', url(id, '/'), { body: tar(entries), headers: TAR });
    await engine.http.ok('POST', `/containers/${id}/start`);
    const roots = watchRoots(engine.daemon.pid);
    try {
      for (const program of ['xz', 'bzip2', 'zstd', 'gzip']) {
        const options = {
          input: tar([{ name: program, content: 'x' }]),
          stdio: ['pipe', 'pipe', 'ignore'] as const,
        };
        const body = execFileSync(program, ['-c'], { ...options, stdio: [...options.stdio] });
        const answer = await engine.http.request('PUT', url(id, '/tmp'), { body, headers: TAR });
        expect(answer.status).toBe(200);
        await engine.http.request('GET', url(id, '/'));
      }
    } finally {
      clearInterval(roots.timer);
    }
    expect(existsSync(marker)).toBe(false);
    expect((await engine.exec(id, ['ls', marker])).exitCode).not.toBe(0);
    expect(roots.foreign()).toEqual([]);
  });

  const HOSTILE: readonly [string, TarEntry[], number][] = [
    ['a name that climbs', [{ name: '../../berth-canary/file', content: 'x' }], 400],
    ['a name that climbs in the middle', [{ name: 'a/../../../berth-canary/file', content: 'x' }], 400],
    ['an absolute name', [{ name: '/berth-canary/file', content: 'x' }], 200],
    [
      'a link and a file through it',
      [
        { name: 'l', type: '2', linkName: '/berth-canary' },
        { name: 'l/file', content: 'x' },
      ],
      400,
    ],
    [
      'a climbing link and a file through it',
      [
        { name: 'l', type: '2', linkName: '../../berth-canary' },
        { name: 'l/file', content: 'x' },
      ],
      400,
    ],
    [
      'a link to /proc/1/root and a file through it',
      [
        { name: 'l', type: '2', linkName: '/proc/1/root/berth-canary' },
        { name: 'l/file', content: 'x' },
      ],
      400,
    ],
    [
      'a link that replaces its directory',
      [{ name: 'd/' }, { name: 'd', type: '2', linkName: '/berth-canary' }, { name: 'd/file', content: 'x' }],
      400,
    ],
    ['a hard link out', [{ name: 'h', type: '1', linkName: '../berth-canary/file' }], 400],
    [
      'a hard link through a link',
      [
        { name: 'l', type: '2', linkName: '/berth-canary' },
        { name: 'h', type: '1', linkName: 'l/file' },
      ],
      500,
    ],
    [
      'modes through a link',
      [
        { name: 'l', type: '2', linkName: '/berth-canary/file' },
        { name: 'l', mode: 0o777, type: '2', linkName: '/berth-canary/file' },
      ],
      200,
    ],
    [
      'a link into the kernel',
      [
        { name: 'l', type: '2', linkName: '/proc/sys/kernel' },
        { name: 'l/hostname', content: 'x' },
      ],
      400,
    ],
    [
      'attributes of overlayfs',
      [{ name: 'x', content: '', pax: { 'SCHILY.xattr.trusted.overlay.redirect': '/etc' } }],
      400,
    ],
    ['an owner out of range', [{ name: 'x', content: '', pax: { uid: '4294967295' } }], 400],
    ['a file without end', [{ name: 'x', content: 'short', claimedSize: 10 ** 9 }], 400],
    ['a whiteout', [{ name: 'x', type: '3', major: 0, minor: 0 }], 400],
    ['no tar', [], 200],
  ];

  test.each(HOSTILE)('class 2: a tar with %s changes nothing outside', async (_title, entries, status) => {
    await withCanary(async () => {
      for (const state of ['running', 'created']) {
        const id = await engine.create(['sleep', '600']);
        if (state === 'running') {
          await engine.http.ok('POST', `/containers/${id}/start`);
        }
        const body = tar(entries);
        const answer = await engine.http.request('PUT', url(id, '/tmp'), { body, headers: TAR });
        expect(`${state} ${answer.status} ${answer.text}`).toMatch(new RegExp(`^${state} ${status} `));
      }
    });
  });

  test('class 2: bombs end at limits that the answer names', async () => {
    const id = await engine.create(['sleep', '600']);
    const deep = tar([{ name: `${'d/'.repeat(6000)}x`, content: '' }]);
    const record = tar([{ name: 'x', content: '', pax: { comment: 'c'.repeat(2 * 1024 * 1024) } }]);
    const deepAnswer = await engine.http.request('PUT', url(id, '/tmp'), { body: deep, headers: TAR });
    expect([deepAnswer.status, deepAnswer.text]).toEqual([400, expect.stringContaining('5000')]);
    const recordAnswer = await engine.http.request('PUT', url(id, '/tmp'), { body: record, headers: TAR });
    expect([recordAnswer.status, recordAnswer.text]).toEqual([400, expect.stringContaining('1048576')]);
  });

  test('class 2: files that others wait at are not opened: FIFOs and devices', async () => {
    const id = await engine.start([
      'sh',
      '-c',
      'mkdir /d; mkfifo /d/p; mknod /d/watchdog c 10 130; touch /ready; exec sleep 600',
    ]);
    await expect.poll(() => stat(engine, id, '/ready')).toBe(200);
    const { bytes } = await engine.http.request('GET', url(id, '/d'));
    expect(untar(bytes).map(({ name, type }) => `${type} ${name}`)).toEqual([
      'directory d/',
      'fifo d/p',
      'character d/watchdog',
    ]);
  });
});

function url(id: string, path: string): string {
  return `/containers/${id}/archive?path=${encodeURIComponent(path)}`;
}

/** undefined when the answer was cut off: what was to be read had turned into something else. */
async function getOrCut(engine: Engine, id: string, path: string): Promise<Answer | undefined> {
  try {
    return await engine.http.request('GET', url(id, path));
  } catch {
    // As the daemon does with any stream that cannot be completed.
    return undefined;
  }
}

async function stat(engine: Engine, id: string, path: string): Promise<number> {
  return (await engine.http.request('HEAD', url(id, path))).status;
}

/** Names, contents and modes of everything below. */
function fingerprint(folder: string): string {
  const hash = createHash('sha256');
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    hash.update(`${entry.parentPath}/${entry.name}\n`);
    if (entry.isFile()) {
      hash.update(readFileSync(`${entry.parentPath}/${entry.name}`));
    }
  }
  return hash.update(execFileSync('stat', ['-c', '%a %u:%g', folder, `${folder}/file`])).digest('hex');
}

/** Looks again and again for children of the daemon whose root is not the host's, beside the containers' monitors. */
function watchRoots(pid: number): { timer: NodeJS.Timeout; foreign(): string[] } {
  const found = new Set<string>();
  const timer = setInterval(() => {
    for (const child of childrenOf(pid)) {
      try {
        const root = readlinkSync(`/proc/${child}/root`);
        if (root !== '/') {
          found.add(root);
        }
      } catch {
        // It has ended.
      }
    }
  }, 2);
  return { timer, foreign: () => [...found] };
}

function childrenOf(pid: number): string[] {
  return readdirSync(`/proc/${pid}/task`).flatMap((task) => {
    try {
      return readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').split(' ').filter(Boolean);
    } catch {
      // The thread has ended.
      return [];
    }
  });
}
