import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { describeEngine, onReference } from '../../support/engine/engine.ts';
import { residentBytes } from '../../support/process.ts';

/** Accounts as a hostile image might have them, over those of the busybox image. */
const ACCOUNTS = [
  'root:x:0:0:root:/root:/bin/sh',
  'berth:x:1000:1000::/home:/bin/sh',
  '1000:x:0:0:a number for a name:/root:/bin/sh',
  'huge:x:4294967296:0::/:',
  'minus:x:-1:0::/:',
  'hex:x:0x0:0::/:',
  'twice:x:33:33::/:',
  'twice:x:0:0::/:',
].join('\\n');
const GROUPS = ['root:x:0:', 'berth:x:1000:', 'log:x:50:berth', '1000:x:0:', 'big:x:4294967296:berth'].join(
  '\\n',
);
const SETUP = `printf '${ACCOUNTS}\\n' >/etc/passwd; printf '${GROUPS}\\n' >/etc/group; echo ready; exec sleep 600`;
const WHO = ['sh', '-c', 'grep -E "^(Uid|Gid|Groups):" /proc/self/status | tr -s "\\t\\n " " "'];

/** What a process of uid and gid with these groups says of itself. */
function status(uid: number, gid: number, groups: readonly number[]): string {
  const [uids, gids] = [uid, gid].map((id) => Array.from({ length: 4 }, () => id).join(' '));
  return `Uid: ${uids} Gid: ${gids} Groups: ${groups.join(' ')} `;
}

describeEngine('users', (engine) => {
  test.each([
    ['', {}, status(0, 0, [0])],
    ['0', {}, status(0, 0, [0])],
    ['1000', {}, status(1000, 1000, [50, 1000])],
    ['1000:', {}, status(1000, 1000, [50, 1000])],
    ['berth', {}, status(1000, 1000, [50, 1000])],
    ['berth:log', {}, status(1000, 50, [50])],
    ['berth:0', {}, status(1000, 0, [0])],
    ['1000:1000', {}, status(1000, 1000, [1000])],
    ['4711', {}, status(4711, 0, [0])],
    ['4711:4712', {}, status(4711, 4712, [4712])],
    ['2147483647:2147483647', {}, status(2147483647, 2147483647, [2147483647])],
    ['twice', {}, status(33, 33, [33])],
    ['berth', { GroupAdd: ['7', '1000'] }, status(1000, 1000, [7, 50, 1000])],
  ])('class 7: user %j with %o is who it should be, at start and in an exec', async (User, host, who) => {
    const setup = await engine.start(['sh', '-c', SETUP], host);
    await expect.poll(async () => (await engine.logs(setup)).stdout).toBe('ready\n');
    expect((await engine.exec(setup, WHO, { User })).stdout).toBe(who);
    if (User === '' || /^\d/.test(User)) {
      return;
    }
    // The image has these two as well.
    const own = await engine.run(WHO, {}, { User: 'berth' });
    expect(own.stdout).toBe(status(1000, 1000, [100, 1000]));
  });

  test.each([
    '4294967296',
    '4294967295',
    '2147483648',
    '-1',
    '0x0',
    '1e3',
    '0:4294967296',
    '0:-1',
    '0:0:0',
    'huge',
    'minus',
    'hex',
    'berth:big',
    'nobody-knows',
    '../root',
    'root\n',
    ' root',
    '__proto__',
    'constructor',
    '9'.repeat(5000),
  ])('class 7: user %j is refused, at start and in an exec, and nobody becomes root by it', async (User) => {
    const id = await engine.start(['sh', '-c', SETUP]);
    await expect.poll(async () => (await engine.logs(id)).stdout).toBe('ready\n');
    const exec = await engine.http.request('POST', `/containers/${id}/exec`, { body: { Cmd: WHO, User } });
    const refused = exec.status === 201 ? await startExec(JSON.parse(exec.text).Id) : exec.status;
    expect(refused).toBeGreaterThanOrEqual(400);
    expect(refused).toBeLessThan(onReference ? 600 : 500);
    const created = await engine.http.request('POST', '/containers/create', {
      body: { Image: 'busybox', Cmd: WHO, User, HostConfig: { NetworkMode: 'none' } },
    });
    if (created.status === 201) {
      const started = await engine.http.request('POST', `/containers/${JSON.parse(created.text).Id}/start`);
      expect([started.status, started.text]).toEqual([
        expect.toSatisfy((code: number) => code >= 400 && (onReference || code < 500)),
        expect.stringMatching(/user|range|group/),
      ]);
    } else {
      expect(created.status).toBe(400);
    }
  });

  async function startExec(id: string): Promise<number> {
    return (await engine.http.request('POST', `/exec/${id}/start`, { body: {} })).status;
  }

  test.each([
    ['a FIFO', 'rm /etc/passwd; mkfifo /etc/passwd'],
    ['a FIFO for groups', 'rm /etc/group; mkfifo /etc/group'],
    ['a link to a device', 'ln -sf /dev/zero /etc/passwd'],
    ['a link to the memory of the kernel', 'ln -sf /proc/kcore /etc/passwd'],
    ['a link to a descriptor', 'ln -sf /proc/self/fd/0 /etc/passwd'],
    ['a folder', 'rm /etc/passwd; mkdir /etc/passwd'],
    ['a link to itself', 'ln -sf /etc/passwd /etc/passwd'],
    ['1 GB', 'truncate -s 1G /etc/passwd'],
    ['1 GB of groups', 'truncate -s 1G /etc/group'],
    ['a device of its own', 'rm /etc/passwd; mknod /etc/passwd c 1 5'],
    ['a socket', 'rm /etc/passwd; nc -lU /etc/passwd & sleep 0.1'],
  ])('class 7: an account file that is %s stops nobody but its container', async (_what, spoil) => {
    const id = await engine.start(['sh', '-c', `${spoil}; echo ready; exec sleep 600`]);
    await expect.poll(async () => (await engine.logs(id)).stdout).toBe('ready\n');
    const before = residentBytes(engine.daemon.pid);
    const startedAt = performance.now();
    const body = { Cmd: WHO, User: 'berth', AttachStdout: true };
    const created = await engine.http.request('POST', `/containers/${id}/exec`, { body });
    expect([created.status, created.text]).toEqual([
      expect.toBeOneOf([201, 400]),
      expect.not.stringContaining('"Id":""'),
    ]);
    if (created.status === 201) {
      const started = await engine.http.request('POST', `/exec/${JSON.parse(created.text).Id}/start`, {
        body: {},
      });
      expect(started.text).not.toContain('Uid: 0');
    }
    expect(performance.now() - startedAt).toBeLessThan(20_000);
    expect((await engine.http.request('GET', '/_ping')).status).toBe(200);
    expect(residentBytes(engine.daemon.pid) - before).toBeLessThan(200e6);
    // The same at the next start, which reads it before there is a process.
    await engine.http.ok('POST', `/containers/${id}/stop?t=0`);
    await engine.http.request('POST', `/containers/${id}/start`);
  });

  test.runIf(!onReference)(
    'class 7: an account file that leads to the host is the image’s own or none',
    async () => {
      const file = path.join(engine.daemon.paths.root, 'accounts');
      writeFileSync(file, 'berth:x:0:0::/:\nhostonly:x:0:0::/:\n');
      const targets = [
        file,
        `../../../../../../../..${file}`,
        `/proc/1/root${file}`,
        `/proc/self/root${file}`,
      ];
      for (const target of targets) {
        const id = await engine.start([
          'sh',
          '-c',
          `ln -sf ${target} /etc/passwd; echo ready; exec sleep 600`,
        ]);
        await expect.poll(async () => (await engine.logs(id)).stdout).toBe('ready\n');
        for (const User of ['hostonly', 'berth']) {
          const body = { Cmd: WHO, User };
          const { status: code } = await engine.http.request('POST', `/containers/${id}/exec`, { body });
          expect([target, User, code]).toEqual([target, User, 400]);
        }
        await engine.remove(id);
      }
    },
  );

  test.runIf(!onReference)(
    'class 7: a hundred thousand groups are too many, and are told so at once',
    async () => {
      const lines = 'i=0; while [ $i -lt 40000 ]; do echo "g$i:x:$i:berth"; i=$((i+1)); done >/etc/group';
      const id = await engine.start(['sh', '-c', `${lines}; echo ready; exec sleep 600`]);
      await expect.poll(async () => (await engine.logs(id)).stdout).toBe('ready\n');
      const slowest = await slowestPing(async () => {
        const body = { Cmd: WHO, User: 'berth' };
        const exec = await engine.http.request('POST', `/containers/${id}/exec`, { body });
        expect([exec.status, exec.text]).toEqual([400, expect.stringContaining('at most 1024 are possible')]);
        await engine.http.ok('POST', `/containers/${id}/stop?t=0`);
      });
      expect(slowest).toBeLessThan(20_000);
      const GroupAdd = Array.from({ length: 500_000 }, () => 'g1');
      const answer = await engine.http.request('POST', '/containers/create', {
        body: { Image: 'busybox', HostConfig: { GroupAdd, NetworkMode: 'none' } },
      });
      if (answer.status === 201) {
        const started = await engine.http.request('POST', `/containers/${JSON.parse(answer.text).Id}/start`);
        expect([started.status, started.text]).toEqual([400, expect.stringContaining('at most 1024')]);
      }
      expect((await engine.http.request('GET', '/_ping')).status).toBe(200);
    },
  );

  /** How long the slowest of the pings took that were sent while `action` went on. */
  async function slowestPing(action: () => Promise<void>): Promise<number> {
    const pinging = new AbortController();
    const pings = (async () => {
      let slowest = 0;
      while (!pinging.signal.aborted) {
        const at = performance.now();
        await engine.http.request('GET', '/_ping');
        slowest = Math.max(slowest, performance.now() - at);
      }
      return slowest;
    })();
    try {
      await action();
    } finally {
      pinging.abort();
    }
    return pings;
  }
});
