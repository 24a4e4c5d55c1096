import { expect, test } from 'vitest';
import { describeEngine } from '../support/engine.ts';

const capabilities = ['sh', '-c', 'grep CapEff /proc/self/status | cut -f2'];
/** Bits of capabilities(7). */
const BIT = { CHOWN: 0, NET_ADMIN: 12, NET_RAW: 13, SYS_ADMIN: 21, SYS_TIME: 25 } as const;

function has(mask: bigint, bit: number): boolean {
  return ((mask >> BigInt(bit)) & 1n) === 1n;
}

describeEngine('security', (engine) => {
  const effective = async (host: object, more?: object): Promise<bigint> =>
    BigInt(`0x${(await engine.run(capabilities, host, more)).stdout.trim()}`);

  const seccompMode = async (host: object): Promise<string> =>
    (await engine.run(['sh', '-c', 'grep Seccomp: /proc/self/status | cut -f2'], host)).stdout.trim();

  test('capabilities: the default set is that of dockerd', async () => {
    expect((await effective({})).toString(16)).toBe('a80425fb');
  });

  test('capabilities: added and dropped by name, with and without CAP_', async () => {
    const mask = await effective({ CapAdd: ['NET_ADMIN'], CapDrop: ['CAP_CHOWN', 'net_raw'] });
    expect([has(mask, BIT.NET_ADMIN), has(mask, BIT.CHOWN), has(mask, BIT.NET_RAW)]).toEqual([
      true,
      false,
      false,
    ]);
  });

  test('capabilities: drop ALL leaves those added', async () => {
    expect(await effective({ CapAdd: ['CHOWN'], CapDrop: ['ALL'] })).toBe(1n);
  });

  test('capabilities: an unknown name is refused', async () => {
    const answer = await engine.http.request('POST', '/containers/create', {
      body: { Image: 'busybox', HostConfig: { CapAdd: ['FLY'] } },
    });
    expect([answer.status, answer.text]).toEqual([400, expect.stringContaining('FLY')]);
  });

  test('capabilities: a user that is not root has none in effect', async () => {
    expect(await effective({}, { User: '1000' })).toBe(0n);
  });

  test('seccomp: the default profile filters, unconfined does not', async () => {
    expect(await seccompMode({})).toBe('2');
    expect(await seccompMode({ SecurityOpt: ['seccomp=unconfined'] })).toBe('0');
  });

  test('masked: what leaks the host is hidden or cannot be written', async () => {
    const { stdout, stderr } = await engine.run([
      'sh',
      '-c',
      'ls -A /sys/firmware | wc -l; echo 1 >/proc/sys/kernel/panic',
    ]);
    expect(stdout).toBe('0\n');
    expect(stderr).toContain('/proc/sys/kernel/panic: Read-only file system');
  });

  test('no-new-privileges: is set where asked for', async () => {
    const { stdout } = await engine.run(['sh', '-c', 'grep NoNewPrivs /proc/self/status | cut -f2'], {
      SecurityOpt: ['no-new-privileges'],
    });
    expect(stdout).toBe('1\n');
  });

  test('namespaces: no process of the host is seen, and the cgroup is not told', async () => {
    const { stdout } = await engine.run(['sh', '-c', 'ls -d /proc/[0-9]* | wc -l; echo $$']);
    const [count, pid] = stdout.trim().split('\n').map(Number);
    expect(pid).toBe(1);
    expect(count).toBeLessThan(6);
  });

  test('descriptors: none of the daemon or the monitor leaks in', async () => {
    const { stdout } = await engine.run(['sh', '-c', 'ls /proc/self/fd']);
    // 3 is ls reading the folder.
    expect(stdout.trim().split('\n')).toEqual(['0', '1', '2', '3']);
  });

  test('environment: nothing of the daemon leaks in', async () => {
    const { stdout } = await engine.run(['env']);
    const names = stdout
      .trim()
      .split('\n')
      .map((line) => line.split('=')[0] ?? '');
    // The shell applet of busybox may add its own two.
    expect(new Set([...names, 'PWD', 'SHLVL'])).toEqual(
      new Set(['HOME', 'HOSTNAME', 'PATH', 'PWD', 'SHLVL']),
    );
  });

  test('init: reaps orphans and passes signals on', async () => {
    const id = await engine.start(['sh', '-c', 'trap "exit 9" TERM; while :; do sleep 0.05; done'], {
      Init: true,
    });
    const { stdout } = await engine.exec(id, ['cat', '/proc/1/comm']);
    expect(stdout).toMatch(/^(docker-init|tini)/);
    await engine.http.ok('POST', `/containers/${id}/stop`);
    expect((await engine.inspect(id)).State.ExitCode).toBe(9);
  });
});
