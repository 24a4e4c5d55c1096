import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { receiveStream } from '../../../daemon/build/context/archive.ts';
import { Uploads } from '../../../daemon/build/context/uploads.ts';
import { withoutIgnored } from '../../../daemon/build/context/without-ignored.ts';
import { contextSource } from '../../../daemon/build/frontend/sources/remote.ts';
import { readGraph } from '../../../daemon/build/llb/read-graph.ts';
import { asTheyAre } from '../../../daemon/build/policy/named-source.ts';
import { resultDefinition } from '../../../daemon/build/llb/result-definition.ts';
import { HeldTrees } from '../../../daemon/build/snapshots/held-trees.ts';
import { BuildTree } from '../../../daemon/build/snapshots/tree.ts';
import { limits } from '../../../daemon/base/limits.ts';
import { SpoolDirectory } from '../../../storage/spool/spool.ts';
import { ManualClock } from '../../support/fakes/manual-clock.ts';
import { tar } from '../../support/images/tar.ts';

const { signal } = new AbortController();
const folder = mkdtempSync(path.join(tmpdir(), 'berth-test-streams-'));
const spools = new SpoolDirectory(folder, () => Promise.resolve());

beforeAll(async () => {
  await spools.prepare();
});
afterAll(() => rmSync(folder, { recursive: true }));

const receive = (body: Buffer, pieces = body.length): ReturnType<typeof receiveStream> => {
  const chunks: Buffer[] = [];
  for (let at = 0; at < body.length; at += pieces) {
    chunks.push(body.subarray(at, at + pieces));
  }
  const unpacking = {
    spool: (source: Readable, options: { what: string; signal: AbortSignal }) =>
      spools.fill(source, { ...options, decompress: true }),
  };
  const options = { what: 'build context', kind: 'either', signal } as const;
  return receiveStream(unpacking, Readable.from(chunks), options);
};
const paths = ({ content }: BuildTree): string[] =>
  content.kind === 'files' ? [...content.context.tree.below('')].map((entry) => entry.path) : [];

const CONTEXT = tar([
  { name: 'Dockerfile', content: 'FROM scratch\n' },
  { name: 'sub/', type: '5' },
  { name: 'sub/a', content: 'x'.repeat(2000) },
]);

test.each([
  ['a tar', CONTEXT, 65_536],
  ['a tar in small pieces', CONTEXT, 7],
  ['a compressed tar', gzipSync(CONTEXT), 100],
])('%s is a directory', async (_name, body, pieces) => {
  const { tree, isFile } = await receive(body, pieces);
  using _tree = tree;
  expect({ isFile, paths: paths(tree) }).toEqual({ isFile: false, paths: ['Dockerfile', 'sub', 'sub/a'] });
});

test.each([
  ['short', 'FROM scratch\n'],
  ['longer than a block of a tar', `FROM scratch\n${'# x\n'.repeat(500)}`],
])('what is no tar is one file: %s', async (_name, text) => {
  const { tree, isFile } = await receive(Buffer.from(text), 100);
  using _tree = tree;
  expect({ isFile, paths: paths(tree) }).toEqual({ isFile: true, paths: ['context'] });
});

test('an empty stream is told, a tar that is cut off and names that lead out are refused', async () => {
  const { isEmpty, tree: nothing } = await receive(Buffer.alloc(0), 1);
  using _nothing = nothing;
  expect(isEmpty).toBe(true);
  await expect(receive(CONTEXT.subarray(0, 700))).rejects.toMatchObject({ code: 'invalid_argument' });
  const outside = tar([{ name: '../../etc/passwd', content: 'x' }]);
  const { tree } = await receive(outside).catch(() => ({ tree: undefined }));
  // Bent back or refused: in no case is there a path above the root.
  expect(tree === undefined ? [] : paths(tree).filter((name) => name.includes('..'))).toEqual([]);
  tree?.[Symbol.dispose]();
});

test('what a .dockerignore leaves out is gone, but for exceptions and the directories that hold them', async () => {
  const body = tar([
    { name: 'keep', content: '1' },
    { name: 'gone.log', content: '2' },
    { name: 'out/', type: '5' },
    { name: 'out/in', content: '3' },
    { name: 'out/no', content: '4' },
    { name: 'empty/', type: '5' },
  ]);
  const { tree } = await receive(body);
  if (tree.content.kind !== 'files') {
    throw new Error('a stream is files');
  }
  using less = withoutIgnored(tree, tree.content.context, ['*.log', 'out', '!out/in', 'empty']);
  expect(paths(less)).toEqual(['keep', 'out', 'out/in']);
});

test.each([
  [
    'https://host/a.git#main:sub',
    { kind: 'git', op: { remote: 'https://host/a.git', ref: 'main', subdirectory: 'sub' } },
  ],
  ['git@host:a/b.git', { kind: 'git', op: { remote: 'git@host:a/b.git', keepsGitDirectory: true } }],
  [
    'https://host/a.git?submodules=false',
    { kind: 'git', op: { remote: 'https://host/a.git', skipsSubmodules: true } },
  ],
  ['github.com/a/b.git', { kind: 'git', op: { remote: 'https://github.com/a/b.git' } }],
  ['https://host/a.git?ref=v1&subdir=x', { kind: 'git', op: { ref: 'v1', subdirectory: 'x' } }],
  ['http://buildkit-session/abc', { kind: 'upload', path: '/abc' }],
])('context %s', (text, source) => {
  expect(contextSource(text, true)).toMatchObject(source);
});

test('a context by HTTP, and what is none', () => {
  const source = contextSource('http://host/c.tar.gz', false);
  expect(source).toEqual({ kind: 'http', url: new URL('http://host/c.tar.gz') });
  for (const text of ['file:///etc', '/etc/passwd', 'ext::sh -c id', '--upload-pack=x', 'ftp://host/a']) {
    expect(() => contextSource(text, false)).toThrow(`context ${text}: it is no address`);
  }
});

test('a result is a graph that its client hands back, found after its build as long as its layers are there', () => {
  const there = new Map([['sha256:c', [7]]]);
  const pinned: (readonly number[])[] = [];
  const held = new HeldTrees({
    chainId: (layerIds) => (layerIds.length === 0 ? '' : 'sha256:c'),
    chainNamed: (chainId) => there.get(chainId),
    pin: (layerIds) => ({ layerIds, pin: { [Symbol.dispose]: () => void pinned.push(layerIds) } }),
  });
  let isReleased = false;
  const tree = new BuildTree({ kind: 'layers', layerIds: [7] }, () => (isReleased = true));
  const kept = held.keep(tree);
  tree[Symbol.dispose]();
  const { operations, digest } = resultDefinition(kept.id);
  const notes = new Map([
    [digest, { isFresh: false, description: new Map<string, string>(), capabilities: [] }],
  ]);
  const owner = {
    session: 's',
    sharedKey: '',
    platform: 'linux/amd64',
    entitlements: [],
    convert: asTheyAre,
  };
  const vertex = readGraph({ operations, notes, files: [], places: new Map() }, owner);
  expect(vertex?.op).toEqual({ kind: 'held', id: kept.id });
  const same = held.hold(kept.id);
  expect(same).toBe(tree);
  same[Symbol.dispose]();
  kept[Symbol.dispose]();
  expect(isReleased).toBe(true);
  expect(held.content(kept.id)).toEqual({ kind: 'layers', layerIds: [7] });
  const again = held.hold(kept.id);
  expect(pinned).toEqual([]);
  again[Symbol.dispose]();
  expect(pinned).toEqual([[7]]);
  there.clear();
  expect(() => held.hold(kept.id)).toThrow('no build that is under way has a result');
  expect(() => held.content('none')).toThrow('no build that is under way has a result');
});

test('an uploaded context and its build meet, whichever comes first', async () => {
  const uploads = new Uploads(new ManualClock());
  for (const isFirst of [true, false]) {
    const body = Readable.from(['x']);
    const offered = isFirst ? uploads.offer('b', body, signal) : undefined;
    const taken = uploads.take('b', signal);
    const over = offered ?? uploads.offer('b', body, signal);
    const uploaded = await taken;
    expect(uploaded.body).toBe(body);
    uploaded[Symbol.dispose]();
    await over;
  }
});

test('an upload that nobody takes, a build whose context does not come, and two of one build are refused', async () => {
  const clock = new ManualClock();
  const uploads = new Uploads(clock);
  const offered = expect(uploads.offer('a', Readable.from([]), signal)).rejects.toThrow('no build a waits');
  await expect(uploads.offer('a', Readable.from([]), signal)).rejects.toThrow('uploaded already');
  const taken = expect(uploads.take('b', signal)).rejects.toThrow('the context of build b was not uploaded');
  await clock.advance(limits.sessionWaitMs);
  await Promise.all([offered, taken]);
});
