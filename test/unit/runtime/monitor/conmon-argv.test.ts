import { expect, test } from 'vitest';
import { createArgv, execArgv } from '../../../../runtime/monitor/conmon-argv.ts';
import { Bundle } from '../../../../runtime/runc/exec-root.ts';

const settings = {
  conmonPath: '/usr/bin/conmon',
  runtimeArgs: [],
  runtimePath: '/usr/sbin/runc',
  runcRoot: '/run/berth/runc',
  exitDirectory: '/run/berth/exits',
  systemdCgroup: true,
};

test('createArgv asks for a log, an exit file and the stdin mode', () => {
  const bundle = new Bundle('/run/berth/containers/ID');
  const request = {
    id: 'ID',
    bundle,
    terminal: true,
    stdin: true,
    leaveStdinOpen: true,
    logPath: '/data/ID.log',
  };
  expect(createArgv(settings, request)).toMatchInlineSnapshot(`
    [
      "/usr/bin/conmon",
      "--api-version=1",
      "--cid=ID",
      "--cuuid=ID",
      "--name=ID",
      "--runtime=/usr/sbin/runc",
      "--runtime-arg=--root",
      "--runtime-arg=/run/berth/runc",
      "--runtime-arg=--log",
      "--runtime-arg=/dev/null",
      "--bundle=/run/berth/containers/ID",
      "--container-pidfile=/run/berth/containers/ID/pid",
      "--conmon-pidfile=/run/berth/containers/ID/monitor.pid",
      "--full-attach",
      "--no-sync-log",
      "--terminal",
      "--stdin",
      "--exit-dir=/run/berth/exits",
      "--log-path=k8s-file:/data/ID.log",
      "--leave-stdin-open",
      "--systemd-cgroup",
    ]
  `);
  const plain = { ...request, terminal: false, stdin: false, leaveStdinOpen: false, logPath: null };
  expect(createArgv({ ...settings, systemdCgroup: false }, plain).slice(14)).toMatchInlineSnapshot(`
    [
      "--no-sync-log",
      "--exit-dir=/run/berth/exits",
      "--log-path=none",
    ]
  `);
});

test('execArgv keeps no log, and waits to be attached to only where it holds the output', () => {
  const bundle = new Bundle('/run/berth/containers/ID/exec/E');
  const request = { containerId: 'ID', execId: 'E', bundle, terminal: false, stdin: true };
  expect(execArgv(settings, { ...request, output: 'attached' })).toMatchInlineSnapshot(`
    [
      "/usr/bin/conmon",
      "--api-version=1",
      "--cid=ID",
      "--cuuid=E",
      "--name=ID",
      "--runtime=/usr/sbin/runc",
      "--runtime-arg=--root",
      "--runtime-arg=/run/berth/runc",
      "--runtime-arg=--log",
      "--runtime-arg=/dev/null",
      "--bundle=/run/berth/containers/ID/exec/E",
      "--container-pidfile=/run/berth/containers/ID/exec/E/pid",
      "--conmon-pidfile=/run/berth/containers/ID/exec/E/monitor.pid",
      "--full-attach",
      "--no-sync-log",
      "--stdin",
      "--exec",
      "--exec-attach",
      "--exec-process-spec=/run/berth/containers/ID/exec/E/config.json",
      "--log-path=none",
    ]
  `);
  const [passed, dropped] = (['passed', 'dropped'] as const).map((output) =>
    execArgv(settings, { ...request, output }).slice(15),
  );
  expect({ passed, dropped }).toEqual({
    passed: ['--exec', `--exec-process-spec=${bundle.config}`, '--log-path=passthrough'],
    dropped: ['--stdin', '--exec', `--exec-process-spec=${bundle.config}`, '--log-path=none'],
  });
});
