import { expect, test } from 'vitest';
import { describeEngine } from '../../support/engine/engine.ts';
import { until } from '../../support/engine/http.ts';

describeEngine('security', (engine) => {
  const seccompMode = async (host: object): Promise<string> =>
    (await engine.run(['sh', '-c', 'grep Seccomp: /proc/self/status | cut -f2'], host)).stdout.trim();

  test('seccomp: the default profile filters, unconfined does not', async () => {
    expect(await seccompMode({})).toBe('2');
    expect(await seccompMode({ SecurityOpt: ['seccomp=unconfined'] })).toBe('0');
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
    const id = await engine.start(
      ['sh', '-c', 'trap "exit 9" TERM; echo ready; while :; do sleep 0.05; done'],
      {
        Init: true,
      },
    );
    await until('the trap', async () => (await engine.logs(id)).stdout === 'ready\n');
    const { stdout } = await engine.exec(id, ['cat', '/proc/1/comm']);
    expect(stdout).toMatch(/^(docker-init|tini)/);
    await engine.http.ok('POST', `/containers/${id}/stop`);
    expect((await engine.inspect(id)).State.ExitCode).toBe(9);
  });
});
