import { cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { hubProcess } from '../../support/hub/hub-process.ts';

type Said = { mended: string[]; problems: string[]; blobs: number };

const run = (args: string[], failpoints = ''): ReturnType<typeof hubProcess<Said>> =>
  hubProcess<Said>('push-and-die', args, failpoints);

const WHOLE = { mended: [], problems: [], blobs: 3 };
const KILLED = { signal: 'SIGKILL', said: undefined };

/** What the verbs of before leave: made once for all tests. */
const folders = { prepare: '', push: '' };

beforeAll(async () => {
  folders.prepare = mkdtempSync(join(tmpdir(), 'bth-registry-'));
  const prepared = await run([join(folders.prepare, 'hub.db'), 'prepare']);
  expect(prepared.said).toEqual({ ...WHOLE, blobs: 0 });
  folders.push = copyOf(folders.prepare);
  expect((await run([join(folders.push, 'hub.db'), 'push'])).said).toEqual(WHOLE);
});

afterAll(() => Object.values(folders).forEach((folder) => rmSync(folder, { recursive: true, force: true })));

function copyOf(folder: string): string {
  const copy = mkdtempSync(join(tmpdir(), 'bth-registry-'));
  cpSync(folder, copy, { recursive: true });
  return copy;
}

/** The database of a test, where that verb has been before. */
function databaseAfter(verb: keyof typeof folders): string {
  const folder = copyOf(folders[verb]);
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, 'hub.db');
}

/** The verb that dies there, and the verb before it. */
test.each<[string, string, keyof typeof folders]>([
  ['hub.upload.create', 'push', 'prepare'],
  ['hub.upload.append', 'push', 'prepare'],
  ['hub.upload.sync', 'push', 'prepare'],
  ['hub.upload.publish', 'push', 'prepare'],
  ['hub.upload.remove', 'push', 'prepare'],
  ['hub.blob.adopt', 'push', 'prepare'],
  ['hub.blob.write', 'push', 'prepare'],
  ['hub.blob.publish', 'push', 'prepare'],
  ['hub.blob.mount', 'push', 'prepare'],
  ['hub.manifest.publish', 'push', 'prepare'],
  ['hub.manifest.delete', 'delete', 'push'],
  ['hub.manifest.leftover', 'index', 'prepare'],
  ['hub.blob.delete', 'delete', 'push'],
  ['hub.gc.forget', 'delete', 'push'],
  ['hub.gc.unlink', 'delete', 'push'],
  ['hub.blob.remove', 'delete', 'push'],
])(
  'kill -9 at %s: the next start mends what %s has left, and pushes',
  async (failpoint, verb, before) => {
    const path = databaseAfter(before);
    expect(await run([path, verb], `${failpoint}=sigkill`)).toEqual(KILLED);
    expect((await run([path, 'mend'])).said).toEqual(WHOLE);
  },
  60_000,
);

test.each(['hub.fetch.create', 'hub.fetch.sync', 'hub.fetch.publish'])(
  'kill -9 at %s: what came from another manager comes again, and nothing of it is left',
  async (failpoint) => {
    const path = databaseAfter('push');
    expect(await run([path, 'fetch'], `${failpoint}=sigkill`)).toEqual(KILLED);
    expect((await run([path, 'fetch'])).said).toEqual(WHOLE);
    expect(readdirSync(join(`${path}.blobs`, 'tmp'))).toEqual([]);
  },
  60_000,
);

test.each(['hub.copies.offer', 'hub.copies.give'])(
  'kill -9 at %s: the push that comes again is held by another manager, too',
  async (failpoint) => {
    const path = databaseAfter('prepare');
    expect(await run([path, 'push', 'replicated'], `${failpoint}=sigkill`)).toEqual(KILLED);
    expect((await run([path, 'mend', 'replicated'])).said).toEqual(WHOLE);
  },
  60_000,
);
