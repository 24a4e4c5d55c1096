import { expect, test } from 'vitest';
import { DefinitionKeys } from '../../../daemon/build/graph/key.ts';
import type { Vertex } from '../../../daemon/build/graph/op.ts';
import { unify } from '../../../daemon/build/graph/unify.ts';
import { copy, image, run } from './solver/vertices.ts';

test('what is the same twice is one vertex, with the name of the first', () => {
  const one = { ...run('make', image('a')), name: 'first' };
  const other = { ...run('make', image('a')), name: 'second' };
  const [target] = unify([copy(['x'], one, other)]);
  expect(target?.inputs[0]).toBe(target?.inputs[1]);
  expect(target?.inputs[0]?.name).toBe('first');
});

test('a result that one stage wants anew is not taken from the cache by another', () => {
  const cached = run('make', image('a'));
  const fresh = { ...run('make', image('a')), isFresh: true };
  const [target, second] = unify([copy(['x'], cached, image('b')), copy(['y'], fresh, image('b'))]);
  expect(target?.inputs[0]).toMatchObject({ isFresh: true });
  expect(second?.inputs[0]).toBe(target?.inputs[0]);
});

test('keys stay what they were; an empty tree stays empty; nothing else is merged', () => {
  const target = copy(['x'], undefined, run('make', image('a')));
  const other = copy(['x'], undefined, run('make', image('b')));
  const unified = unify([target, undefined, other]);
  const keys = new DefinitionKeys();
  expect(unified.map((vertex) => vertex && keys.of(vertex))).toEqual([
    keys.of(target),
    undefined,
    keys.of(other),
  ]);
});

test('a graph in which everything is twice, 5,000 steps deep, is read in one pass', () => {
  let [a, b]: Vertex[] = [image('a'), image('a')];
  for (let at = 0; at < 5000; at += 1) {
    [a, b] = [run(`${at}`, a, [b as Vertex]), run(`${at}`, a, [b as Vertex])];
  }
  const [target, other] = unify([a, b]);
  expect(target).toBe(other);
});
