import { expect, test } from 'vitest';
import { runcFailure } from '../../../../runtime/runc/failure.ts';

const line = (text: string): string =>
  [
    'time="2026-01-01T00:00:00Z" level=warning msg="something else"',
    `time="2026-01-01T00:00:00Z" level=error msg=${JSON.stringify(text)}`,
    '',
  ].join('\n');
const START = 'unable to start container process: ';

test.each([
  [`${START}exec: "x": executable file not found in $PATH`, 'invalid_argument', 127],
  [`${START}exec: "/x": stat /x: no such file or directory`, 'invalid_argument', 127],
  [`${START}exec: "/x": permission denied`, 'invalid_argument', 126],
  [`${START}exec: "/etc": is a directory`, 'invalid_argument', 126],
  [`${START}error mounting "/a" to rootfs at "/b": mount /a:/b: not a directory`, 'invalid_argument', 127],
  [`${START}error mounting "/a" to rootfs at "/b": stat /a: no such file or directory`, 'internal', 128],
  [`${START}can't get final child's PID from pipe: EOF`, 'internal', 128],
  [`${START}open /proc/sys/net/core/x: no such file or directory`, 'invalid_argument', 128],
  [`${START}write /proc/sys/net/core/somaxconn: invalid argument`, 'invalid_argument', 128],
])('runcFailure of create takes %j for %s, exit code %d', (text, code, exitCode) => {
  const error = runcFailure('create', line(`runc create failed: ${text}`));
  expect(error).toMatchObject({ code, details: { exitCode } });
  expect(error.message).toMatch(
    /^OCI runtime create failed: runc create failed: .*: unknown(: Are you trying .*)?$/,
  );
});

test.each([
  ['cannot exec in a stopped container', 'conflict'],
  ['container does not exist', 'conflict'],
  ['exec failed: unable to start container process: read init-p: connection reset by peer', 'internal'],
])('runcFailure of exec takes %j for %s', (text, code) => {
  expect(runcFailure('exec', line(text))).toMatchObject({ code });
});

test.each([
  ['', 'OCI runtime create failed: the runtime gave no reason: unknown'],
  ['fork/exec: no memory\n', 'OCI runtime create failed: fork/exec: no memory: unknown'],
  ['level=error msg=plain', 'OCI runtime create failed: plain: unknown'],
  [String.raw`level=error msg="a \"b\"\n\x1bc"`, 'OCI runtime create failed: a "b"\n\u001Bc: unknown'],
])('runcFailure reads %j', (stderr, message) => {
  expect(runcFailure('create', stderr).message).toBe(message);
});
