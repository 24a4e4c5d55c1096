import { expect, test } from 'vitest';
import type { NewBuildContainer, NewBuildProcess } from '../../../../api/types/build/containers.ts';
import { readContainer } from '../../../../daemon/build/containers/asked-container.ts';
import { readProcess } from '../../../../daemon/build/containers/asked-process.ts';
import { execRequest, firstBody } from '../../../../daemon/build/containers/process-requests.ts';
import { commandMeta, mountMessage } from '../../../../daemon/build/llb/messages.ts';

const HOST = { entitlements: [], worker: { platforms: [{ os: 'linux', architecture: 'amd64' }] } };
const PATH = 'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
type Mount = Parameters<typeof mountMessage.encode>[0];

const container = (mounts: readonly Mount[], more: Partial<NewBuildContainer> = {}): NewBuildContainer => ({
  id: 'c',
  mounts: mounts.map((mount) => mountMessage.encode(mount)),
  network: 0,
  platform: undefined,
  constraints: [],
  extraHosts: [],
  hostname: '',
  ...more,
});
const process = (
  meta: Parameters<typeof commandMeta.encode>[0],
  more: Partial<NewBuildProcess> = {},
): NewBuildProcess => ({
  container: 'c',
  meta: commandMeta.encode({ args: ['sh'], ...meta }),
  fds: [1, 2],
  isTerminal: false,
  security: 0,
  secrets: [],
  ...more,
});

test('a container: the root first among its results, wherever it is told; mounts without a result are empty', () => {
  const asked = container(
    [
      { dest: '/in', resultId: 'a', selector: 'part', isReadonly: true },
      { dest: '/', resultId: 'r', isReadonly: true },
      { dest: '/fresh' },
      { dest: '/cache', type: 3, resultId: 'a', cache: { id: 'k', sharing: 2 } },
    ],
    { platform: { os: 'linux', architecture: 'amd64', variant: '' }, hostname: 'h' },
  );
  const owner = { uid: 0, gid: 0 };
  expect(readContainer(asked, HOST)).toEqual({
    results: ['r', 'a', undefined, 'a'],
    places: [
      { kind: 'mount', target: '/in' },
      { kind: 'root' },
      { kind: 'mount', target: '/fresh' },
      { kind: 'mount', target: '/cache' },
    ],
    mounts: [
      { type: 'bind', from: 1, source: '/part', target: '/in', isWritable: false },
      { type: 'bind', from: 2, source: '/', target: '/fresh', isWritable: true },
      {
        type: 'cache',
        id: 'k',
        sharing: 'locked',
        from: 3,
        source: '/',
        target: '/cache',
        isWritable: true,
        owner,
        mode: 0o755,
      },
    ],
    network: 'default',
    hostname: 'h',
    extraHosts: [],
    isRootReadonly: true,
  });
});

test('a container: the network of the host for who may have it', () => {
  const asked = container([{ dest: '/', resultId: 'r' }], { network: 1 });
  expect(() => readContainer(asked, HOST)).toThrow('network.host is not allowed');
  const allowed = { ...HOST, entitlements: ['network.host'] };
  expect(readContainer(asked, allowed)).toMatchObject({ network: 'host', hostname: 'buildkitsandbox' });
});

test.each<[string, Mount]>([
  ['mounts: dest "/a\\u0000b" cannot hold a NUL', { dest: '/a\0b', resultId: 'r' }],
  ['mounts: selector "/a\\u0000b" cannot hold a NUL', { dest: '/m', selector: '/a\0b', resultId: 'r' }],
  [
    'mount /s of type secret: uid, gid or mode 99999999999 is out of range',
    { dest: '/s', type: 1, secret: { id: 's', uid: 99_999_999_999 } },
  ],
])('a mount is refused: %s', (text, mount) => {
  expect(() => readContainer(container([{ dest: '/', resultId: 'r' }, mount]), HOST)).toThrow(text);
});

test.each<[string, NewBuildProcess]>([
  ['fds: descriptor 3 of a process', process({}, { fds: [3] })],
  ['security.insecure is not allowed', process({}, { security: 1 })],
  ['a process without arguments', process({ args: [] })],
  ['meta.ulimit of a process', process({ ulimit: [{ name: 'nofile', soft: 1, hard: 1 }] })],
  ['meta.proxyEnv of a process', process({ proxyEnv: { httpProxy: 'p' } })],
  ['secret ID missing for "N"', process({}, { secrets: [{ id: '', name: 'N', isOptional: true }] })],
  ['meta of a process: decode a message', { ...process({}), meta: Buffer.from([0x0a, 9]) }],
])('a process is refused: %s', (text, asked) => {
  expect(() => readProcess(asked, [])).toThrow(text);
});

test('a process: PATH where it has none, its input, and that it is privileged', () => {
  expect(readProcess(process({ env: ['A=b'] }, { fds: [0], security: 1 }), ['security.insecure'])).toEqual({
    argv: ['sh'],
    env: ['A=b', PATH],
    directory: '/',
    user: '',
    isPrivileged: true,
    isTerminal: false,
    hasInput: true,
    secrets: [],
  });
});

test('the first process of a container: no log is kept, and the end of a terminal is not that of its input', () => {
  const asked = readContainer(container([{ dest: '/', resultId: 'r' }]), HOST);
  const none = { env: ['S=secret'], tmpfs: {} };
  const body = firstBody(asked, readProcess(process({ env: ['S=a', 'PATH=/p'] }, { fds: [0] }), []), none);
  expect(body).toMatchObject({
    Env: ['PATH=/p'],
    OpenStdin: true,
    StdinOnce: true,
    HostConfig: { LogConfig: { Type: 'none' }, NetworkMode: 'default' },
  });
  const terminal = readProcess(process({}, { fds: [0], isTerminal: true }), []);
  expect(firstBody(asked, terminal, none)).toMatchObject({ Tty: true, OpenStdin: true, StdinOnce: false });
});

test('a further process has nothing of the variables of the first, and is root unless told otherwise', () => {
  const first = readProcess(
    process({ env: ['A=1', 'B=1'] }, { secrets: [{ id: 's', name: 'S', isOptional: false }] }),
    [],
  );
  const asked = readProcess(process({ env: ['B=2'], cwd: '/d' }), []);
  expect(execRequest(asked, { first, mounts: ['M=1'], variables: ['V=1'] })).toMatchObject({
    Env: ['A', 'S', 'M', 'B=2', PATH, 'V=1'],
    User: '0:0',
    WorkingDir: '/d',
    AttachStdin: false,
  });
});
