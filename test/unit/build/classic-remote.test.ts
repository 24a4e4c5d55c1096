import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseRemote } from '../../../daemon/build/classic/remote.ts';
import { fileName } from '../../../daemon/build/context/fetch-file.ts';
import { cloneGit } from '../../../storage/downloads/git-clone.ts';
import { pickRef } from '../../../storage/downloads/git-refs.ts';

describe('remote', () => {
  it.each([
    ['https://h/a.git', 'https://h/a.git', '', ''],
    ['https://h/a.git#main', 'https://h/a.git', 'main', ''],
    ['https://h/a.git#:sub/dir', 'https://h/a.git', '', 'sub/dir'],
    ['http://h:1/a.git#refs/pull/1/head:sub:x', 'http://h:1/a.git', 'refs/pull/1/head', 'sub:x'],
    ['git://h/a#v1', 'git://h/a', 'v1', ''],
    ['git@h:a/b.git#v1:d', 'git@h:a/b.git', 'v1', 'd'],
    ['github.com/a/b#v1', 'https://github.com/a/b', 'v1', ''],
  ])('%s is the repository %s at %s, directory %j', (text, remote, ref, directory) => {
    const op = { kind: 'git', remote, ref, subdirectory: directory, keepsGitDirectory: true, checksum: '' };
    expect(parseRemote(text)).toEqual({ kind: 'git', op });
  });

  it.each(['https://h/a.git/', 'http://h/Dockerfile', 'https://h/a.git?x', 'HTTP://h/x#frag'])(
    '%s is a file',
    (text) => {
      expect(parseRemote(text)).toEqual({ kind: 'http', url: new URL(text) });
    },
  );

  it.each([
    'ext::sh -c x',
    'file:///etc',
    '/etc',
    '-x',
    'ssh://h/a.git',
    'ftp://h/a',
    'http://',
    'http://h/\n.git',
    'git@h:a\u0000',
  ])('class 21: %j is none', (text) => {
    expect(() => parseRemote(text)).toThrow(/could not be recognized as URL|control characters/);
  });

  it.each(['-x', '--upload-pack=x', '-'])('class 21: a ref %s is refused', (ref) => {
    expect(() => parseRemote(`https://h/a.git#${ref}:dir`)).toThrow(`invalid refspec: ${ref}`);
  });

  it.each<[string, string | undefined, string]>([
    ['http://h/a/b.txt?x=/y', undefined, 'b.txt'],
    ['http://h/a%20b', undefined, 'a b'],
    ['http://h/%zz', undefined, '%zz'],
    ['http://h', undefined, ''],
    ['http://h/', 'attachment; filename=x', 'x'],
    ['http://h/', 'attachment; filename="a b"; size=3', 'a b'],
    ['http://h/', 'attachment; filename="/etc/passwd"', 'passwd'],
    ['http://h/', 'attachment; filename="x/"', ''],
    ['http://h/', 'attachment; filename=".."', ''],
    ['http://h/a%2f..', undefined, ''],
    ['http://h/a%00b', undefined, ''],
  ])('%s with %j is called %j', (url, disposition, name) => {
    expect(fileName(new URL(url), disposition)).toBe(name);
  });

  const [A, B, C] = ['a', 'b', 'c'].map((digit) => digit.repeat(40));
  it.each([
    ['', [`ref: refs/heads/trunk\tHEAD`, `${A}\tHEAD`], 'refs/heads/trunk', A],
    ['HEAD', [`${A}\tHEAD`], 'HEAD', A],
    ['', [], undefined, undefined],
    ['main', [`${A}\trefs/heads/main`], 'refs/heads/main', A],
    ['main', [`${A}\trefs/heads/feature/main`, `${B}\trefs/remotes/origin/main`], undefined, undefined],
    ['x', [`${B}\trefs/heads/x`, `${A}\trefs/tags/x`], 'refs/heads/x', B],
    ['refs/tags/x', [`${A}\trefs/tags/x`], 'refs/tags/x', A],
    ['tags/x', [`${A}\trefs/tags/x`], 'refs/tags/x', A],
    ['v1', [`${A}\trefs/tags/v1`, `${C}\trefs/tags/v1^{}`], 'refs/tags/v1', C],
    ['pull/1/head', [`${A}\trefs/pull/1/head`], 'refs/pull/1/head', A],
    ['main', ['no id\trefs/heads/main', 'and no line'], undefined, undefined],
  ])('of a remote, %j among %j is %s at %s', (ref, lines, name, commit) => {
    const expected = name === undefined ? undefined : { ref: name, commit };
    expect(pickRef(`${lines.join('\n')}\n`, ref)).toEqual(expected);
  });

  it('a host without git says so', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'berth-git-'));
    const { signal } = new AbortController();
    try {
      const cloning = cloneGit({ remote: 'git://h/a', ref: 'HEAD' }, directory, { signal, path: '/nowhere' });
      await expect(cloning).rejects.toThrow('needs the programs git, setpriv and unshare on this host');
    } finally {
      await rm(directory, { recursive: true });
    }
  });
});
