import { expect, test } from 'vitest';
import type { Op, Vertex } from '../../../../daemon/build/graph/op.ts';
import { sourceOf } from '../../../../daemon/build/llb/source.ts';
import { convertGraph } from '../../../../daemon/build/policy/convert-graph.ts';
import { convertDirectory, convertImage } from '../../../../daemon/build/policy/evaluate.ts';
import { nameSource } from '../../../../daemon/build/policy/name-source.ts';
import type { SourceConversion } from '../../../../daemon/build/policy/named-source.ts';
import { OWNER } from '../llb/reading.ts';

const image: Op = {
  kind: 'image',
  reference: 'docker.io/library/a:1',
  platform: 'linux/arm64',
  mode: 'pull',
};
const file: Op = {
  kind: 'http',
  url: 'https://h/f',
  checksum: '',
  fileName: 'f',
  mode: 0o755,
  owner: { uid: 1, gid: 2 },
};
const git: Op = {
  kind: 'git',
  remote: 'git@host:dir/r.git',
  ref: 'main',
  subdirectory: 'sub',
  keepsGitDirectory: true,
  checksum: 'abc1234',
  skipsSubmodules: true,
  secrets: { token: 'T', header: 'H' },
  agent: 'default',
};
const directory: Op = {
  kind: 'local',
  name: 'context',
  session: 's1',
  sharedKey: 'dir:node',
  includePatterns: [],
  excludePatterns: ['*.log'],
  followPaths: ['a'],
};
const layout: Op = {
  kind: 'layout',
  store: 's',
  digest: `sha256:${'a'.repeat(64)}`,
  session: 's2',
  platform: 'linux/amd64',
  layerLimit: 2,
};
const vertex = (op: Op, ...inputs: Vertex[]): Vertex => ({ op, inputs, name: op.kind });

test.each<[string, Op, string]>([
  ['image', image, 'docker-image://docker.io/library/a:1'],
  ['http', file, 'https://h/f'],
  ['git', git, 'git://host/dir/r.git#main:sub'],
  ['git by URL', { ...git, remote: 'https://u@host:1/r.git', subdirectory: '' }, 'git://host:1/r.git#main'],
  ['git, its HEAD', { ...git, remote: 'ssh://git@host/r', ref: '', subdirectory: '' }, 'git://host/r'],
  ['local', directory, 'local://context'],
  ['local, sent anew', { ...directory, isSentAnew: true }, 'local://context'],
  ['layout', layout, `oci-layout://s@sha256:${'a'.repeat(64)}`],
])('%s: its name, which leads to the same operation', (_title, op, identifier) => {
  const named = nameSource(op);
  expect(named?.identifier).toBe(identifier);
  const owner = { ...OWNER, platform: 'platform' in op ? op.platform : OWNER.platform };
  expect(named && sourceOf(named, owner)).toEqual(op);
});

const to =
  (from: string, identifier: string): SourceConversion =>
  (source) =>
    source.identifier === from ? { ...source, identifier } : source;

const refusing: SourceConversion = () => {
  throw new Error('not this');
};
const plain: SourceConversion = () => ({ identifier: 'docker-image://x:1', attrs: new Map() });

test('what two vertices stand on stays one, and what has become the same, too', () => {
  const base = vertex(image);
  const other = vertex({ ...image, reference: 'docker.io/library/b:1' });
  const merge: Op = { kind: 'merge' };
  const target = vertex(merge, vertex(merge, base, other), base);
  const convert = to('docker-image://docker.io/library/a:1', 'docker-image://docker.io/library/b:1');
  const converted = convertGraph(target, { ...OWNER, convert });
  const [below, one] = converted?.inputs ?? [];
  expect(one?.op).toEqual(other.op);
  expect(below?.inputs).toEqual([one, one]);
  expect(below?.inputs[0]).toBe(one);
  expect(below?.inputs[1]).toBe(one);
});

test('a graph that nothing changes is the very same; a place is told', () => {
  const target = vertex({ kind: 'merge' }, vertex(image), vertex({ kind: 'held', id: 'x' }));
  expect(convertGraph(target, { ...OWNER, convert: (source) => source })).toBe(target);
  expect(() => convertGraph(target, { ...OWNER, convert: refusing })).toThrow('not this');
  expect(convertGraph(vertex({ kind: 'held', id: 'x' }), { ...OWNER, convert: refusing })).toBeDefined();
});

test('a source may become one of another kind', () => {
  const convert = to('https://h/f', 'docker-image://docker.io/library/b:1');
  expect(() => convertGraph(vertex(file), { ...OWNER, convert })).toThrow('attribute http.filename=f is not');
  expect(convertGraph(vertex(file), { ...OWNER, convert: plain })?.op).toEqual({
    kind: 'image',
    reference: 'x:1',
    platform: 'linux/amd64',
    mode: 'local',
  });
});

test('an image stays one, and a directory, too', () => {
  expect(convertImage('a:1', 'linux/amd64', to('docker-image://a:1', 'docker-image://b:2'))).toBe('b:2');
  expect(() => convertImage('a:1', 'linux/amd64', to('docker-image://a:1', 'https://x'))).toThrow(
    'ref mutated by policy to non-image: docker-image://a:1 -> https://x',
  );
  expect(convertDirectory('a', 's', to('local://a', 'local://b'))).toBe('b');
  expect(() => convertDirectory('a', 's', to('local://a', 'https://x'))).toThrow('cannot become https://x');
});
