import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  closeSync,
  existsSync,
  linkSync,
  lstatSync,
  lutimesSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MessageChannel } from 'node:worker_threads';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { listAttributes, setAttribute } from '../../../daemon/base/kernel/files/attributes.ts';
import { openRoot, type OpenFile } from '../../../daemon/base/kernel/files/safepath.ts';
import { limits } from '../../../daemon/base/limits.ts';
import type { AppliedLayer } from '../../../storage/layers/apply-request.ts';
import { applyLayer } from '../../../storage/layers/apply.ts';
import { composeLayer, type Composed } from '../../../storage/layers/compose/compose.ts';
import { help, Helper } from '../../../storage/layers/compose/helper.ts';
import type { PlaceRequest } from '../../../storage/files/place.ts';
import { replayLayer } from '../../../storage/layers/replay.ts';
import { LayerWorkers } from '../../../storage/layers/workers/layer-workers.ts';
import { verifyLayer } from '../../../storage/layers/verify.ts';
import { plainMember } from '../../../storage/tar/plain-member.ts';
import type { TarMember } from '../../../storage/tar/parser.ts';
import { needs } from '../../support/needs.ts';

const describe = needs('root');
const CONTROL = { isCanceled: (): boolean => false, progress: (): void => undefined };
const THEN = 1_000_000_000;

describe('a layer of files that are put on others', () => {
  let scratch: string;
  let lower: string;
  let root: OpenFile;
  let fd: number;
  let spooled: number;
  let count = 0;

  beforeEach(() => {
    scratch = mkdtempSync(join(tmpdir(), 'berth-compose-'));
    lower = join(scratch, 'lower');
    mkdirSync(join(lower, 'app'), { recursive: true });
    root = openRoot(lower);
    fd = openSync(join(scratch, 'spool'), 'w+');
    spooled = 0;
  });
  afterEach(() => {
    closeSync(fd);
    root[Symbol.dispose]();
    rmSync(scratch, { recursive: true });
  });

  const file = (name: string, content: string | Buffer, more: Partial<TarMember> = {}): TarMember => {
    const bytes = Buffer.from(content);
    writeFileSync(fd, bytes);
    spooled += bytes.length;
    const plain = plainMember(name, { type: 'file', mode: 0o644, mtimeSeconds: THEN });
    return { ...plain, size: bytes.length, offset: spooled - bytes.length, ...more };
  };
  const link = (name: string, linkName: string): TarMember => ({
    ...file(name, ''),
    type: 'symlink',
    linkName,
  });
  const compose = async (
    members: TarMember[],
    more: Partial<PlaceRequest> = {},
  ): Promise<Composed & { at: string }> => {
    count += 1;
    const at = join(scratch, `layer${count}`);
    mkdirSync(at);
    const view = { root: root.fd, isReadOnly: false, mounts: [], empty: root.fd };
    const files = { view, what: 'build', directories: [], source: { kind: 'members', fd, members }, ...more };
    return { ...(await composeLayer({ directory: at, files: files as PlaceRequest }, CONTROL)), at };
  };

  test('is what it would be had its tar been unpacked', async () => {
    const composed = await compose([
      directory('app/src', 0o750),
      file('app/src/empty', ''),
      file('app/src/program', 'x', {
        mode: 0o4755,
        uid: 7,
        gid: 8,
        mtime: { seconds: THEN, nanoseconds: 5 },
      }),
      file('app/src/large', Buffer.alloc(1_300_000, 'large')),
      file('app/src/marked', 'y', { attributes: new Map([['user.mark', Buffer.from('1')]]) }),
      file(`app/src/${'long'.repeat(40)}`, 'long'),
      file('app/src/\xe4', 'umlaut'),
      link('app/src/link', '/etc/passwd'),
    ]);
    const { diffId, tarBytes, ...facts } = made(composed);
    const tar = join(scratch, 'tar');
    const chunks: Buffer[] = [];
    replayLayer(composed.at, diffId, (chunk) => chunks.push(Buffer.from(chunk)) > 0);
    writeFileSync(tar, Buffer.concat(chunks));
    const [unpacked, tarFd] = [join(scratch, 'unpacked'), openSync(tar, 'r')];
    mkdirSync(unpacked);
    const blob = { fd: tarFd, offset: 0, size: tarBytes };
    const again = await applyLayer({ blob, directory: unpacked, what: 'layer' }, CONTROL);
    closeSync(tarFd);
    expect({ diffId, tarBytes, ...facts }).toEqual(again);
    expect(names(composed.at)).toEqual(names(unpacked));
    const check = join(scratch, 'check');
    const { problems } = await verifyLayer({ directory: composed.at, diffId, lowers: [lower] }, check);
    expect(problems).toEqual([]);
    const program = lstatSync(join(composed.at, 'diff/app/src/program'));
    expect([program.mode & 0o7777, program.uid, program.gid]).toEqual([0o4755, 7, 8]);
    expect(
      readFileSync(join(composed.at, 'diff/app/src/large')).equals(Buffer.alloc(1_300_000, 'large')),
    ).toBe(true);
    expect(readlinkSync(join(composed.at, 'diff/app/src/link'), 'latin1')).toBe('/etc/passwd');
    expect(listAttributes(join(composed.at, 'diff/app/src/marked'))).toEqual(['user.mark']);
  });

  test('files of a tree become the layer that they would as those of a client', async () => {
    const from = join(scratch, 'from');
    mkdirSync(join(from, 'src/deep'), { recursive: true });
    const made1 = [
      file('opt/program', 'x'.repeat(700), { mode: 0o4755, uid: 7, gid: 8 }),
      file('opt/empty', ''),
      link('opt/link', '../program'),
    ];
    writeFileSync(join(from, 'src/program'), 'x'.repeat(700));
    chownSync(join(from, 'src/program'), 7, 8);
    chmodSync(join(from, 'src/program'), 0o4755);
    writeFileSync(join(from, 'src/empty'), '');
    symlinkSync('../program', join(from, 'src/link'));
    writeFileSync(join(from, 'src/left.out'), 'no');
    for (const name of ['program', 'empty', 'link', 'deep']) {
      lutimesSync(join(from, 'src', name), THEN, THEN);
    }
    using source = openRoot(from);
    const view = { root: source.fd, isReadOnly: false, mounts: [], empty: source.fd };
    const tree = { kind: 'tree', view, items: [{ path: '/src', name: 'opt' }] } as const;
    const adjustment = { prefix: 'opt', exclude: ['*.out'], chmod: '' };
    const directories = ['opt'];
    const asClient = await compose([...made1, directory('opt/deep', 0o755)], { directories });
    const asTree = await compose([], { source: tree, adjustment, directories });
    expect([asTree.kind, names(asTree.at)]).toEqual(['layer', names(asClient.at)]);
    const program = lstatSync(join(asTree.at, 'diff/opt/program'));
    expect([program.mode & 0o7777, program.uid, program.gid, program.mtimeMs]).toEqual([
      0o4755,
      7,
      8,
      THEN * 1000,
    ]);
    expect(readFileSync(join(asTree.at, 'diff/opt/program'), 'utf8')).toBe('x'.repeat(700));
    expect(readdirSync(asTree.at).toSorted()).toEqual(['diff', 'recipe']);
    const { diffId } = made(asTree);
    const check = join(scratch, 'check');
    expect((await verifyLayer({ directory: asTree.at, diffId, lowers: [lower] }, check)).problems).toEqual(
      [],
    );
    // Another owner for all of them.
    const owned = await compose([], { source: tree, directories, owner: { uid: 3, gid: 4 } });
    const { uid, gid } = lstatSync(join(owned.at, 'diff/opt/program'));
    expect([uid, gid]).toEqual([3, 4]);
  });

  test.for([
    { what: 'two names of one file', make: (at: string) => linkSync(join(at, 'one'), join(at, 'other')) },
    { what: 'a FIFO', make: (at: string) => execFileSync('mkfifo', [join(at, 'fifo')]) },
    {
      what: 'more bytes than are kept',
      make: (at: string) => writeFileSync(join(at, 'large'), Buffer.alloc(limits.composedTreeBytesMax)),
    },
    {
      what: 'more files than are kept',
      make: (at: string) =>
        Array.from({ length: limits.composedTreeFilesMax }, (_, index) => mkdirSync(join(at, `${index}`))),
    },
  ])('a tree with $what takes an overlay', async ({ make }) => {
    const from = join(scratch, 'from');
    mkdirSync(from);
    writeFileSync(join(from, 'one'), '1');
    make(from);
    using source = openRoot(from);
    const view = { root: source.fd, isReadOnly: false, mounts: [], empty: source.fd };
    const tree = { kind: 'tree', view, items: [{ path: '/', name: 'opt' }] } as const;
    expect((await compose([], { source: tree })).kind).toBe('beyond');
  });

  test('directories that are there keep what they are, and get a new time where a name is new in them', async () => {
    chmodSync(join(lower, 'app'), 0o1777);
    mark(join(lower, 'app'), 'user.own');
    utimesSync(join(lower, 'app'), THEN, THEN);
    const composed = await compose([file('app/new/deep/file', 'x')], { owner: { uid: 3, gid: 4 } });
    made(composed);
    const at = (name: string): [number, number, number] => {
      const { mode, uid, gid } = lstatSync(join(composed.at, 'diff', name));
      return [mode & 0o7777, uid, gid];
    };
    expect(['app', 'app/new', 'app/new/deep', 'app/new/deep/file'].map((name) => at(name))).toEqual([
      [0o1777, 0, 0],
      [0o755, 3, 4],
      [0o755, 3, 4],
      [0o644, 3, 4],
    ]);
    expect(listAttributes(join(composed.at, 'diff/app'))).toEqual(['user.own']);
    expect(lstatSync(join(composed.at, 'diff/app')).mtimeMs).toBeGreaterThan(THEN * 1000);
  });

  test('what is there already, with its contents, is not in it', async () => {
    write('app/same', 'same');
    write('app/other', 'same size');
    write('app/touched', 'same');
    symlinkSync('target', join(lower, 'app/link'));
    const { mtimeMs } = lstatSync(join(lower, 'app/link'));
    const mtime = { seconds: Math.floor(mtimeMs / 1000), nanoseconds: 0 };
    const composed = await compose([
      directory('app'),
      file('app/same', 'same'),
      file('app/other', 'SAME SIZE'),
      file('app/touched', 'same', { mtime: { seconds: THEN + 1, nanoseconds: 0 } }),
      { ...link('app/link', 'elsewhere'), mtime },
    ]);
    made(composed);
    expect(names(composed.at)).toEqual(['app', 'app/link', 'app/other', 'app/touched']);
  });

  test('nothing changes: no layer', async () => {
    write('app/same', 'same');
    expect((await compose([directory('app'), file('app/same', 'same')])).kind).toBe('unchanged');
  });

  test('attributes of a file that is there go with it, also where all else is the same', async () => {
    write('app/same', 'same');
    mark(join(lower, 'app/same'), 'user.mark');
    const composed = await compose([directory('app'), file('app/same', 'same')]);
    expect([composed.kind, listAttributes(join(composed.at, 'diff/app/same'))]).toEqual(['layer', []]);
  });

  test('members may be left out and have other modes', async () => {
    const members = [directory('app/a'), file('app/a/kept', 'x'), file('app/a/left', 'x')];
    const adjustment = { prefix: 'app', exclude: ['a/left'], chmod: '700' };
    const composed = await compose(members, { adjustment });
    made(composed);
    expect(names(composed.at)).toEqual(['app', 'app/a', 'app/a/kept']);
    expect(lstatSync(join(composed.at, 'diff/app/a/kept')).mode & 0o7777).toBe(0o700);
  });

  test.each<[string, () => TarMember[]]>([
    ['a directory in place of a file', () => [directory('app/there')]],
    ['something in a file', () => [file('app/there/below', 'x')]],
    ['a file in place of a directory', () => [file('app', 'x')]],
    ['a directory in place of a link', () => [directory('app/link')]],
    ['something below a link', () => [file('app/link/below', 'x')]],
    ['a pipe', () => [{ ...file('app/pipe', ''), type: 'fifo' }]],
    ['a further name', () => [file('app/a', 'x'), { ...file('app/b', ''), type: 'link', linkName: 'app/a' }]],
    [
      'a second name of a file',
      () => [file('app/a', 'x', { sharedWith: 'a' }), file('app/b', 'x', { sharedWith: 'a' })],
    ],
    ['a sparse file', () => [file('app/a', 'x', { sparse: [{ offset: 0, size: 1 }] })]],
    ['a name twice', () => [file('app/a', 'x'), file('app/a', 'y')]],
    ['an attribute of the kernel', () => [file('app/a', 'x', { attributes: new Map([[OPAQUE, YES]]) })]],
    ['a file that is cut off', () => [file('app/a', 'x', { size: 2_000_000 })]],
    ['a name that leads out', () => [file('../a', 'x')]],
    ['a name that means that a file is gone', () => [file('app/.wh.a', '')]],
    ['a directory in such a name', () => [file('app/.wh.a/b', 'x')]],
  ])('%s is left to an overlay', async (_what, members) => {
    write('app/there', 'x');
    mkdirSync(join(scratch, 'outside'));
    symlinkSync(join(scratch, 'outside'), join(lower, 'app/link'));
    expect((await compose(members())).kind).toBe('beyond');
    expect(existsSync(join(scratch, 'outside/below'))).toBe(false);
  });

  test('a client that leaves ends it', async () => {
    const view = { root: root.fd, isReadOnly: false, mounts: [], empty: root.fd };
    const source = { kind: 'members', fd, members: [file('app/a', 'x')] } as const;
    const files = { view, what: 'build', directories: [], source };
    const at = mkdtempSync(join(scratch, 'layer-'));
    await expect(
      composeLayer({ directory: at, files }, { ...CONTROL, isCanceled: () => true }),
    ).rejects.toThrow('build: canceled');
  });

  test('many files are made by two threads, to the same layer', async () => {
    const members = Array.from({ length: 1000 }, (_, index) => [
      ...(index % 100 === 0 ? [directory(`app/${index / 100}`)] : []),
      index % 10 === 0
        ? link(`app/${Math.floor(index / 100)}/link${index}`, `file${index}`)
        : file(`app/${Math.floor(index / 100)}/file${index}`, `content ${index}`, { uid: index }),
    ]).flat();
    // One that no member is has the time of its making.
    members.unshift(directory('app'));
    const alone = await compose(members);
    await using workers = new LayerWorkers();
    let threads = 0;
    const started = (): void => {
      threads += 1;
    };
    process.on('worker', started);
    const at = mkdtempSync(join(scratch, 'layer-'));
    const view = { root: root.fd, isReadOnly: false, mounts: [], empty: root.fd };
    const files = { view, what: 'build', directories: [], source: { kind: 'members', fd, members } } as const;
    const composed = await workers.compose({ directory: at, files });
    process.off('worker', started);
    expect(threads).toBe(2);
    expect(made(composed)).toEqual(made(alone));
    const { diffId } = made(composed);
    const { problems } = await verifyLayer(
      { directory: at, diffId, lowers: [lower] },
      join(scratch, 'check'),
    );
    expect(problems).toEqual([]);
  });

  test.each([
    ['fails', { failed: 'no descriptors' }],
    ['is gone', undefined],
  ])('a helper that %s: the layer is left to an overlay', async (_what, answer) => {
    const { port1, port2 } = new MessageChannel();
    port2.once('message', () => {
      if (answer !== undefined) {
        port2.postMessage(answer);
      }
      port2.close();
    });
    using helper = new Helper(port1);
    const view = { root: root.fd, isReadOnly: false, mounts: [], empty: root.fd };
    const source = { kind: 'members', fd, members: [file('app/a', 'x')] } as const;
    const files = { view, what: 'build', directories: [], source };
    const at = mkdtempSync(join(scratch, 'layer-'));
    expect(await composeLayer({ directory: at, files }, CONTROL, helper)).toEqual({ kind: 'beyond' });
  });

  test('a helper that is not begun ends', async () => {
    const { port1, port2 } = new MessageChannel();
    const ended = help(port2, CONTROL);
    new Helper(port1)[Symbol.dispose]();
    await ended;
  });

  function write(name: string, content: string): void {
    writeFileSync(join(lower, name), content);
    utimesSync(join(lower, name), THEN, THEN);
  }
});

const OPAQUE = 'trusted.overlay.opaque';
const YES = Buffer.from('y');

function mark(path: string, name: string): void {
  const fd = openSync(path, 'r');
  setAttribute(fd, name, YES);
  closeSync(fd);
}

function made(composed: Composed): AppliedLayer {
  if (composed.kind !== 'layer') {
    throw new Error(`it is ${composed.kind}`);
  }
  return composed.layer;
}

function names(at: string): string[] {
  return readdirSync(join(at, 'diff'), { recursive: true, encoding: 'latin1' }).toSorted();
}

function directory(name: string, mode = 0o755): TarMember {
  return plainMember(name, { type: 'directory', mode, mtimeSeconds: THEN });
}
