import { expect, test } from 'vitest';
import { GraphClient, type Bridge } from '../../support/buildkit/graph-client.ts';
import { busybox, definitionOf, mkdir, mkfile, scratch, shell } from '../../support/buildkit/graphs.ts';
import { describeEngine } from '../../support/engine/engine.ts';
import { until } from '../../support/engine/http.ts';
import type { ProcessStream } from '../../support/buildkit/process-stream.ts';

const EXIT = 'github.com/moby/buildkit/gatewayapi.ExitMessage+json';

/** A container with two processes that go on. */
async function begun(bridge: Bridge, id: string): Promise<ProcessStream> {
  const { ref } = await bridge.solve(busybox);
  await bridge.container(id, [{ dest: '/', resultId: ref }]);
  const stream = bridge.processes();
  await stream.start('p', id, 'echo up; sleep 1000');
  await stream.start('e', id, 'echo up; sleep 1000');
  await stream.until('p', ({ out }) => out === 'up\n');
  await stream.until('e', ({ out }) => out === 'up\n');
  return stream;
}

describeEngine('containers of clients in their builds', (engine) => {
  /** A build with a container `c` of busybox, and a stream. */
  const inContainer = async (
    work: (stream: ProcessStream, bridge: Bridge) => Promise<void>,
    more: Parameters<Bridge['container']>[2] = {},
  ): Promise<void> => {
    await using client = await new GraphClient(engine.daemon).open();
    await client.build(async (bridge) => {
      const { ref } = await bridge.solve(busybox);
      await bridge.container('c', [{ dest: '/', resultId: ref }], more);
      await work(bridge.processes(), bridge);
    });
  };
  const statuses = async (): Promise<string[]> => {
    const all = await engine.http.ok<{ Status: string }[]>('GET', '/containers/json?all=true');
    return all.map(({ Status }) => Status);
  };
  const running = async (): Promise<number> => {
    return (await statuses()).length;
  };

  test('the first process is the init of its container; output by descriptor, exit codes with details', async () => {
    await inContainer(async (stream) => {
      const said = await stream.run('p', 'c', 'echo out; echo err >&2; echo $$ $PATH; exit 7');
      expect(said).toMatchObject({
        out: 'out\n1 /usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\n',
        err: 'err\n',
        code: 7,
        error: 'exit code: 7',
        details: [{ type: EXIT, value: { Code: 7 } }],
      });
      expect(said.order[0]).toBe('started');
      expect(said.order.slice(-4)).toEqual(['eof 1', 'eof 2', 'exit', 'done']);
    });
    expect(await running()).toBe(0);
  });

  test('further processes run in it, with input, variables, a user and a directory of their own', async () => {
    await inContainer(async (stream, bridge) => {
      await stream.start('init', 'c', 'echo up; exec cat', {
        fds: [0, 1],
        meta: { env: ['FIRST=1', 'BOTH=1'], user: '5:5', cwd: '/tmp/made' },
      });
      await stream.until('init', ({ out }) => out === 'up\n');
      expect(await running()).toBe(1);
      const script = 'id -u; pwd; env | grep -v ^HOME | sort; cat; touch /of-exec';
      await stream.start('e', 'c', script, { fds: [0, 1, 2], meta: { env: ['BOTH=2'] } });
      await stream.input('e', 'given', true);
      expect(await stream.ended('e')).toMatchObject({
        out: '0\n/\nBOTH=2\nPATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\nPWD=/\nSHLVL=1\ngiven',
        code: 0,
        error: undefined,
      });
      const missing = await stream.run('m', 'c', ['/no/such']);
      expect(missing).toMatchObject({ code: 255 });
      expect(missing.error).toContain('no such file or directory');
      await stream.input('init', 'last words', true);
      expect(await stream.ended('init')).toMatchObject({ out: 'up\nlast words', code: 0 });
      expect((await stream.run('late', 'c', 'true')).error).toContain('is not running');
      await bridge.release('c');
      expect(await running()).toBe(0);
      await expect(bridge.release('c')).rejects.toThrow('container details for c not found');
    });
  });

  test('a terminal: its size, signals by name, and the end of its input ends nothing', async () => {
    await inContainer(async (stream) => {
      await stream.start(
        'p',
        'c',
        'trap "exit 3" TERM; tty; while :; do stty size 2>/dev/null; sleep 0.1; done',
        {
          fds: [0, 1],
          tty: true,
        },
      );
      await stream.until('p', ({ out }) => out.includes('/dev/'));
      await stream.send('p', { resize: { rows: 33, cols: 77 } });
      await stream.input('p', '', true);
      await stream.until('p', ({ out }) => out.includes('33 77'));
      await stream.send('p', { signal: { name: 'TERM' } });
      expect((await stream.ended('p')).code).toBe(3);
    });
  });

  test('a program that is not there says so; a process that is killed tells it', async () => {
    await inContainer(async (stream) => {
      const said = await stream.run('p', 'c', ['/no/such']);
      expect(said).toMatchObject({ code: 1, error: 'exit code: 1' });
      expect(said.err).toContain('runc run failed: unable to start container process');
    });
    await inContainer(async (stream) => {
      await stream.start('p', 'c', 'echo up; sleep 1000');
      await stream.until('p', ({ out }) => out === 'up\n');
      await stream.send('p', { signal: { name: 'KILL' } });
      expect(await stream.ended('p')).toMatchObject({
        code: 137,
        details: [{ type: EXIT, value: { Code: 137 } }],
      });
    });
  });

  test("mounts of results, in memory and kept; hosts and the name; what it writes is nobody else's", async () => {
    await using client = await new GraphClient(engine.daemon).open();
    await client.build(async (bridge) => {
      const root = await bridge.solve(shell('echo base >/base', [], busybox));
      const files = await bridge.solve(scratch([mkfile('/f', 'of a result')]));
      const mounts = [
        { dest: '/in', resultId: files.ref, isReadonly: true },
        { dest: '/', resultId: root.ref },
        { dest: '/rw', resultId: files.ref },
        { dest: '/fresh' },
        { dest: '/mem', type: 4 },
        { dest: '/cache', type: 3, cache: { id: 'of-gateway-containers', sharing: 0 } },
        { dest: '/secret', type: 1, secret: { id: 'text', mode: 0o400 } },
      ];
      const more = { hostname: 'named', extraHosts: [{ host: 'other', ip: '10.9.8.7' }] };
      await bridge.container('c', mounts, more);
      const stream = bridge.processes();
      const script = [
        'cat /base /in/f /rw/f /secret; hostname; grep -c 10.9.8.7 /etc/hosts; echo $SECRET',
        'echo new >/rw/f; echo c >/cache/kept; touch /fresh/x /mem/x /made; touch /in/x 2>/dev/null || echo read-only',
        'sleep 1000',
      ].join('\n');
      await stream.start('p', 'c', script, { secrets: [{ id: 'text', name: 'SECRET' }] });
      const { out } = await stream.until('p', (told) => told.out.includes('read-only'));
      expect(out.split('\n').slice(0, -1)).toEqual([
        'base',
        'of a resultof a resulthiddennamed',
        '1',
        'hidden',
        'read-only',
      ]);
      await stream.run('q', 'c', 'ls /made /mem/x; echo "[$SECRET]"');
      const { out: seen } = await stream.ended('q');
      expect(seen).toBe('/made\n/mem/x\n[]\n');
      // A second container of the same results has nothing of it, but for the cache.
      await bridge.container('d', mounts, more);
      const other = await stream.run('r', 'd', 'cat /rw/f /cache/kept; ls /fresh /mem; ls /made');
      expect(other).toMatchObject({ out: 'of a resultc\n/fresh:\n\n/mem:\n', code: 1 });
    });
    expect(await running()).toBe(0);
  });

  test('files of a container, by mount: as they are, before its first process and while it runs', async () => {
    await using client = await new GraphClient(engine.daemon).open();
    await client.build(async (bridge) => {
      const root = await bridge.solve(shell('mkdir /d; echo base >/d/base; ln -s d/base /link', [], busybox));
      const files = await bridge.solve(scratch([mkdir('/part'), mkfile('/part/f', 'of a result')]));
      await bridge.container('c', [
        { dest: '/part', resultId: files.ref, selector: '/part' },
        { dest: '/', resultId: root.ref },
        { dest: '/mem', type: 4 },
        { dest: '/f', resultId: files.ref, selector: '/part/f' },
      ]);
      expect(await bridge.textIn('c', 1, '/link')).toBe('base\n');
      expect(await bridge.textIn('c', 0, '/f')).toBe('of a result');
      const stream = bridge.processes();
      await stream.start('p', 'c', 'echo more >/d/more; echo other >/part/f; echo done; sleep 1000');
      await stream.until('p', ({ out }) => out === 'done\n');
      expect(await bridge.namesIn('c', 1, '/d')).toEqual(['base', 'more']);
      expect(await bridge.textIn('c', 0, '/f')).toBe('other\n');
      expect(await bridge.modeIn('c', 1, '/bin/busybox')).toBe('755');
      await expect(bridge.textIn('c', 1, '/none')).rejects.toThrow('no such file');
      await expect(bridge.textIn('c', 2, '/x')).rejects.toThrow('they are in memory');
      await expect(bridge.textIn('c', 3, '/')).rejects.toThrow(
        'files of mount 3 at /f cannot be read: it is no directory',
      );
      await expect(bridge.textIn('c', 4, '/x')).rejects.toThrow(
        'mount index 4 is out of bounds (4 available)',
      );
    });
  });

  test('what is not allowed or not supported is refused by name', async () => {
    await using client = await new GraphClient(engine.daemon).open();
    await client.build(async (bridge) => {
      const { ref } = await bridge.solve(busybox);
      const root = { dest: '/', resultId: ref };
      const asks: [Parameters<Bridge['container']>[1], Parameters<Bridge['container']>[2], string][] = [
        [[root], { network: 1 }, 'network.host is not allowed'],
        [[root], { constraints: { filter: ['a==b'] } }, 'constraints of a container are not supported: a==b'],
        [[root], { platform: { os: 'plan9', architecture: 'amd64' } }, 'platform plan9/amd64 of a container'],
        [[{ dest: '/' }], {}, 'mount / has no input'],
        [[{ dest: '/x', resultId: ref }], {}, 'mounts: none of a command is at /'],
        [[{ dest: '/', resultId: 'none' }], {}, 'no such reference: none'],
        [[root, { dest: '/x', type: 9 }], {}, 'mount type 9 at /x is not supported'],
        [[root, { dest: '/s', type: 1, secret: { id: 'none' } }], {}, 'secret none: not found'],
      ];
      for (const [mounts, more, text] of asks) {
        await expect(bridge.container('bad', mounts, more)).rejects.toThrow(text);
      }
      await bridge.container('c', [root]);
      await expect(bridge.container('c', [root])).rejects.toThrow('Container c already exists');
      const stream = bridge.processes();
      const refused = async (
        id: string,
        more: Parameters<ProcessStream['start']>[3],
      ): Promise<string | undefined> => (await stream.run(id, 'c', 'true', more)).error;
      expect(await refused('a', { fds: [1, 3] })).toContain(
        'fds: descriptor 3 of a process is not supported',
      );
      expect(await refused('b', { security: 1 })).toBe('security.insecure is not allowed');
      expect(await refused('d', { meta: { hostname: 'h' } })).toContain('meta.hostname of a process');
      expect(await refused('e', { secrets: [{ id: 'none', name: 'N' }] })).toBe('secret none: not found');
      for (const [message, text] of [
        [{ file: { fd: 0 } }, 'IO for process "x" not found'],
        [{ signal: { name: 'NONE' } }, 'IO for process "x" not found'],
      ] as const) {
        const broken = bridge.processes();
        await broken.send('x', message);
        await expect(broken.over).rejects.toThrow(text);
      }
    });
  });

  test('a stream that is left, a container that is released, a build that ends: nothing goes on', async () => {
    await using client = await new GraphClient(engine.daemon).open();
    await client.build(async (bridge) => {
      const left = await begun(bridge, 'left');
      await left.leave();
      // The container stays, with nothing that runs in it.
      await until('processes that end', async () =>
        (await statuses()).every((status) => status.startsWith('Exited')),
      );
      const released = await begun(bridge, 'released');
      await bridge.release('released');
      expect((await released.ended('p')).code).toBe(137);
      expect((await released.ended('e')).code).toBe(137);
      expect(await running()).toBe(1);
      await begun(bridge, 'over');
    });
    expect(await running()).toBe(0);
  });

  test('a client that has gone: its containers go with its build', async () => {
    const client = await new GraphClient(engine.daemon).open();
    const given = client.build(async (bridge) => {
      await begun(bridge, 'gone');
      await client[Symbol.asyncDispose]();
    });
    await expect(given).rejects.toThrow();
    await until('containers that go', async () => (await running()) === 0);
  });

  test('a command that failed can be looked into, as it left its root and as it began', async () => {
    await using client = await new GraphClient(engine.daemon).open();
    await client.build(async (bridge) => {
      const input = scratch([mkfile('/f', 'of an input')]);
      const mounts = [{ input: 1, dest: '/in' }];
      const command = shell('cp /in/f /made; echo told; exit 3', mounts, busybox, input);
      await expect(bridge.solve(command)).rejects.toThrow('did not complete successfully: exit code: 3');
      expect(await statuses()).toEqual([expect.stringContaining('Exited (3)')]);
      // As the error names them: its root as it was left, then its mounts.
      await bridge.container('c', [
        { dest: '/', resultId: 'step:0:root' },
        { dest: '/in', resultId: 'step:0:1' },
      ]);
      await bridge.container('initial', [{ dest: '/', resultId: 'step:0:0' }]);
      const stream = bridge.processes();
      expect(await stream.run('p', 'c', 'cat /made /in/f')).toMatchObject({ out: 'of an inputof an input' });
      expect(await stream.run('i', 'initial', 'ls /made')).toMatchObject({ code: 1 });
      await expect(bridge.container('d', [{ dest: '/', resultId: 'step:1:root' }])).rejects.toThrow(
        'no such reference: step:1:root',
      );
    });
    expect(await running()).toBe(0);
    // Who is no frontend of its build looks into nothing.
    const failing = definitionOf(shell('exit 4', [], busybox));
    await expect(client.control({ definition: failing })).rejects.toThrow('exit code: 4');
    expect(await running()).toBe(0);
  });
});
