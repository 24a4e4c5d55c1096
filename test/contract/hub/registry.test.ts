import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';

interface Ended {
  signal: string | null;
  /** What it printed; undefined when it was killed before. */
  said: { problems: string[]; blobs: number } | undefined;
}

function hubProcess(args: string[], failpoints = ''): Promise<Ended> {
  const script = join(import.meta.dirname, '../../support/hub/push-and-die.ts');
  const child = spawn(process.execPath, ['--import', 'tsx', script, ...args], {
    env: { ...process.env, BERTH_FAILPOINTS: failpoints },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (piece: string) => (text += piece));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (_, signal) => {
      resolve({ signal, said: text === '' ? undefined : (JSON.parse(text) as Ended['said']) });
    });
  });
}

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
      expect((await hubProcess([path, each])).said?.problems).toEqual([]);
    }
    const killed = await hubProcess([path, verb], `${failpoint}=sigkill`);
    expect(killed).toEqual({ signal: 'SIGKILL', said: undefined });
    expect((await hubProcess([path, 'settle'])).said?.problems).toEqual([]);
    expect((await hubProcess([path, 'push'])).said).toEqual({ problems: [], blobs: 3 });
  },
  60_000,
);
