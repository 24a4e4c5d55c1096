import { execFileSync } from 'node:child_process';
import { closeSync } from 'node:fs';
import { Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { reap } from '../../../../daemon/base/kernel/processes/children.ts';
import { makePipe, spawnSession } from '../../../../daemon/base/kernel/processes/spawn.ts';

async function run(script: string): Promise<string> {
  const output = makePipe();
  const pid = await spawnSession({
    path: '/bin/sh',
    argv: ['sh', '-c', script],
    env: { ONLY: 'this', PATH: '/usr/bin:/bin' },
    cwd: '/usr',
    stdio: [null, null, output.write, output.write],
  });
  closeSync(output.write);
  const said = await text(new Socket({ fd: output.read, readable: true, writable: false }));
  await expect.poll(() => reap(pid)).toBe(0);
  return said;
}

test('spawn: the child has the given folder, variables and descriptors, and nothing else', async () => {
  // 4 is the listing itself.
  expect(await run('pwd >&2; env | grep -v ^_= | sort >&3; cd /proc/$$/fd; echo * >&2')).toBe(
    '/usr\nONLY=this\nPATH=/usr/bin:/bin\nPWD=/usr\n0 1 2 3 4\n',
  );
});

test('spawn: the child leads a session of its own and ignores no signal', async () => {
  const said = await run(
    'set -- $(cat /proc/$$/stat); test "$6" = "$$" && echo leads >&2; grep SigIgn /proc/$$/status >&2',
  );
  expect(said).toBe('leads\nSigIgn:\t0000000000000000\n');
});

test('spawn: a program that is not there is an error with its name', async () => {
  const request = { path: '/no/such', argv: ['such'], env: {}, cwd: '/', stdio: [null, null, null] };
  await expect(spawnSession(request)).rejects.toThrow('posix_spawn /no/such: ENOENT');
});

test('spawn: pipes are made all or none when descriptors run out', () => {
  const root = new URL('../../../../', import.meta.url);
  const script = `
    import { readdirSync, readlinkSync } from 'node:fs';
    import { makePipes } from '${new URL('daemon/base/kernel/processes/spawn.ts', root).pathname}';
    // By name: what loads this closes files of its own meanwhile.
    const pipes = () => readdirSync('/proc/self/fd').map(nameOf).filter((name) => name.startsWith('pipe:'));
    const nameOf = (fd) => { try { return readlinkSync('/proc/self/fd/' + fd); } catch { return ''; } };
    const before = new Set(pipes());
    let code = 'none';
    try { makePipes(100); } catch (error) { code = error.code; }
    console.log(code, pipes().filter((name) => !before.has(name)).length);`;
  const said = execFileSync(
    'sh',
    ['-c', 'ulimit -n 128; exec "$0" --import tsx --input-type=module --eval "$1"', process.execPath, script],
    { cwd: root, encoding: 'utf8' },
  );
  expect(said).toBe('EMFILE 0\n');
});
