import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { hubProcess } from '../../support/hub/hub-process.ts';

type Said = { problems: string[]; blobs: number };

const run = (args: string[], failpoints = ''): ReturnType<typeof hubProcess<Said>> =>
  hubProcess<Said>('push-and-die', args, failpoints);

/** The verb that dies there, and the verbs before it. */
test.each([
  ['hub.upload.create', 'push', []],
  ['hub.upload.append', 'push', []],
  ['hub.upload.sync', 'push', []],
  ['hub.upload.publish', 'push', []],
  ['hub.upload.remove', 'push', []],
  ['hub.blob.adopt', 'push', []],
  ['hub.blob.write', 'push', []],
  ['hub.blob.publish', 'push', []],
  ['hub.blob.mount', 'push', []],
  ['hub.manifest.publish', 'push', []],
  ['hub.manifest.delete', 'delete', ['push']],
  ['hub.manifest.leftover', 'index', []],
  ['hub.blob.delete', 'delete', ['push']],
  ['hub.gc.forget', 'delete', ['push']],
  ['hub.gc.unlink', 'delete', ['push']],
  ['hub.blob.remove', 'delete', ['push']],
])(
  'kill -9 at %s: the next start mends what %s has left, and pushes',
  async (failpoint, verb, before) => {
    const folder = mkdtempSync(join(tmpdir(), 'bth-registry-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const path = join(folder, 'hub.db');
    for (const each of ['prepare', ...before]) {
      expect((await run([path, each])).said?.problems).toEqual([]);
    }
    const killed = await run([path, verb], `${failpoint}=sigkill`);
    expect(killed).toEqual({ signal: 'SIGKILL', said: undefined });
    expect((await run([path, 'settle'])).said?.problems).toEqual([]);
    expect((await run([path, 'push'])).said).toEqual({ problems: [], blobs: 3 });
  },
  60_000,
);

test.each(['hub.fetch.create', 'hub.fetch.sync', 'hub.fetch.publish'])(
  'kill -9 at %s: what came from another manager comes again, and nothing of it is left',
  async (failpoint) => {
    const folder = mkdtempSync(join(tmpdir(), 'bth-registry-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const path = join(folder, 'hub.db');
    for (const verb of ['prepare', 'push']) {
      expect((await run([path, verb])).said?.problems).toEqual([]);
    }
    expect(await run([path, 'fetch'], `${failpoint}=sigkill`)).toEqual({
      signal: 'SIGKILL',
      said: undefined,
    });
    expect((await run([path, 'fetch'])).said).toEqual({ problems: [], blobs: 3 });
    expect(readdirSync(join(`${path}.blobs`, 'tmp'))).toEqual([]);
  },
  60_000,
);

test.each(['hub.copies.offer', 'hub.copies.give'])(
  'kill -9 at %s: the push that comes again is held by another manager, too',
  async (failpoint) => {
    const folder = mkdtempSync(join(tmpdir(), 'bth-registry-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const path = join(folder, 'hub.db');
    expect((await run([path, 'prepare'])).said?.problems).toEqual([]);
    const killed = await run([path, 'push', 'replicated'], `${failpoint}=sigkill`);
    expect(killed).toEqual({ signal: 'SIGKILL', said: undefined });
    expect((await run([path, 'settle'])).said?.problems).toEqual([]);
    expect((await run([path, 'push', 'replicated'])).said).toEqual({ problems: [], blobs: 3 });
  },
  60_000,
);
