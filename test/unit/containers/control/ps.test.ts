import { expect, test } from 'vitest';
import { checkPsArguments, parsePs } from '../../../../daemon/containers/control/ps.ts';

test.each(['-ef', 'aux', '-o pid,comm', '-o pid=PID -o comm', '-opid=PID', '-o pid=PIDS,comm', '-o ppid'])(
  'top: ps_args=%s is let through',
  (text) => expect(() => checkPsArguments(text)).not.toThrow(),
);

test.each([
  ['-o uid=PID', 'uid=PID'],
  ['-o pid=X -o ppid=PID', 'ppid=PID'],
  ['-ocomm=PID', '-ocomm=PID'],
  ['-o comm,args=PIDS', 'args=PIDS'],
  ['-o ppid= PID', 'ppid=PID'],
])('top: ps_args=%s is refused', (text, named) => {
  expect(() => checkPsArguments(text)).toThrow(`specifying "${named}" is not allowed`);
});

test('top: lines of other processes are left out, words of the last column put together', () => {
  const output = 'UID   PID CMD\nroot  1 init\nroot  10 sleep  1000\nroot 11 sh -c x\u00A0y\n\n';
  expect(parsePs(output, new Set([10, 11]))).toEqual({
    Titles: ['UID', 'PID', 'CMD'],
    Processes: [
      ['root', '10', 'sleep 1000'],
      ['root', '11', 'sh -c x\u00A0y'],
    ],
  });
});

test('top: threads belong to the process above them', () => {
  const output = 'PID LWP CMD\n10 - a\n- 10 -\n12 - b\n- 12 -\n';
  expect(parsePs(output, new Set([10])).Processes).toEqual([
    ['10', '-', 'a'],
    ['-', '10', '-'],
  ]);
});

test.each([
  ['', "Couldn't find PID field in ps output"],
  ['USER CMD\nroot x\n', "Couldn't find PID field in ps output"],
  ['PID CMD\nx y\n', "Unexpected pid 'x'"],
])('top: output %j is refused', (output, message) => {
  expect(() => parsePs(output, new Set([1]))).toThrow(message);
});
