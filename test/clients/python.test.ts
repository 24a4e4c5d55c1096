import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { describeEngine } from '../support/engine/engine.ts';

const SCRIPT = path.join(import.meta.dirname, 'python_client.py');
const run = promisify(execFile);

describeEngine(
  'docker-py',
  (engine) => {
    test.each(['auto', '1.24', '1.41'])('a program of docker-py at version %s', async (version) => {
      const { stdout } = await run(
        '/usr/bin/python3',
        [SCRIPT, `unix://${engine.daemon.paths.socket}`, version],
        { timeout: 120_000, maxBuffer: 16 * 1024 * 1024 },
      );
      expect(JSON.parse(stdout)).toMatchObject({
        ping: true,
        os: 'linux',
        run: 'from python\n',
        failure: [4, 'broken\n'],
        status: 'running',
        list: ['py'],
        exec: [3, '1\n'],
        demux: ['o\n', 'e\n'],
        logs: 'up\n',
        wait: 137,
        gone: true,
        tags: ['busybox:latest', 'py/copy:1'],
        loaded: ['busybox:latest'],
        events: ['create', 'die', 'destroy'],
      });
    });
  },
  { alsoNeeds: ['python3-docker'] },
);
