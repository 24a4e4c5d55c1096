import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { expect, test } from 'vitest';
import { TestDaemon } from '../support/engine/daemon.ts';
import { readDatabase } from '../support/storage/database-copy.ts';
import { downgrade } from '../support/storage/downgrade.ts';
import { describeEngine, onReference } from '../support/engine/engine.ts';
import { until } from '../support/engine/http.ts';
import { differences } from '../support/engine/oracle.ts';

describeEngine('the end and the beginning of a daemon', (engine) => {
  test.runIf(!onReference).each(['SIGTERM', 'SIGINT'] as const)(
    'R11: %s ends it within two seconds while clients hold events, logs, attach, exec and wait',
    async (signal) => {
      const { daemon } = engine;
      const id = await engine.start(
        ['sh', '-c', 'while :; do echo tick; sleep 0.1; done'],
        {},
        { OpenStdin: true },
      );
      const { State } = await engine.inspect(id);
      const exec = await engine.http.ok<{ Id: string }>('POST', `/containers/${id}/exec`, {
        Cmd: ['sh', '-c', 'while :; do echo tock; sleep 0.1; done'],
        AttachStdout: true,
      });
      const streams = [
        await engine.http.hijack(`/containers/${id}/attach?stream=1&stdin=1&stdout=1`),
        await engine.http.hijack(`/exec/${exec.Id}/start`),
      ];
      await Promise.all([streams[0]?.waitFor('tick'), streams[1]?.waitFor('tock')]);
      const answers = await Promise.all([
        engine.http.open('GET', '/events'),
        engine.http.open('GET', `/containers/${id}/logs?follow=1&stdout=1`),
        engine.http.open('POST', `/containers/${id}/wait`),
      ]);
      for (const answer of answers) {
        answer.on('error', () => {
          // The end of the daemon is the end of the stream; two of them are not even read.
        });
      }
      answers[0]?.resume();
      const startedAt = performance.now();
      process.kill(daemon.pid, signal);
      await daemon.ended();
      expect(performance.now() - startedAt).toBeLessThan(8000);
      expect(() => process.kill(State.Pid, 0)).not.toThrow();
      streams.forEach((stream) => stream.socket.destroy());
      await daemon.up();
      expect((await engine.inspect(id)).State).toMatchObject({ Running: true, Pid: State.Pid });
      await engine.remove(id);
      await expect.poll(() => differences(daemon)).toEqual([]);
    },
  );

  test.runIf(!onReference)('R12: a second daemon on the same root is refused and harms nothing', async () => {
    const { daemon } = engine;
    const id = await engine.start(['sleep', '600'], { NetworkMode: 'bridge', Binds: ['data:/data'] });
    const { State } = await engine.inspect(id);
    const main = path.resolve(import.meta.dirname, '../../dist/daemon/main.js');
    const roots: string[][] = [
      [],
      // Another exec root, another socket, another name: the data is the same.
      ['--host', `unix://${daemon.paths.root}/other.sock`, '--exec-root', `${daemon.paths.root}/other-run`],
      ['--host', `unix://${daemon.paths.root}/other.sock`, '--pidfile', `${daemon.paths.root}/other.pid`],
    ];
    for (const args of roots) {
      const [file, ...rest] = daemon.netns.enter(main, '--config-file', daemon.paths.config, ...args);
      let said = '';
      try {
        execFileSync(file, rest, { encoding: 'utf8', timeout: 20_000, stdio: 'pipe' });
      } catch (error) {
        said = String(error);
      }
      expect([args, said]).toEqual([args, expect.stringMatching(/in use|conflict|both|specified/)]);
      expect((await engine.inspect(id)).State).toMatchObject({ Running: true, Pid: State.Pid });
    }
    await expect.poll(() => differences(daemon)).toEqual([]);
    expect((await engine.exec(id, ['echo', 'alive'])).stdout).toBe('alive\n');
  });

  test.runIf(!onReference)('R12: of two that start at once, one gets the root', async () => {
    await using first = await TestDaemon.start();
    await first.stop();
    const attempts = [first.launch(), first.launch()];
    const ended = attempts.map(
      (child) => new Promise<number | null>((resolve) => void child.once('exit', (code) => resolve(code))),
    );
    const loser = await Promise.race(ended);
    expect(loser).toBe(1);
    const left = attempts.filter((child) => child.exitCode === null);
    expect(left.length).toBe(1);
    await until('the other to answer', async () => {
      try {
        return (await first.http.request('GET', '/_ping')).status === 200;
      } catch {
        // Still starting.
        return false;
      }
    });
    left[0]?.kill('SIGKILL');
    await Promise.all(ended);
  });
});

describeEngine('an upgrade', (engine) => {
  test.runIf(!onReference).each(['database.migrate.step', 'database.migrate.stepped'])(
    'R13: a daemon killed at %s of a migration runs it again, and nothing is lost',
    async (step) => {
      const { daemon } = engine;
      const file = path.join(daemon.paths.dataRoot, 'berth.db');
      const id = await engine.start(['sleep', '600'], { Binds: ['data:/data'] }, {}, 'kept');
      const { State } = await engine.inspect(id);
      const newest = schemaOf(file);
      await daemon.stop();
      // As of the first release.
      downgrade(file, 1);
      daemon.launch({ BERTH_FAILPOINTS: `${step}=sigkill@1` });
      await daemon.ended();
      await daemon.up();
      expect(schemaOf(file)).toBe(newest);
      expect((await engine.inspect('kept')).State).toMatchObject({ Running: true, Pid: State.Pid });
      expect(await engine.http.ok('GET', '/volumes/data')).toMatchObject({ Name: 'data' });
      await expect.poll(() => differences(daemon)).toEqual([]);
    },
  );
});

function schemaOf(file: string): number {
  return readDatabase(file, (connection) => Number(connection.pragma('user_version', { simple: true })));
}
