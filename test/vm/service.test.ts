import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { beforeEach, expect, test } from 'vitest';
import { processes } from '../support/engine/cleanup.ts';
import { describeEngine } from '../support/engine/engine.ts';
import { HttpClient, until } from '../support/engine/http.ts';
import { differences } from '../support/engine/oracle.ts';
import { SERVICE, SOCKET, property, systemctl } from '../support/engine/service.ts';

describeEngine(
  'the systemd service',
  (engine) => {
    // These tests restart it more often than the unit allows in a minute.
    beforeEach(() => systemctl('reset-failed', SERVICE));

    test('unit: is active because it said so itself, and enabled for the next boot', () => {
      expect({
        type: property('Type'),
        state: `${property('ActiveState')} ${property('SubState')}`,
        enabled: [SERVICE, SOCKET].map((unit) => property('UnitFileState', unit)),
        delegated: property('Delegate'),
      }).toEqual({
        type: 'notify',
        state: 'active running',
        enabled: ['enabled', 'enabled'],
        delegated: 'yes',
      });
      expect(execFileSync('systemctl', ['--failed', '--plain', '--no-legend'], { encoding: 'utf8' })).toBe(
        '',
      );
    });

    test('journal: holds the lines of the daemon, each readable by itself', () => {
      const lines = engine.daemon.log().trim().split('\n');
      const messages = lines.flatMap((line) => (line.startsWith('{') ? [JSON.parse(line).msg] : []));
      expect(messages.length).toBeGreaterThan(3);
    });

    test('socket: a client that comes while the daemon is stopped starts it and is answered', async () => {
      await systemctl('stop', SERVICE);
      expect(engine.daemon.isRunning()).toBe(false);
      using client = new HttpClient(engine.daemon.paths.socket);
      expect((await client.request('GET', '/_ping')).text).toBe('OK');
      expect(engine.daemon.isRunning()).toBe(true);
    });

    test('socket: over a restart every new client waits, and none is refused', async () => {
      let answered = 0;
      const failures: unknown[] = [];
      const over = new AbortController();
      const clients = Array.from({ length: 3 }, async () => {
        while (!over.signal.aborted) {
          // A connection of its own, as each call of a CLI has.
          using client = new HttpClient(engine.daemon.paths.socket);
          await client.request('GET', '/_ping').then(
            () => (answered += 1),
            (error: unknown) => failures.push(error),
          );
        }
      });
      await until('first answers', () => answered > 3);
      await systemctl('restart', SERVICE);
      const before = answered;
      await until('answers of the next daemon', () => answered > before + 3);
      over.abort();
      await Promise.all(clients);
      // A request that the old daemon had taken may be cut off with it; nobody may find the door closed.
      expect(failures.filter((error) => /ECONNREFUSED|ENOENT/.test(String(error)))).toEqual([]);
    });

    test('reload: takes over a label without a restart', async () => {
      const { pid } = engine.daemon;
      engine.daemon.configure({ labels: ['rack=12'] });
      await systemctl('reload', SERVICE);
      await until('the label', async () =>
        (await engine.http.ok<{ Labels: string[] }>('GET', '/info')).Labels.includes('rack=12'),
      );
      expect(engine.daemon.pid).toBe(pid);
      engine.daemon.configure({});
      await systemctl('reload', SERVICE);
    });

    test('restart: containers go on, their output and exit codes are kept', async () => {
      const count = 'i=0; until [ -e /enough ]; do i=$((i+1)); echo $i; sleep 0.05; done; exit 9';
      const counting = await engine.start(['sh', '-c', count]);
      const short = await engine.start(['sh', '-c', 'until [ -e /enough ]; do sleep 0.1; done; exit 4']);
      const { State } = await engine.inspect(counting);
      await systemctl('restart', SERVICE);
      await engine.daemon.up();
      expect((await engine.inspect(counting)).State).toMatchObject({ Running: true, Pid: State.Pid });
      await engine.exec(short, ['sh', '-c', '(sleep 3; touch /enough) >/dev/null 2>&1 &']);
      await systemctl('stop', SERVICE);
      await until('the short one to end', () => !runs('exit 4'));
      await engine.daemon.up();
      expect(await engine.wait(short)).toBe(4);
      await engine.exec(counting, ['touch', '/enough']);
      expect(await engine.wait(counting)).toBe(9);
      const lines = (await engine.logs(counting)).stdout.trim().split('\n');
      expect(lines).toEqual(lines.map((_line, index) => String(index + 1)));
    });

    test('SIGKILL: systemd starts the daemon again by itself, and it takes over', async () => {
      const id = await engine.start(['sleep', '100000']);
      const { State } = await engine.inspect(id);
      const { pid } = engine.daemon;
      await engine.daemon.kill9();
      await until('another daemon', () => ![0, pid].includes(engine.daemon.pid));
      await engine.daemon.up();
      expect((await engine.inspect(id)).State).toMatchObject({ Running: true, Pid: State.Pid });
      expect(await differences(engine.daemon)).toEqual([]);
    });

    test('watchdog: a daemon that hangs is replaced, its containers are not', async () => {
      const folder = `/run/systemd/system/${SERVICE}.d`;
      mkdirSync(folder, { recursive: true });
      writeFileSync(`${folder}/watchdog.conf`, '[Service]\nWatchdogSec=25\n');
      await systemctl('daemon-reload');
      await systemctl('restart', SERVICE);
      await engine.daemon.up();
      const id = await engine.start(['sleep', '100000']);
      const { State } = await engine.inspect(id);
      const { pid } = engine.daemon;
      process.kill(pid, 'SIGSTOP');
      await until('another daemon', () => ![0, pid].includes(engine.daemon.pid));
      rmSync(folder, { recursive: true });
      await systemctl('daemon-reload');
      await engine.daemon.up();
      expect((await engine.inspect(id)).State).toMatchObject({ Running: true, Pid: State.Pid });
      expect(engine.daemon.log()).toContain('Watchdog timeout');
    });
  },
  { alsoNeeds: ['guest'] },
);

/** True while some process has this in its command line. */
function runs(text: string): boolean {
  return processes().some(({ commandLine }) => commandLine.includes(text));
}
