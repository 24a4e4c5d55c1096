import { armHere } from '../../support/fakes/failpoints.ts';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { TarMember } from '../../../storage/tar/parser.ts';
import type grpc from '@grpc/grpc-js';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { packet, PACKET } from '../../../api/buildkit/proto/session.ts';
import type { ClientSession } from '../../../api/buildkit/session/client-session.ts';
import { systemClock } from '../../../daemon/base/clock.ts';
import { silentLogger as log } from '../../../daemon/base/logger.ts';
import { Contexts, type ReceivedFiles } from '../../../daemon/build/session/contexts.ts';
import { Sessions } from '../../../daemon/build/session/sessions.ts';
import { SpoolDirectory } from '../../../storage/spool/spool.ts';
import { SessionServer, type ListedFile } from '../../support/buildkit/session-server.ts';

const DIRECTORY = 0x8000_0000;
const SYMLINK = 0x0800_0000;
const { signal } = new AbortController();

let folder: string;
let server: SessionServer;
let session: ClientSession;
let contexts: Contexts;
let expected: number[];

beforeEach(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'berth-test-session-'));
  server = new SessionServer(folder);
  const spools = new SpoolDirectory(folder, () => Promise.resolve());
  await spools.prepare();
  expected = [];
  const layers = { expectFiles: (count: number) => void expected.push(count) };
  contexts = new Contexts({ spools, layers, clock: systemClock, log });
  session = await server.open();
});
afterEach(async () => {
  session.end();
  await server[Symbol.asyncDispose]();
  await contexts.prune();
  rmSync(folder, { recursive: true });
});

const stat = (name: string, more: Partial<ListedFile['stat']> = {}): ListedFile['stat'] => ({
  path: Buffer.from(name),
  mode: 0o644,
  modTime: 1_700_000_000_123_456_789n,
  ...more,
});
const file = (
  name: string,
  content: string | Buffer,
  more: Partial<ListedFile['stat']> = {},
): ListedFile => ({
  stat: stat(name, { size: content.length, ...more }),
  content: Buffer.from(content),
});
const directory = (name: string): ListedFile => ({ stat: stat(name, { mode: DIRECTORY + 0o755 }) });

async function receive(key = 'k', excludePatterns: string[] = []): Promise<ReceivedFiles> {
  const request = { directory: 'context', followPaths: [], includePatterns: [], excludePatterns };
  return contexts.receive(session, { ...request, key, came: () => undefined }, signal);
}

/** Path to content, or to what else it is. */
async function shown({ files, spool }: ReceivedFiles): Promise<Record<string, string>> {
  const all: Record<string, string> = {};
  for (const [name, { entry }] of files) {
    const { type, offset, size, linkName } = entry.member;
    all[name] = type === 'file' ? (await spool.read(offset, size)).toString('latin1') : `${type} ${linkName}`;
  }
  return all;
}

test('a directory is received into one file: contents of any size, links, set-user-id, times', async () => {
  const large = Buffer.alloc(3_000_001, 'large');
  server.list = [
    file('a', 'one', {
      mode: 0x0080_0000 + 0o755,
      xattrs: new Map(['user.x', 'security.capability'].map((name) => [name, Buffer.from('x')] as const)),
    }),
    directory('d'),
    file('d/b', large),
    file('d/empty', ''),
    { stat: stat('d/link', { mode: SYMLINK + 0o777, linkName: Buffer.from('../a') }) },
    { stat: stat('d/null', { mode: 0x0420_0000, devMajor: 1, devMinor: 3 }) },
    { stat: stat('d/other', { size: large.length, linkName: Buffer.from('d/b') }) },
    file('d-', 'after what d holds'),
  ];
  await using received = await receive();
  expect(await shown(received)).toEqual({
    a: 'one',
    d: 'directory ',
    'd/b': large.toString(),
    'd/empty': '',
    'd/link': 'symlink ../a',
    'd/null': 'character ',
    'd/other': large.toString(),
    'd-': 'after what d holds',
  });
  const memberOf = (name: string): TarMember | undefined => received.files.get(name)?.entry.member;
  expect(memberOf('d/null')).toMatchObject({ major: 1, minor: 3 });
  // Names of one file stay that.
  expect(['d/b', 'd/other', 'd/empty'].map((name) => memberOf(name)?.sharedWith)).toEqual([
    'd/b',
    'd/b',
    undefined,
  ]);
  // Of what the client's files may do more than others BuildKit loses this.
  expect([...(memberOf('a')?.attributes.keys() ?? [])]).toEqual(['user.x']);
  const member = memberOf('a');
  expect([member?.mode, member?.mtime]).toEqual([
    0o4755,
    { seconds: 1_700_000_000, nanoseconds: 123_456_789 },
  ]);
  expect(received.files.get('a')?.entry.digest).toBe(
    '7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed',
  );
});

test('what has not changed is not asked for again, nor while it is in use', async () => {
  server.list = [file('a', 'one'), file('b', 'two'), file('c', 'three')];
  {
    await using first = await receive();
    expect(Object.keys(await shown(first))).toEqual(['a', 'b', 'c']);
  }
  server.list = [file('a', 'one'), file('b', 'TWO', { modTime: 5n }), file('d', 'new')];
  {
    await using second = await receive();
    expect(await shown(second)).toEqual({ a: 'one', b: 'TWO', d: 'new' });
    await using beside = await receive();
    expect(await shown(beside)).toEqual({ a: 'one', b: 'TWO', d: 'new' });
  }
  await using other = await receive('another');
  expect(await shown(other)).toEqual({ a: 'one', b: 'TWO', d: 'new' });
  expect(server.copies.map(({ asked }) => asked)).toEqual([['a', 'b', 'c'], ['b', 'd'], [], ['a', 'b', 'd']]);
});

test('a context in use stays as it was: beside another transfer, one that fails, and what came since', async () => {
  server.list = [file('a', 'one'), file('b', 'two')];
  await using first = await receive();
  server.list = [file('a', 'ONE', { modTime: 5n })];
  const [second, beside] = await Promise.all([receive(), receive()]);
  for (const each of [second, beside]) {
    expect(await shown(each)).toEqual({ a: 'ONE' });
    await each[Symbol.asyncDispose]();
  }
  server.list = [file('../x', 'x')];
  await expect(receive()).rejects.toThrow('no clean path');
  expect(await shown(first)).toEqual({ a: 'one', b: 'two' });
  // What a transfer that failed wrote into is not kept.
  server.list = [file('a', 'ONE', { modTime: 5n })];
  await using last = await receive();
  expect(await shown(last)).toEqual({ a: 'ONE' });
  expect(server.copies.at(-1)?.asked).toEqual(['a']);
});

test('layers are told how many files are on their way, without those that are there already', async () => {
  server.list = [file('a', 'one'), directory('d'), file('d/b', 'two')];
  await using _first = await receive();
  expect(expected.at(-1)).toBe(2);
  server.list = [file('a', 'one'), directory('d'), file('d/b', 'TWO', { modTime: 5n })];
  expected = [];
  await using _second = await receive();
  expect(expected).toEqual([1]);
});

test('a file that grew is taken as it was listed, one that shrank as it came; both are asked for again', async () => {
  server.list = [
    { ...file('grown', 'abc'), content: Buffer.from('abcdef') },
    { ...file('less', 'abc'), content: Buffer.from('a') },
  ];
  {
    await using received = await receive();
    expect(await shown(received)).toEqual({ grown: 'abc', less: 'a' });
  }
  await using again = await receive();
  expect(await shown(again)).toEqual({ grown: 'abc', less: 'a' });
  expect(server.copies[1]?.asked).toEqual(['grown', 'less']);
  server.list = [{ ...file('gone', 'abc'), content: Buffer.alloc(0) }];
  await expect(receive()).rejects.toThrow('"gone" could not be read, or was changed while it was sent');
});

test('patterns are headers of their own, escaped where they are not ASCII', async () => {
  server.list = [];
  await using _plain = await receive('k', ['*.log', 'a,b']);
  await using _escaped = await receive('k', ['größe x', '*.log']);
  // grpc-js shows them joined.
  expect(server.copies.map(({ metadata }) => metadata.get('exclude-patterns'))).toEqual([
    ['*.log, a,b'],
    ['gr%C3%B6%C3%9Fe+x, *.log'],
  ]);
  expect(server.copies[1]?.metadata.get('exclude-patterns-encoded')).toEqual(['1']);
});

const FORBIDDEN: [what: string, list: ListedFile[], why: string][] = [
  ['a parent directory', [file('../x', 'x')], '"../x" is no clean path below the root'],
  ['an absolute path', [file('/etc/x', 'x')], '"/etc/x" is no clean path below the root'],
  ['a path that is not clean', [directory('d'), file('d//x', 'x')], '"d//x" is no clean path'],
  ['out of order', [file('b', 'x'), file('a', 'x')], '"a" does not come after "b"'],
  ['twice', [file('a', 'x'), file('a', 'x')], '"a" does not come after "a"'],
  ['without its directory', [file('d/x', 'x')], '"d/x" lies in something that is no directory'],
  [
    'below a link',
    [{ stat: stat('d', { mode: SYMLINK, linkName: Buffer.from('/etc') }) }, file('d/x', 'x')],
    '"d/x" lies in something that is no directory',
  ],
  ['a link to what is not there', [{ stat: stat('l', { linkName: Buffer.from('x') }) }], 'no file before it'],
];

test.each(FORBIDDEN)('a list with %s is refused, and nothing is kept', async (_what, list, why) => {
  server.list = list;
  await expect(receive()).rejects.toThrow(why);
  server.list = [file('a', 'one')];
  await using received = await receive();
  expect(await shown(received)).toEqual({ a: 'one' });
});

const send = (
  call: grpc.ServerDuplexStream<Buffer, Buffer>,
  ...packets: Parameters<typeof packet.encode>
): void => packets.forEach((each) => call.write(packet.encode(each)));

test('packets that belong to nothing end the transfer', async () => {
  const listed = { type: PACKET.stat };
  server.hostile = (call) => {
    send(call, { type: PACKET.data, id: 7, data: Buffer.from('x') });
  };
  await expect(receive()).rejects.toThrow('content of number 7, which was not asked for');
  server.hostile = (call) => {
    call.write(packet.encode(listed));
    call.write(packet.encode(listed));
    call.resume();
  };
  await expect(receive()).rejects.toThrow('the list ends twice');
  server.hostile = (call) => {
    call.write(Buffer.from('0a', 'hex'));
  };
  await expect(receive()).rejects.toThrow('a packet that cannot be read');
  server.hostile = (call) => {
    send(call, { type: PACKET.error, data: Buffer.from('permission denied') });
  };
  await expect(receive()).rejects.toThrow('the client could not send its files: permission denied');
  server.hostile = (call) => {
    call.end();
  };
  await expect(receive()).rejects.toThrow('the client ended before all of them had come');
});

test('a transfer that the disk refuses leaves nothing, and the next one is whole', async () => {
  server.list = [file('a', 'one')];
  armHere('build.session.files=errno(ENOSPC)');
  await expect(receive()).rejects.toMatchObject({ code: 'ENOSPC' });
  armHere('');
  await using received = await receive();
  expect(await shown(received)).toEqual({ a: 'one' });
});

test('a client that leaves in the middle ends the transfer', async () => {
  server.hostile = (call) => {
    call.resume();
    session.end();
  };
  await expect(receive()).rejects.toMatchObject({ code: 'unavailable' });
});

test('credentials, secrets and uploads are asked for', async () => {
  expect(await session.credentials('registry.example', signal)).toEqual({ username: 'me', password: 'pw' });
  expect(await session.credentials('token.example', signal)).toEqual({ identityToken: 'idtokn' });
  expect(await session.secret('known', signal)).toEqual(Buffer.from([1, 0, 255]));
  await expect(session.secret('other', signal)).rejects.toMatchObject({ code: 'not_found' });
  server.uploads.set('abc', Buffer.from('/abc'));
  const parts: string[] = [];
  for await (const part of session.upload('/abc', signal)) {
    parts.push(String(part));
  }
  expect(parts).toEqual(['/abc', '!']);
  await session.check(signal);
});

test('sessions: one of an id; who asks for it before it is there waits', async () => {
  const sessions = new Sessions({ clock: systemClock, log });
  const found = sessions.get('one', signal);
  const attached = sessions.attach(session);
  expect(await found).toBe(session);
  expect(() => sessions.refuse('one')).toThrow('session one is open already');
  session.end();
  await attached;
  const stop = new AbortController();
  const never = sessions.get('one', stop.signal);
  stop.abort(new Error('enough'));
  await expect(never).rejects.toThrow('enough');
});

test('a received file is no file with a name', async () => {
  server.list = [file('a', 'one')];
  await using received = await receive();
  expect(readFileSync(`/proc/self/fd/${received.spool.fd}`, 'latin1')).toBe('one');
});
