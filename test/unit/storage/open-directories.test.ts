import { expect, test } from 'vitest';
import { limits } from '../../../daemon/base/limits.ts';
import { OpenDirectories } from '../../../storage/files/open-directories.ts';

function open(): { directories: OpenDirectories<string>; closed: string[] } {
  const closed: string[] = [];
  return { directories: new OpenDirectories((handle) => closed.push(handle)), closed };
}

test('the one longest unused is closed for one too many', () => {
  const { directories, closed } = open();
  for (let number = 0; number < limits.openDirectoriesMax; number += 1) {
    directories.add(`d${number}`, `h${number}`);
  }
  directories.get('d0');
  directories.add('one', 'more');
  expect([closed, directories.get('d0'), directories.get('d1')]).toEqual([['h1'], 'h0', undefined]);
});

test('one of the same path gives way, and a replaced directory goes with what is below it', () => {
  const { directories, closed } = open();
  ['a', 'a/b', 'a/b/c', 'ab'].forEach((path) => directories.add(path, path));
  directories.add('ab', 'other');
  directories.forget('a/b');
  expect([closed, directories.get('a'), directories.get('ab')]).toEqual([
    ['ab', 'a/b', 'a/b/c'],
    'a',
    'other',
  ]);
  directories[Symbol.dispose]();
  expect(closed.slice(3).toSorted()).toEqual(['a', 'other']);
});

test('parents that are missing are made from the topmost down', () => {
  const { directories } = open();
  directories.add('', 'root');
  const made: string[] = [];
  const handle = directories.withParents(
    'a/b/c',
    (path) => directories.get(path),
    (parent, name, path) => {
      made.push(`${name} in ${parent} at ${path}`);
      return path;
    },
  );
  expect([handle, made]).toEqual(['a/b/c', ['a in root at a', 'b in a at a/b', 'c in a/b at a/b/c']]);
});
