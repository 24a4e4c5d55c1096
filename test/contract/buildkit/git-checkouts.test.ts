import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { notFound } from '../../../daemon/base/errors.ts';
import type { GitSource } from '../../../daemon/build/graph/op.ts';
import type { UsedSource } from '../../../daemon/build/graph/used-source.ts';
import { gitKey, runGit, type GitDeps } from '../../../daemon/build/ops/git.ts';
import type { BuildTree } from '../../../daemon/build/snapshots/tree.ts';
import type { RunContext } from '../../../daemon/build/solver/ports.ts';
import { Archives } from '../../../storage/files/archives.ts';
import { TarSpools } from '../../../storage/files/tar-spools.ts';
import { SpoolDirectory } from '../../../storage/spool/spool.ts';
import { untar } from '../../support/images/untar.ts';
import { needs } from '../../support/needs.ts';
import { WebServer } from '../../support/registry/web.ts';
import { SeededRandom } from '../../support/seeded-random.ts';

const STEPS = 6;
const SOURCE = { kind: 'git', ref: '', subdirectory: '', keepsGitDirectory: false, checksum: '' } as const;

needs('root')('checkouts of repositories', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'berth-test-git-'));
  const archives = new Archives();
  const spools = new SpoolDirectory(folder, () => Promise.resolve());
  // A client without secrets, and without a key agent.
  const session = { secret: () => Promise.reject(notFound('secret: not found')), hasAgent: () => false };
  const deps = {
    archives,
    spools: new TarSpools(spools, archives),
    temporary: folder,
    sessions: { get: () => Promise.resolve(session) },
  } as unknown as GitDeps;
  let web: WebServer;

  beforeAll(async () => {
    await spools.prepare();
    web = await WebServer.start('127.0.0.1');
    await web.repository(
      'kept.git',
      { a: 'a' },
      ['branch', 'x'],
      ['tag', 'light'],
      ['tag', '--annotate', '--message=m', 'heavy'],
      ['update-ref', 'refs/pull/1/head', 'HEAD'],
    );
  });
  afterAll(async () => {
    await web[Symbol.asyncDispose]();
    await archives[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true });
  });

  const keyed = async (op: GitSource): Promise<{ key: string; used: UsedSource[]; context: RunContext }> => {
    const used: UsedSource[] = [];
    const context: RunContext = {
      signal: new AbortController().signal,
      sessions: () => ['s'],
      log: () => undefined,
      work: () => undefined,
      used: (source) => used.push(source),
    };
    const { key, isLasting } = await gitKey(deps, op, context);
    expect(isLasting).toBe(true);
    return { key, used, context };
  };
  const checkedOut = async (op: GitSource): Promise<BuildTree> =>
    await runGit(deps, op, (await keyed(op)).context);
  const gitIn =
    (name: string) =>
    (...args: string[]): string => {
      const env = { PATH: process.env['PATH'], HOME: '/nonexistent', ...WHO };
      return execFileSync('git', args, { cwd: web.repositoryPath(name), env, encoding: 'utf8' }).trim();
    };

  test('a key means one tree, whatever a repository has been through: equal keys, equal files', async () => {
    const random = new SeededRandom(20_261_129);
    const pick = <T>(items: readonly [T, ...T[]]): T => items[random.below(items.length)] ?? items[0];
    const remote = await web.repository('moving.git', { top: '0', 'sub/in': '0', 'sub/link': '-> in' });
    const git = gitIn('moving.git');
    const actions = [
      (step: number) => {
        writeFileSync(path.join(web.repositoryPath('moving.git'), pick(['top', 'sub/in'])), `${step}`);
        git('commit', '--quiet', '--all', '--message', `${step}`);
      },
      () => git('checkout', '--quiet', '-B', pick(['main', 'other', 'both']), pick(['main', 'HEAD'])),
      () => git('tag', '--force', pick(['v1', 'both'])),
      () => git('tag', '--force', '--annotate', '--message=m', pick(['v1', 'v2'])),
    ] as const;
    git('branch', 'other');
    ['both', 'v1', 'v2'].forEach((tag) => git('tag', tag));
    git('branch', 'both');
    const known = new Map<string, string>();
    for (let step = 0; step < STEPS; step += 1) {
      pick(actions)(step);
      const names = ['', 'main', 'other', 'both', 'v1', 'v2', 'refs/tags/both', 'refs/heads/both'] as const;
      const named = pick(names);
      const commit = git('rev-parse', `${branchFirst(git, named)}^{commit}`);
      const op: GitSource = {
        ...SOURCE,
        remote,
        ref: pick([named, named, commit]),
        checksum: pick(['', '', commit, commit.slice(0, 10)]),
        subdirectory: pick(['', 'sub']),
        keepsGitDirectory: pick([false, true]),
      };
      const { key, used, context } = await keyed(op);
      expect(used).toEqual([{ kind: 'git', remote, ref: op.ref, commit }]);
      using tree = await runGit(deps, op, context);
      const found = filesOf(tree).filter(([name]) => name !== '.git' && !name.startsWith('.git/'));
      expect(found, JSON.stringify({ step, op })).toEqual(filesAt(git, `${commit}:${op.subdirectory}`));
      const facts = JSON.stringify(found);
      expect(known.get(key) ?? facts).toBe(facts);
      known.set(key, facts);
      // By the commit itself nobody is asked, and it is the same unless `.git` tells the name.
      const asked = web.asked.length;
      const byCommit = (await keyed({ ...op, ref: commit })).key;
      expect(byCommit === key).toBe(!op.keepsGitDirectory || op.ref === commit);
      expect(web.asked).toHaveLength(asked);
    }
  });

  test('a key has all that a checkout is made of, and neither passwords nor who opens the repository', async () => {
    const remote = await web.repository('one.git', { a: 'a', 'sub/b': 'b' }, ['tag', 'v1'], ['branch', 'x']);
    const commit = gitIn('one.git')('rev-parse', 'main');
    const key = async (more: Partial<GitSource>): Promise<string> =>
      (await keyed({ ...SOURCE, remote, ...more })).key;
    const plain = await key({});
    const same = [
      { ref: 'v1' },
      { ref: commit },
      { ref: 'refs/heads/x', secrets: { token: 't', header: '' }, knownHosts: 'k' },
      { checksum: commit },
      { checksum: commit.slice(0, 7), remote: remote.replace('//', '//someone:secret@') },
      { subdirectory: '/' },
    ];
    expect(await Promise.all(same.map(key))).toEqual(same.map(() => plain));
    expect(plain).not.toContain('secret');
    const kept = { keepsGitDirectory: true };
    const others = [
      {},
      { subdirectory: 'sub' },
      { ...kept, ref: 'main' },
      { ...kept, ref: 'v1' },
      { ...kept, ref: 'x' },
      { ...kept, ref: commit },
      { ...kept, subdirectory: 'sub' },
      { remote: `${remote}/` },
      { skipsSubmodules: true as const },
      { ...kept, skipsSubmodules: true as const },
    ];
    const keys = await Promise.all(others.map(key));
    expect(new Set(keys).size).toBe(others.length);
    // The default branch by its name, and a branch with the commit that it must be.
    expect(await Promise.all([key(kept), key({ ...kept, ref: 'main', checksum: commit })])).toEqual([
      keys[2],
      keys[2],
    ]);
    await expect(key({ ref: 'nope' })).rejects.toThrow('repository does not contain ref nope');
    await expect(key({ ref: 'main', checksum: '0'.repeat(40), ...kept })).rejects.toThrow(
      `expected checksum to match ${'0'.repeat(40)}, got ${commit} of ${remote}`,
    );
  });

  test('a ref that moves between the two questions: what was keyed is checked out', async () => {
    const remote = await web.repository('racing.git', { a: 'first' });
    const op: GitSource = { ...SOURCE, remote, ref: 'main' };
    const { context } = await keyed(op);
    writeFileSync(path.join(web.repositoryPath('racing.git'), 'a'), 'second');
    gitIn('racing.git')('commit', '--quiet', '--all', '--message=two');
    using tree = await runGit(deps, op, context);
    expect(filesOf(tree)).toEqual([['a', sha256('first')]]);
    using later = await checkedOut({ ...op });
    expect(filesOf(later)).toEqual([['a', sha256('second')]]);
  });

  test('submodules come with a checkout unless they are skipped', async () => {
    const inner = await web.repository('inner.git', { in: 'x' });
    const remote = await web.repository(
      'outer.git',
      { a: 'a' },
      ['submodule', '--quiet', 'add', '--', inner, 'sub'],
      ['commit', '--quiet', '--message=sub'],
    );
    using whole = await checkedOut({ ...SOURCE, remote });
    using without = await checkedOut({ ...SOURCE, remote, skipsSubmodules: true });
    const [all, plain] = [whole, without].map((tree) => filesOf(tree).map(([name]) => name));
    expect(all).toContain('sub/in');
    expect(plain?.filter((name) => name.startsWith('sub/'))).toEqual([]);
  });

  test.each([
    ['the default branch', '', ['refs/heads/main commit'], ''],
    ['a branch', 'x', ['refs/heads/x commit'], ''],
    ['a tag', 'light', ['refs/tags/light commit'], 'light'],
    ['an annotated tag', 'heavy', ['refs/tags/heavy tag'], 'heavy'],
    ['a full name', 'refs/pull/1/head', ['refs/pull/1/head commit'], ''],
    ['a commit', 'COMMIT', [], ''],
  ])('a kept .git of %s: HEAD is detached at its commit, and the ref is there', async (_, ref, refs, tag) => {
    const remote = web.url('/git/kept.git');
    const commit = gitIn('kept.git')('rev-parse', 'main');
    using tree = await checkedOut({
      ...SOURCE,
      remote,
      ref: ref === 'COMMIT' ? commit : ref,
      keepsGitDirectory: true,
    });
    const copy = mkdtempSync(path.join(folder, 'kept-'));
    writeFiles(tree, copy);
    const git = (...args: string[]): string =>
      execFileSync('git', args, { cwd: copy, encoding: 'utf8' }).trim();
    expect(git('rev-parse', '--abbrev-ref', 'HEAD')).toBe('HEAD');
    expect(git('rev-parse', 'HEAD')).toBe(commit);
    expect(git('status', '--porcelain')).toBe('');
    const listed = git('for-each-ref', '--format=%(refname) %(objecttype)').split('\n');
    expect(listed.filter((line) => line !== '' && !line.startsWith('refs/remotes/'))).toEqual(refs);
    expect(tag === '' ? '' : git('describe', '--tags', '--exact-match')).toBe(tag);
    expect(git('remote', 'get-url', 'origin')).toBe(remote);
  });
});

const WHO = {
  GIT_AUTHOR_NAME: 'a',
  GIT_AUTHOR_EMAIL: 'a@b',
  GIT_COMMITTER_NAME: 'a',
  GIT_COMMITTER_EMAIL: 'a@b',
};

type Git = (...args: string[]) => string;

/** What a name means where a branch and a tag have it: the branch. */
function branchFirst(git: Git, name: string): string {
  if (name === '') {
    return 'HEAD';
  }
  const isBranch = git('for-each-ref', `refs/heads/${name}`) !== '';
  return isBranch ? `refs/heads/${name}` : name;
}

function sha256(bytes: Buffer | string): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** Names of files and links, with what they have. */
function filesOf({ content }: BuildTree): [string, string][] {
  if (content.kind === 'layers') {
    throw new Error('a checkout is files');
  }
  const entries = [...content.context.tree.below('')].filter(({ member }) => member.type !== 'directory');
  return entries.map(({ path: name, member, digest }) => [
    name,
    member.type === 'symlink' ? `-> ${member.linkName}` : digest,
  ]);
}

/** The same of a repository, by `git archive`. */
function filesAt(git: Git, tree: string): [string, string][] {
  // All content is ASCII.
  const members = untar(Buffer.from(git('archive', '--format=tar', tree), 'latin1'));
  return members
    .filter(({ type }) => type === 'file' || type === 'symlink')
    .map(({ name, type, linkName, content }) => [
      name,
      type === 'symlink' ? `-> ${linkName}` : sha256(content),
    ]);
}

function writeFiles({ content }: BuildTree, directory: string): void {
  if (content.kind === 'layers') {
    throw new Error('a checkout is files');
  }
  for (const { path: name, member } of content.context.tree.below('')) {
    const place = path.join(directory, name);
    if (member.type === 'directory') {
      mkdirSync(place, { recursive: true });
      continue;
    }
    const bytes = Buffer.alloc(member.size);
    readSync(content.context.fd, bytes, 0, bytes.length, member.offset);
    writeFileSync(place, bytes);
  }
}
