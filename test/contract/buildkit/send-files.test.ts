import { armHere } from '../../support/fakes/failpoints.ts';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Readable } from 'node:stream';
import grpc from '@grpc/grpc-js';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { packet, PACKET } from '../../../api/buildkit/proto/session.ts';
import type { ClientSession } from '../../../api/buildkit/session/client-session.ts';
import { sendFiles } from '../../../daemon/build/export/send-files.ts';
import type { ExportDeps } from '../../../daemon/build/export/ports.ts';
import { SpoolDirectory } from '../../../storage/spool/spool.ts';
import { encodeHeader, padding, TAR_END, type WrittenMember } from '../../../storage/tar/encode.ts';
import { SessionServer } from '../../support/buildkit/session-server.ts';

const TARGET = { output: 2, facts: new Map([['a', 'b']]) };
const { signal } = new AbortController();

let folder: string;
let server: SessionServer;
let session: ClientSession;
let spools: ExportDeps['spools'];

beforeEach(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'berth-test-send-'));
  server = new SessionServer(folder);
  server.takes = 'files';
  const directory = new SpoolDirectory(folder, () => Promise.resolve());
  await directory.prepare();
  spools = {
    ofChanges: () => Promise.reject(new Error('not of this test')),
    raw: (source, options) => directory.fill(source, { ...options, decompress: false }),
  };
  session = await server.open();
});
afterEach(async () => {
  armHere('');
  session.end();
  await server[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});

const member = (name: string, more: Partial<WrittenMember> = {}, content = ''): Buffer =>
  Buffer.concat([
    encodeHeader({
      name,
      type: 'file',
      mode: 0o644,
      uid: 0,
      gid: 0,
      mtime: { seconds: 1_700_000_000, nanoseconds: 0 },
      size: content.length,
      ...more,
    }),
    Buffer.from(content),
    padding(content.length),
  ]);

async function send(...members: Buffer[]): Promise<void> {
  await using sending = session.sendFiles(TARGET, signal);
  const tar = Readable.from([Buffer.concat([...members, TAR_END])]);
  await sendFiles(spools, { tar, sending }, { signal, sent: () => undefined });
}

test('files of any size, links, devices and attributes are sent as BuildKit sends them', async () => {
  const large = 'large'.repeat(200_000);
  await send(
    member('a', { mode: 0o4755, uid: 3, gid: 4, attributes: new Map([['user.x', Buffer.from('y')]]) }, large),
    member('d/', { type: 'directory', mode: 0o1777 }),
    member('d/dev', { type: 'character', major: 1, minor: 3 }),
    member('d/fifo', { type: 'fifo' }),
    member('d/link', { type: 'symlink', linkName: '../a' }),
    member('d/same', { type: 'link', linkName: 'a' }),
    member('e'),
  );
  const [{ metadata, listed } = { metadata: new grpc.Metadata(), listed: [] }] = server.sends;
  expect(metadata.get('buildkit-attachable-exporter-id')).toEqual(['2']);
  expect(metadata.get('exporter-md-a')).toEqual(['b']);
  const shown = listed.map(({ stat, content }) => [
    String(stat.path),
    stat.mode.toString(16),
    String(stat.linkName),
    content.length,
  ]);
  expect(shown).toEqual([
    ['a', '8001ed', '', large.length],
    ['d', '801001ff', '', 0],
    ['d/dev', '42001a4', '', 0],
    ['d/fifo', '20001a4', '', 0],
    ['d/link', '80001a4', '../a', 0],
    ['d/same', '1a4', 'a', 0],
    ['e', '1a4', '', 0],
  ]);
  expect(listed[0]?.stat).toMatchObject({ uid: 3, gid: 4, modTime: 1_700_000_000_000_000_000n });
  expect(String(listed[0]?.stat.xattrs.get('user.x'))).toBe('y');
  expect(listed[2]?.stat).toMatchObject({ devMajor: 1, devMinor: 3 });
});

test('a client that refuses, asks for what is not there, or ends too early is told of', async () => {
  server.refuses = (call) => call.emit('error', { code: grpc.status.UNKNOWN, details: 'no room' });
  await expect(send(member('a'))).rejects.toThrow('FileSend/DiffCopy: no room');
  server.refuses = (call) => call.write(packet.encode({ type: PACKET.request, id: 9 }));
  await expect(send(member('a'))).rejects.toThrow('it asks for number 9, which it cannot have');
  server.refuses = (call) =>
    call.write(packet.encode({ type: PACKET.error, data: Buffer.from('no device') }));
  await expect(send(member('a'))).rejects.toThrow('the client could not write the files: no device');
  server.refuses = (call) => call.end();
  await expect(send(member('a'))).rejects.toThrow('it ended before it had all of them');
  server.refuses = () => session.end();
  await expect(send(member('a'))).rejects.toMatchObject({ code: 'unavailable' });
});

test('build.export.files: a disk that fails ends it, and the next one is whole', async () => {
  armHere('build.export.files=errno(ENOSPC)');
  await expect(send(member('a', {}, 'x'))).rejects.toMatchObject({ code: 'ENOSPC' });
  armHere('');
  server.sends.length = 0;
  await send(member('a', {}, 'x'));
  expect(String(server.sends[0]?.listed[0]?.content)).toBe('x');
});

test('a stream is sent whole, in messages that a client takes', async () => {
  server.takes = 'bytes';
  const large = Buffer.alloc(9_000_000, 'abc');
  await session.sendBytes(TARGET, Readable.from([large, Buffer.from('end')]), signal);
  expect(server.sends[0]?.bytes.equals(Buffer.concat([large, Buffer.from('end')]))).toBe(true);
  server.refuses = (call) => call.emit('error', { code: grpc.status.UNKNOWN, details: 'no room' });
  await expect(session.sendBytes(TARGET, Readable.from([large, large]), signal)).rejects.toThrow('no room');
});
