import type { ExecCreateRequest, ExecStartRequest } from '../../../../../api/types/exec.ts';
import type { Engine } from '../../../../support/engine/engine.ts';
import type { Hijacked } from '../../../../support/engine/http.ts';

/** One field of exec create or exec start. */
export interface ExecRow {
  field: string | readonly string[];
  what?: string;
  ask: ExecCreateRequest;
  start?: ExecStartRequest;
  /** The session is attached unless `start` says Detach. */
  observe: (session: ExecSession) => unknown;
  expected: unknown;
}

export interface ExecSession {
  engine: Engine;
  container: string;
  id: string;
  stream: Hijacked | undefined;
}

const text = async ({ stream }: ExecSession): Promise<string> => {
  const output = await stream?.output();
  return (output?.stdout ?? '') + (output?.stderr ?? '');
};
/** With a terminal there are no frames. */
const raw = async ({ stream }: ExecSession): Promise<string> => (await stream?.raw()) ?? '';
const both = { AttachStdout: true, AttachStderr: true };
const shell = (script: string): string[] => ['sh', '-c', script];

export const execRows: readonly ExecRow[] = [
  { field: 'Cmd', ask: { ...both, Cmd: ['echo', 'ran'] }, observe: text, expected: 'ran\n' },
  {
    field: 'AttachStdin',
    ask: { ...both, AttachStdin: true, Cmd: ['cat'] },
    observe: async (session) => {
      session.stream?.socket.end('typed');
      return text(session);
    },
    expected: 'typed',
  },
  {
    field: 'AttachStdout',
    what: 'false gives nothing of it',
    ask: { AttachStdout: false, AttachStderr: true, Cmd: shell('echo out; echo err >&2') },
    observe: text,
    expected: 'err\n',
  },
  {
    field: 'AttachStderr',
    what: 'false gives nothing of it',
    ask: { AttachStdout: true, AttachStderr: false, Cmd: shell('echo out; echo err >&2') },
    observe: text,
    expected: 'out\n',
  },
  {
    field: ['Tty', 'start.Tty'],
    ask: { ...both, Tty: true, Cmd: shell('test -t 1 && echo "$TERM"') },
    start: { Tty: true },
    observe: raw,
    expected: 'xterm\r\n',
  },
  {
    field: 'ConsoleSize',
    ask: { ...both, Tty: true, ConsoleSize: [22, 77], Cmd: ['stty', 'size'] },
    start: { Tty: true },
    observe: raw,
    expected: '22 77\r\n',
  },
  {
    field: 'start.ConsoleSize',
    what: 'comes before that of create',
    ask: { ...both, Tty: true, ConsoleSize: [22, 77], Cmd: ['stty', 'size'] },
    start: { Tty: true, ConsoleSize: [11, 55] },
    observe: raw,
    expected: '11 55\r\n',
  },
  {
    field: 'DetachKeys',
    what: 'let go of the client, not of the command',
    ask: { ...both, AttachStdin: true, Tty: true, DetachKeys: 'x', Cmd: ['sleep', '1000'] },
    start: { Tty: true },
    observe: async (session) => {
      session.stream?.socket.write('x');
      await raw(session);
      return (await session.engine.http.ok<{ Running: boolean }>('GET', `/exec/${session.id}/json`)).Running;
    },
    expected: true,
  },
  {
    field: 'Env',
    what: 'on top of that of the container',
    ask: { ...both, Env: ['B=exec', 'C=3'], Cmd: shell('echo $A $B $C') },
    observe: text,
    expected: 'create exec 3\n',
  },
  {
    field: 'Privileged',
    what: 'adds every capability the daemon has',
    ask: { ...both, Privileged: true, Cmd: shell('grep CapBnd /proc/self/status | tail -c 11') },
    observe: async (session) => {
      const plain = await session.engine.exec(session.container, shell('grep CapBnd /proc/self/status'));
      const [mask, less] = [await text(session), plain.stdout].map((line) =>
        BigInt(`0x${line.trim().slice(-10)}`),
      );
      return [(mask ?? 0n) !== (less ?? 0n), (mask ?? 0n) & (less ?? 0n)];
    },
    expected: [true, 0xa80425fbn],
  },
  {
    field: 'User',
    ask: { ...both, User: '1000:1001', Cmd: shell('id -u; id -g') },
    observe: text,
    expected: '1000\n1001\n',
  },
  {
    field: 'WorkingDir',
    ask: { ...both, WorkingDir: '/etc', Cmd: ['pwd'] },
    observe: text,
    expected: '/etc\n',
  },
  {
    field: 'start.Detach',
    what: 'answers at once, and the command goes on',
    ask: { ...both, Cmd: shell('echo done >/detached; sleep 1000') },
    start: { Detach: true },
    observe: async ({ engine, container, id }) => {
      let seen = '';
      while (seen === '') {
        seen = (await engine.exec(container, ['cat', '/detached'])).stdout;
      }
      return [seen, (await engine.http.ok<{ Running: boolean }>('GET', `/exec/${id}/json`)).Running];
    },
    expected: ['done\n', true],
  },
];
