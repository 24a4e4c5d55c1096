import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { GraphClient, type SolvedTree } from '../../support/buildkit/graph-client.ts';
import {
  busybox,
  files,
  mkdir,
  mkfile,
  node,
  result,
  rm,
  scratch,
  shell,
  symlink,
  type Node,
} from '../../support/buildkit/graphs.ts';
import { describeEngine } from '../../support/engine/engine.ts';

const ending = (code: number, validExitCodes: number[]): Node =>
  node(
    {
      exec: {
        meta: { args: ['/bin/sh', '-c', `exit ${code}`], cwd: '/', validExitCodes },
        network: 2,
        mounts: [{ input: 0, dest: '/', output: 0 }],
      },
    },
    busybox,
  );
const mountedBelow = (removesStubParents: boolean): Node =>
  node(
    {
      exec: {
        meta: { args: ['/bin/true'], cwd: '/', removesStubParents },
        network: 2,
        mounts: [
          { input: 0, dest: '/', output: 0 },
          { input: -1, dest: '/a/b', output: -1 },
        ],
      },
    },
    busybox,
  );
const on = (difference: Node, base: Node): Node =>
  node({ merge: { inputs: [{ input: 0 }, { input: 1 }] } }, base, difference);

describeEngine('graphs of clients: commands, merges and differences', (engine) => {
  const solved = async <T>(target: Node, read: (found: SolvedTree) => Promise<T>): Promise<T> => {
    await using client = await new GraphClient(engine.daemon).open();
    return await client.solved(target, read);
  };

  test('what a command makes of a mounted tree is a result of its own, and the command runs once for all', async () => {
    const input = scratch([mkfile('/seed', 's'), mkdir('/part'), mkfile('/part/p', 'p')]);
    const command = shell(
      [
        'head -c 8 /dev/urandom | od -An -tx1 > /root-result; cp /root-result /out/a',
        'echo x > /part/q; rm /in/seed; mkdir /out/etc',
      ].join('; '),
      [
        { input: -1, dest: '/out', output: 1 },
        { input: 1, dest: '/in', output: 2 },
        { input: 1, selector: '/part', dest: '/part', output: 3 },
      ],
      busybox,
      input,
    );
    const both = node(
      { merge: { inputs: [{ input: 0 }, { input: 1 }] } },
      result(command, 1),
      scratch(
        [{ secondaryInput: 0, copy: { src: '/root-result', dest: '/b', mode: -1, timestamp: -1n } }],
        command,
      ),
    );
    await solved(both, async (found) => {
      expect(await found.names('/')).toEqual(['a', 'b', 'etc']);
      expect(await found.text('/a')).toBe(await found.text('/b'));
    });
    await solved(result(command, 2), async (found) => {
      expect(await found.names('/')).toEqual(['part']);
    });
    await solved(result(command, 3), async (found) => {
      expect(await found.names('/')).toEqual(['part', 'seed']);
      expect(await found.names('/part')).toEqual(['p', 'q']);
    });
    // The root has nothing of the places that were mounted.
    await solved(command, async (found) => {
      expect((await found.names('/')).filter((name) => ['in', 'out', 'part'].includes(name))).toEqual([]);
    });
  });

  test('results of mounts stay with their command: from the cache, and made anew together', async () => {
    const command = shell(
      'head -c 8 /dev/urandom | od -An -tx1 | tee /out/a > /a',
      [{ input: -1, dest: '/out', output: 1 }],
      busybox,
    );
    const first = await solved(result(command, 1), (found) => found.text('/a'));
    expect(await solved(result(command, 1), (found) => found.text('/a'))).toBe(first);
    expect(await solved(command, (found) => found.text('/a'))).toBe(first);
    await engine.http.ok('POST', '/build/prune?all=true');
    const again = await solved(command, (found) => found.text('/a'));
    expect(again).not.toBe(first);
    expect(await solved(result(command, 1), (found) => found.text('/a'))).toBe(again);
  });

  test('a root that is read only, a mount that is: nothing of them changes', async () => {
    const exec = {
      meta: { args: ['/bin/sh', '-c', '! touch /f; ! touch /in/f; touch /out/f'], cwd: '/' },
      network: 2,
      mounts: [
        { input: 0, dest: '/', output: -1, isReadonly: true },
        { input: 1, dest: '/in', output: 0, isReadonly: true },
        { input: -1, dest: '/out', output: 1 },
      ],
    };
    const command = node({ exec }, busybox, scratch([mkfile('/x', '')]));
    expect(await solved(result(command, 1), (found) => found.names('/'))).toEqual(['f']);
    expect(await solved(result(command, 0), (found) => found.names('/'))).toEqual(['x']);
  });

  test('exit codes that are well: those that are named, and no others', async () => {
    await solved(ending(3, [5, 3]), () => Promise.resolve());
    await expect(solved(ending(4, [5, 3]), () => Promise.resolve())).rejects.toThrow('exit code: 4');
    await expect(solved(ending(0, [3]), () => Promise.resolve())).rejects.toThrow('exit code: 0');
  });

  test('directories above a mount go with it only where the client says so', async () => {
    expect(await solved(mountedBelow(true), (found) => found.names('/'))).not.toContain('a');
    expect(await solved(mountedBelow(false), (found) => found.names('/a'))).toEqual([]);
  });

  test('user, directory, variables, hosts, limits and name of a command', async () => {
    const meta = {
      args: [
        '/bin/sh',
        '-c',
        'id -u; pwd; echo $A $HTTP_PROXY; hostname; grep -c 10.9.8.7 /etc/hosts; ulimit -n',
      ],
      env: ['A=b', 'PATH=/bin'],
      cwd: '/tmp/dir',
      user: '7:8',
      proxyEnv: { httpProxy: 'http://p' },
      extraHosts: [{ host: 'h', ip: '10.9.8.7' }],
      hostname: 'here',
      ulimit: [{ name: 'nofile', soft: 100, hard: 200 }],
    };
    const script = { ...meta, args: ['/bin/sh', '-c', `(${meta.args[2]}) > /out/said`] };
    const open = scratch([mkdir('/', {}), mkfile('/said', '', { mode: 0o666 })]);
    const command = node(
      {
        exec: {
          meta: script,
          network: 2,
          mounts: [
            { input: 0, dest: '/', output: -1 },
            { input: 1, dest: '/out', output: 0 },
          ],
        },
      },
      busybox,
      open,
    );
    expect((await solved(command, (found) => found.text('/said'))).split('\n')).toEqual([
      '7',
      '/tmp/dir',
      'b http://p',
      'here',
      '1',
      '100',
      '',
    ]);
  });

  test('commands one on the other make no init layers: they do not see any', async () => {
    const layers = path.join(engine.daemon.paths.dataRoot, 'layers');
    const made = (): string[] =>
      readdirSync(layers).filter((id) => existsSync(path.join(layers, id, 'init')));
    const before = made();
    const once = shell('date +%N >/once', [], busybox);
    const twice = shell('date +%N >/twice', [], once);
    expect(await solved(twice, (found) => found.names('/'))).toContain('twice');
    expect(made()).toEqual(before);
  });

  test('differences: layers above, deletions, and what stands on something else', async () => {
    const lower = scratch([mkfile('/same', 's'), mkfile('/gone', 'g'), mkdir('/d'), mkfile('/d/old', 'o')]);
    const upper = files([mkfile('/new', 'n'), rm('/gone'), rm('/d/old')], lower);
    const sides = { diff: { lower: { input: 0 }, upper: { input: 1 } } };
    const above = node(sides, lower, upper);
    expect(await solved(above, (found) => found.names('/'))).toEqual(['d', 'new']);
    const other = scratch([mkfile('/gone', 'other'), mkfile('/kept', 'k')]);
    expect(await solved(on(above, other), (found) => found.names('/'))).toEqual(['d', 'kept', 'new']);
    // Of the same times and sizes: only the bytes tell.
    const time = { timestamp: 5_000_000_000n };
    const one = scratch([
      mkfile('/f', 'one', time),
      mkfile('/g', 'same', time),
      mkfile('/away', ''),
      symlink('a', '/l'),
    ]);
    const two = scratch([mkfile('/f', 'two', time), mkfile('/g', 'same', time), symlink('b', '/l')]);
    const apart = node(sides, one, two);
    expect(await solved(apart, (found) => found.names('/'))).toEqual(['f', 'l']);
    const base = scratch([mkfile('/away', 'x'), mkfile('/g', 'y')]);
    expect(await solved(on(apart, base), (found) => found.names('/'))).toEqual(['f', 'g', 'l']);
    expect(await solved(node(sides, one, one), (found) => found.names('/'))).toEqual([]);
    const nothing = node({ diff: { lower: { input: 0 }, upper: { input: -1 } } }, one);
    expect(await solved(on(nothing, one), (found) => found.names('/'))).toEqual([]);
  });
});
