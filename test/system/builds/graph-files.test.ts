import { expect, test } from 'vitest';
import { GraphClient } from '../../support/buildkit/graph-client.ts';
import {
  copy,
  files,
  mkdir,
  mkfile,
  node,
  result,
  rm,
  scratch,
  symlink,
  busybox,
} from '../../support/buildkit/graphs.ts';
import { describeEngine } from '../../support/engine/engine.ts';

const EPOCH = '1970-01-01T00:00:01.000Z';

/** A tree with what copies differ by. */
const tree = scratch([
  mkdir('/d/inner', { mode: 0o750 }),
  mkfile('/d/a.txt', 'a'),
  mkfile('/d/b.log', 'b'),
  mkfile('/d/inner/c.txt', 'c'),
  mkfile('/d/inner/d.log', 'd'),
  symlink('d', '/link'),
  symlink('d/a.txt', '/file-link'),
  mkfile('/single', 'one'),
]);

describeEngine('graphs of clients: file operations', (engine) => {
  const solved = async <T>(
    target: Parameters<GraphClient['solved']>[0],
    read: (found: Parameters<Parameters<GraphClient['solved']>[1]>[0]) => Promise<T>,
  ): Promise<T> => {
    await using client = await new GraphClient(engine.daemon).open();
    return await client.solved(target, read);
  };
  const failing = (target: Parameters<GraphClient['solved']>[0]): Promise<unknown> =>
    solved(target, () => Promise.resolve('it was solved'));

  test('a directory becomes one in a target that is there, else the target, or only its contents', async () => {
    const made = scratch(
      [
        mkdir('/there'),
        copy('/d', '/there', {}, 0),
        copy('/d', '/new/', { makesParents: true }, 0),
        copy('/d', '/whole', {}, 0),
        copy('/d', '/contents', { copiesContents: true }, 0),
      ],
      tree,
    );
    await solved(made, async (found) => {
      expect(await found.names('/there')).toEqual(['d']);
      expect(await found.names('/new')).toEqual(['d']);
      expect(await found.names('/whole')).toEqual(['a.txt', 'b.log', 'inner']);
      expect(await found.names('/contents')).toEqual(['a.txt', 'b.log', 'inner']);
      // Itself with its mode, or one that was made for it.
      expect((await found.stat('/whole')).split(' ')[0]).toBe('750');
      expect((await found.stat('/contents')).split(' ')[0]).toBe('755');
      expect((await found.stat('/contents/inner')).split(' ')[0]).toBe('750');
    });
  });

  test('links are copied themselves, or what they lead to', async () => {
    const made = scratch(
      [
        copy('/link', '/as-link', {}, 0),
        copy('/link', '/followed', { followsSymlink: true }, 0),
        copy('/file-link', '/file', { followsSymlink: true }, 0),
      ],
      tree,
    );
    await solved(made, async (found) => {
      expect(await found.names('/')).toEqual(['as-link', 'file', 'followed']);
      expect(await found.names('/followed')).toEqual(['a.txt', 'b.log', 'inner']);
      expect(await found.text('/file')).toBe('a');
      await expect(found.text('/as-link/a.txt')).rejects.toThrow('no such file or directory');
    });
  });

  test('patterns: what is included with the directories above it, what is excluded, wildcards', async () => {
    const made = scratch(
      [
        copy('/', '/in', { include: ['d/inner/*.txt'], makesParents: true, copiesContents: true }, 0),
        copy('/d', '/out', { exclude: ['**/*.log'] }, 0),
        copy('/d', '/again', { exclude: ['inner', '!inner/c.txt'] }, 0),
        mkdir('/wild'),
        copy('/d/*.txt', '/wild', { allowsWildcard: true }, 0),
        copy('/none*', '/wild', { allowsWildcard: true, allowsEmptyWildcard: true }, 0),
      ],
      tree,
    );
    await solved(made, async (found) => {
      expect(await found.names('/in')).toEqual(['d']);
      expect(await found.names('/in/d')).toEqual(['inner']);
      expect(await found.names('/in/d/inner')).toEqual(['c.txt']);
      expect((await found.stat('/in/d/inner')).split(' ')[0]).toBe('750');
      expect(await found.names('/out/inner')).toEqual(['c.txt']);
      expect(await found.names('/again')).toEqual(['a.txt', 'b.log', 'inner']);
      expect(await found.names('/again/inner')).toEqual(['c.txt']);
      expect(await found.names('/wild')).toEqual(['a.txt']);
    });
  });

  test('a time, a mode and an owner are those of all that is made', async () => {
    const owner = { user: { byId: 7 }, group: { byId: 8 } };
    const timestamp = 1_000_000_000n;
    const made = scratch(
      [
        copy('/d', '/x/y', { makesParents: true, timestamp, owner, mode: 0o711 }, 0),
        mkdir('/m/n', { timestamp, owner, mode: 0o701 }),
        mkfile('/m/f', 'text', { timestamp, owner, mode: 0o4640 }),
        copy('/single', '/symbolic', { modeText: 'u=rw,go=' }, 0),
      ],
      tree,
    );
    await solved(made, async (found) => {
      expect(await found.stat('/x')).toBe(`755 7:8 ${EPOCH}`);
      expect(await found.stat('/x/y')).toBe(`711 7:8 ${EPOCH}`);
      expect(await found.stat('/x/y/inner/c.txt')).toBe(`711 7:8 ${EPOCH}`);
      expect(await found.stat('/m/n')).toBe(`701 7:8 ${EPOCH}`);
      expect(await found.stat('/m/f')).toBe(`640 7:8 ${EPOCH}`);
      expect((await found.stat('/symbolic')).split(' ')[0]).toBe('600');
    });
  });

  test('owners by name are those of the tree that is named', async () => {
    const accounts = scratch([
      mkdir('/etc'),
      mkfile('/etc/passwd', 'app:x:123:456::/:/bin/sh\n'),
      mkfile('/etc/group', 'app:x:456:\nstaff:x:50:\n'),
    ]);
    const owner = {
      user: { byName: { name: 'app', input: 0 } },
      group: { byName: { name: 'staff', input: 0 } },
    };
    await solved(scratch([mkfile('/f', 'x', { owner })], accounts), async (found) => {
      expect((await found.stat('/f')).split(' ')[1]).toBe('123:50');
    });
  });

  test('what is there and of another kind is replaced only where that is asked for', async () => {
    const target = scratch([mkdir('/t/a.txt/x'), mkfile('/t/inner', 'file')]);
    const replacing = files([copy('/d', '/t', { copiesContents: true, replaces: true })], target, tree);
    await solved(replacing, async (found) => {
      expect(await found.text('/t/a.txt')).toBe('a');
      expect(await found.names('/t/inner')).toEqual(['c.txt', 'd.log']);
    });
    await expect(failing(files([copy('/d', '/t', { copiesContents: true })], target, tree))).rejects.toThrow(
      'cannot replace to directory',
    );
    await expect(failing(files([copy('/d', '/t/inner', {})], target, tree))).rejects.toThrow(
      'cannot copy to non-directory: /t/inner',
    );
  });

  test('rm: files, trees, patterns; what is not there is an error unless it may miss', async () => {
    const made = files(
      [rm('/d/*.log', { allowsWildcard: true }), rm('/d/inner'), rm('/none', { mayMiss: true }), rm('/link')],
      tree,
    );
    await solved(made, async (found) => {
      expect(await found.names('/')).toEqual(['d', 'file-link', 'single']);
      expect(await found.names('/d')).toEqual(['a.txt']);
    });
    await expect(failing(files([rm('/none')], tree))).rejects.toThrow(
      'stat /none: no such file or directory',
    );
    await expect(failing(files([rm('/')], tree))).rejects.toThrow('the root cannot be removed');
    // Nothing outside of the tree: `..` ends at its root, and so do links.
    await expect(failing(files([rm('/../../etc/passwd')], tree))).rejects.toThrow(
      'no such file or directory',
    );
  });

  test('what lies in no directory is an error where none is to be made', async () => {
    for (const [action, text] of [
      [copy('/single', '/no/where', {}, 0), 'failed to stat /no/where: lstat /no: no such file or directory'],
      [mkfile('/no/where', 'x'), 'open /no/where: no such file or directory'],
      [mkdir('/no/where', { makesParents: false }), 'mkdir /no/where: no such file or directory'],
      [symlink('x', '/no/where'), 'symlink /no/where: no such file or directory'],
      [copy('/none', '/x', {}, 0), '"/none": not found'],
      [copy('/none*', '/x', { allowsWildcard: true }, 0), '/none* not found'],
      [symlink('x', '/d'), 'symlink x /d: file exists'],
    ] as const) {
      await expect(failing(files([action], tree))).rejects.toThrow(text);
    }
  });

  test('links that lead out of a tree end at its root, for all that reads, writes and removes', async () => {
    const hostile = scratch([
      mkdir('/sub'),
      mkfile('/sub/f', 'own'),
      symlink('/../../../sub', '/out'),
      symlink('../../../etc', '/etc'),
    ]);
    const made = files(
      [mkfile('/out/g', 'inside'), copy('/out/f', '/copied', { followsSymlink: true }, 0), rm('/out/f')],
      hostile,
    );
    await solved(made, async (found) => {
      expect(await found.names('/sub')).toEqual(['g']);
      expect(await found.text('/copied')).toBe('own');
    });
    await expect(failing(files([mkfile('/etc/owned', 'x')], hostile))).rejects.toThrow(
      'open /etc/owned: too many levels of symbolic links',
    );
  });

  test('actions that branch: each result is a tree of its own, and one is made of another', async () => {
    const base = { input: 0, secondaryInput: -1, output: -1 };
    const branching = node(
      {
        file: {
          actions: [
            { ...base, ...mkfile('/base', '0') },
            { ...base, input: 1, output: 0, ...mkfile('/left', '1') },
            { ...base, input: 1, output: 1, ...mkfile('/right', '2') },
            { ...copy('/right', '/copied'), input: 1, output: 2, secondaryInput: 3 },
          ],
        },
      },
      scratch([mkfile('/first', '')]),
    );
    const names: string[][] = [];
    for (const index of [0, 1, 2]) {
      names.push(await solved(result(branching, index), (found) => found.names('/')));
    }
    expect(names).toEqual([
      ['base', 'first', 'left'],
      ['base', 'first', 'right'],
      ['base', 'copied', 'first'],
    ]);
  });

  test('what a file holds is kept byte by byte, and one that is there keeps its mode', async () => {
    const data = Buffer.from([0xff, 0xfe, 0, 0x41]);
    const made = scratch([
      { makeFile: { path: '/f', mode: 0o600, data, timestamp: -1n } },
      mkfile('/f', 'longer than before', { mode: 0o777 }),
      { makeFile: { path: '/g', mode: 0o600, data, timestamp: -1n } },
    ]);
    await solved(made, async (found) => {
      expect(await found.text('/f')).toBe('longer than before');
      expect((await found.stat('/f')).split(' ')[0]).toBe('600');
      expect(await found.text('/g')).toBe(String(data));
    });
  });

  test('an image: empty directories of names that containers have are kept', async () => {
    await solved(
      scratch([mkdir('/etc'), mkdir('/dev'), copy('/bin', '/bin', { copiesContents: true }, 0)], busybox),
      async (found) => {
        expect(await found.names('/')).toEqual(['bin', 'dev', 'etc']);
      },
    );
  });
});
