import { expect, test } from 'vitest';
import { processes } from '../../support/engine/cleanup.ts';
import { describeEngine, onReference } from '../../support/engine/engine.ts';
import { until } from '../../support/engine/http.ts';
import { processFile } from '../../support/process.ts';

const OF_DAEMON = 'canary-of-the-daemon-5f1c';
const OF_CONTAINER = 'canary-of-a-container-8a3e';
/** Empty for one that has ended since it was seen: the runc that started a process. */
const environmentOf = (pid: number): string => processFile(pid, 'environ');

describeEngine(
  'environment',
  (engine) => {
    test.runIf(!onReference)(
      'class 26: what the daemon was started with is seen by none of its processes',
      async () => {
        expect(environmentOf(engine.daemon.pid)).toContain(OF_DAEMON);
        const id = await engine.start(['sleep', '600'], { Init: true });
        const tty = await engine.start(['sleep', '600'], {}, { Tty: true });
        const { Id } = await engine.http.ok<{ Id: string }>('POST', `/containers/${id}/exec`, {
          Cmd: ['sleep', '601'],
          AttachStdout: true,
          // Only with a terminal has an exec a monitor.
          Tty: true,
        });
        const stream = await engine.http.hijack(`/exec/${Id}/start`, { body: { Tty: true } });
        const wanted = ['sleep', '601', ''].join('\0');
        await until('the exec', () => processes().some((process) => process.commandLine === wanted));
        const { execRoot } = engine.daemon.paths;
        const own = processes().filter(({ commandLine }) => commandLine.includes(execRoot));
        expect(own.length).toBeGreaterThanOrEqual(3);
        expect(own.filter(({ pid }) => environmentOf(pid).includes(OF_DAEMON))).toEqual([]);
        const pids = [
          (await engine.inspect(id)).State.Pid,
          (await engine.inspect(tty)).State.Pid,
          (await engine.http.ok<{ Pid: number }>('GET', `/exec/${Id}/json`)).Pid,
        ];
        for (const pid of pids) {
          expect([pid, environmentOf(pid).includes(OF_DAEMON)]).toEqual([pid, false]);
        }
        stream.socket.destroy();
      },
    );

    test('class 26: a container sees its own variables and those of no other', async () => {
      const first = await engine.start(['sleep', '600'], {}, { Env: [`SECRET=${OF_CONTAINER}`] });
      const second = await engine.start(['sleep', '600'], {}, { Env: ['OTHER=1'] });
      expect((await engine.exec(first, ['env'])).stdout).toContain(`SECRET=${OF_CONTAINER}`);
      expect((await engine.exec(second, ['env'])).stdout).not.toContain('SECRET');
      expect((await engine.exec(first, ['env'], { Env: ['SECRET=mine'] })).stdout).toContain('SECRET=mine\n');
      // Nor does the next exec see those of the last one.
      const { stdout } = await engine.exec(first, ['env']);
      expect(stdout.match(/^SECRET=.*$/gm)).toEqual([`SECRET=${OF_CONTAINER}`]);
      expect((await engine.run(['env'])).stdout).not.toMatch(/SECRET|OTHER/);
    });

    test.runIf(!onReference)(
      'class 26: secrets of clients are not in the log, at its most talkative',
      async () => {
        const registry = Buffer.from(JSON.stringify({ username: 'u', password: OF_CONTAINER })).toString(
          'base64',
        );
        const id = await engine.start(['sleep', '600'], {}, { Env: [`SECRET=${OF_CONTAINER}`] });
        await engine.exec(id, ['true'], { Env: [`SECRET=${OF_CONTAINER}`] });
        await engine.http.request('POST', '/images/create?fromImage=nothing.invalid/x', {
          headers: { 'X-Registry-Auth': registry },
        });
        await engine.http.request('POST', '/auth', {
          body: { username: 'u', password: OF_CONTAINER, serveraddress: 'nothing.invalid' },
        });
        await engine.http.request('POST', '/containers/create', {
          body: { Image: 'busybox', Env: [`SECRET=${OF_CONTAINER}`], HostConfig: { NetworkMode: 'nowhere' } },
        });
        expect(engine.daemon.log()).not.toContain(OF_CONTAINER);
        expect(engine.daemon.log()).not.toContain(registry);
        await engine.remove(id);
        const events = await engine.http.request('GET', '/events?since=1&until=1s');
        expect(events.text).not.toContain(OF_CONTAINER);
      },
    );
  },
  { env: { BERTH_TEST_SECRET: OF_DAEMON, LD_TEST: OF_DAEMON } },
);
