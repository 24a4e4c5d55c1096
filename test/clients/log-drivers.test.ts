import { execFile } from 'node:child_process';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeEngine } from '../support/engine/engine.ts';
import { until } from '../support/engine/http.ts';
import { NetworkReceivers } from '../support/log-receivers.ts';

const AWS = { AWS_ACCESS_KEY_ID: 'AKID', AWS_SECRET_ACCESS_KEY: 'SECRET', AWS_REGION: 'eu-1' };

describeEngine(
  'docker CLI: log drivers',
  (engine) => {
    let receivers: NetworkReceivers;
    beforeAll(async () => {
      receivers = await NetworkReceivers.start(engine.daemon);
    });
    afterAll(async () => {
      await receivers[Symbol.asyncDispose]();
    });
    const docker = (...args: string[]): Promise<string> =>
      new Promise((resolve, reject) => {
        const env = {
          PATH: process.env['PATH'] ?? '',
          HOME: engine.daemon.paths.root,
          DOCKER_HOST: `unix://${engine.daemon.paths.socket}`,
        };
        const child = execFile('docker', args, { env, timeout: 120_000 }, (error, out, err) => {
          if (error === null) {
            resolve(out);
          } else {
            reject(new Error(err));
          }
        });
        child.stdin?.end();
      });

    test.each([
      ['syslog', ['syslog-address=tcp://127.0.0.1:5140', 'syslog-format=rfc5424']],
      ['gelf', ['gelf-address=tcp://127.0.0.1:12201']],
      ['fluentd', ['fluentd-address=127.0.0.1:24224']],
      ['splunk', ['splunk-url=http://127.0.0.1:8088', 'splunk-token=t']],
      [
        'awslogs',
        [
          'awslogs-group=g',
          'awslogs-endpoint=http://127.0.0.1:8088',
          'awslogs-force-flush-interval-seconds=1',
        ],
      ],
    ] as const)(
      'run --log-driver %s: attached output and the receiver both have the line',
      async (driver, options) => {
        const flags = options.flatMap((option) => ['--log-opt', option]);
        const line = `hello ${driver}`;
        const run = ['run', '--name', driver, '--network', 'none', '--log-driver', driver, ...flags];
        expect(await docker(...run, 'busybox', 'echo', line)).toBe(`${line}\n`);
        await until(`the line at ${driver}`, () => receivers.received(driver).includes(line));
        await expect(docker('logs', driver)).rejects.toThrow(
          'configured logging driver does not support reading',
        );
      },
    );

    test.each(['json-file', 'local'])('run --log-driver %s: logs shows the line', async (driver) => {
      const flags = [
        '--network',
        'none',
        '--log-driver',
        driver,
        '--log-opt',
        'max-size=1m',
        '--log-opt',
        'max-file=2',
      ];
      await docker('run', '-d', '--name', driver, ...flags, 'busybox', 'echo', 'kept');
      await docker('wait', driver);
      expect(await docker('logs', driver)).toBe('kept\n');
    });

    test('info: lists the drivers', async () => {
      expect(await docker('info', '--format', '{{json .Plugins.Log}}')).toBe(
        '["awslogs","fluentd","gelf","journald","json-file","local","splunk","syslog"]\n',
      );
    });
  },
  { env: AWS },
);
