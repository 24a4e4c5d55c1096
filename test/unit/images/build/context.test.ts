import { describe, expect, test } from 'vitest';
import { ContextEntries } from '../../../../storage/contexts/entries.ts';
import { ignoreTest } from '../../../../daemon/base/dockerfile/ignore.ts';
import { ContextTree } from '../../../../storage/contexts/tree.ts';
import { TarParser } from '../../../../storage/tar/parser.ts';
import { tar, type TarEntry } from '../../../support/images/tar.ts';

function read(...members: TarEntry[]): ContextEntries {
  const entries = new ContextEntries();
  const parser = new TarParser(entries, 'build context');
  parser.push(tar(members));
  parser.end();
  return entries;
}

describe('ignoreTest', () => {
  test.each<[string, string[], string[]]>([
    ['a', ['a', 'a/b'], ['b', 'b/a', 'ab']],
    ['*.log', ['x.log'], ['d/x.log', 'x.log2']],
    ['*/x', ['a/x', 'a/x/y'], ['x', 'a/b/x']],
    ['**/x', ['x', 'a/x', 'a/b/x', 'a/b/x/y'], ['ax']],
    ['a/**', ['a/b', 'a/b/c'], ['a', 'b/a/b']],
    ['a/**/z', ['a/z', 'a/b/z', 'a/b/c/z'], ['z']],
    ['?.txt', ['a.txt'], ['ab.txt']],
    ['[a-c].txt', ['b.txt'], ['d.txt']],
    ['[^a-c].txt', ['d.txt'], ['b.txt']],
    ['/a/', ['a', 'a/b'], []],
    ['./a/../b', ['b'], ['a']],
    ['# a\n\n  b  ', ['b'], ['a', '# a']],
    ['*\n!keep', ['x'], ['keep', 'keep/y']],
    ['d\n!d/keep\nd/keep/not', ['d/x', 'd/keep/not'], ['d/keep', 'd/keep/y']],
    ['a+(b).c', ['a+(b).c'], ['aab_c']],
    // By the rules that Go's matcher has by its own tests (moby/patternmatcher).
    ['**', ['f', 'd/f', 'd/e/f'], []],
    ['**/', ['f', 'd/f'], []],
    ['**/**', ['f', 'd/f'], []],
    ['**/e/*', ['e/f', 'd/e/f', 'd/e/e/f'], ['e', 'd/f']],
    ['**f', ['f', 'd/f', 'd/e/f'], ['xf', 'd/g']],
    ['**/f*.x', ['f.x', 'd/file.x'], ['d/g.x', 'd/f.xy']],
    ['**/f*x*', ['f.xy', 'd/fx'], ['d/fy']],
    ['**/**/*.x', ['f.x', 'd/f.x', 'd/e/f.x'], ['d/f.y']],
    ['a**/*.x', ['a/f.x', 'a/d/f.x', 'a/d/e/f.x'], ['b/f.x']],
    ['a/*.x', ['a/f.x'], ['a/d/f.x', 'f.x']],
    ['a/*.x**', ['a/f.x', 'a/f.xy'], ['a/d/f.x']],
    ['a[b-d]e', ['ace'], ['ae', 'aae', 'aze']],
    ['a[^b-d]e', ['aze'], ['ace']],
    ['.*', ['.x', '.x/y'], ['x', 'x/.y']],
    ['abc.def', ['abc.def'], ['abcdef', 'abcZdef']],
    ['abc?def', ['abcZdef'], ['abcdef', 'abc/def']],
    [String.raw`a\*b`, ['a*b'], ['axb']],
    ['**/d/f', ['d/f', 'x/d/f', 'x/y/d/f'], ['f', 'xd/f']],
    ['abc/**', ['abc/d', 'abc/d/e'], ['abc', 'abcd']],
    ['**/.x', ['.x', 'd/.x'], ['d.x']],
    ['a(b)c/d', ['a(b)c/d'], ['a(b)c/e']],
    ['a.|)$(}+{bc', ['a.|)$(}+{bc'], ['a']],
    ['d/x-2.4.0rc3+g08-none.whl', ['d/x-2.4.0rc3+g08-none.whl'], []],
    ['d/*.whl', ['d/x-2.4.0rc3+g08-none.whl'], ['d/e/x.whl']],
    ['**/d\n!**/d/keep', ['d/x', 'a/d/x'], ['d/keep', 'a/d/keep']],
    ['d\n!d/e\nd/e/f\n!**/f', ['d/x'], ['d/e/f', 'd/e']],
  ])('%j', (text, ignored, kept) => {
    const isIgnored = ignoreTest(text);
    expect([...ignored, ...kept].filter((path) => isIgnored(path))).toEqual(ignored);
  });

  test('class 14: many stars take no time', () => {
    const isIgnored = ignoreTest('a*'.repeat(250));
    expect(isIgnored('a'.repeat(500))).toBe(true);
    expect(isIgnored(`${'a'.repeat(200)}b`)).toBe(false);
  });

  test.each(['[a', '!'])('%j is refused', (text) => {
    expect(() => ignoreTest(text)).toThrow('failed to parse .dockerignore');
  });
});

describe('a context', () => {
  test('later members win, links share content, directories may be implied', () => {
    const entries = read(
      { name: './a/f', content: 'old' },
      { name: 'a/f', content: 'new!' },
      { name: 'hard', type: '1', linkName: 'a/f' },
      { name: 'b/', mode: 0o700 },
      { name: 'b/x', content: 'x' },
      { name: 'b', content: 'file now' },
    ).all;
    expect([...entries.keys()].toSorted()).toEqual(['a', 'a/f', 'b', 'hard']);
    expect(entries.get('hard')?.digest).toBe(entries.get('a/f')?.digest);
    expect(entries.get('a')?.member).toMatchObject({ type: 'directory', mode: 0o755 });
  });

  test.each<[string, TarEntry[], string]>([
    ['a name that leads out', [{ name: '../x' }], 'would lead out'],
    [
      'a hard link that leads out',
      [{ name: 'x', type: '1', linkName: '/../../etc/passwd' }],
      'would lead out',
    ],
    ['a hard link to nothing', [{ name: 'x', type: '1', linkName: 'y' }], 'which is no file of it'],
    ['a device', [{ name: 'x', type: '3' }], 'is a character'],
    ['a file in a link', [{ name: 'l', type: '2', linkName: '/etc' }, { name: 'l/x' }], 'no directory'],
  ])('class 12: %s is refused', (_what, members, message) => {
    expect(() => read(...members)).toThrow(message);
  });

  test('class 13: links are followed within the context only', () => {
    const tree = new ContextTree(
      read(
        { name: 'd/f', content: '1' },
        { name: 'abs', type: '2', linkName: '/d/f' },
        { name: 'up', type: '2', linkName: '../../../d' },
        { name: 'd/rel', type: '2', linkName: 'f' },
        { name: 'loop', type: '2', linkName: 'loop' },
        { name: 'gone', type: '2', linkName: 'nothing' },
      ).all,
    );
    const found = (path: string): string | undefined => tree.find(path)?.path;
    expect(['abs', 'up/f', 'd/rel', 'up/../d', '../../d', 'loop', 'gone', 'd/f/x'].map(found)).toEqual([
      'd/f',
      'd/f',
      'd/f',
      'd',
      'd',
      undefined,
      undefined,
      undefined,
    ]);
    expect(tree.matching('d/*')).toEqual(['d/f', 'd/rel']);
    expect([...tree.below('')].map(({ path }) => path)).toEqual([
      'abs',
      'd',
      'd/f',
      'd/rel',
      'gone',
      'loop',
      'up',
    ]);
  });
});
