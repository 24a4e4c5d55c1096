import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { bundledProgram } from '../../support/bundled-program.ts';
import { openEvents } from '../../support/cluster/memory-events.ts';

async function killed(file: string, failpoints: string): Promise<string[]> {
  const script = await bundledProgram(join(import.meta.dirname, '../../support/cluster/store-and-die.ts'));
  const child = spawn(process.execPath, [script, file], {
    env: { ...process.env, BERTH_FAILPOINTS: failpoints },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (piece: string) => (text += piece));
  const signal = await new Promise((resolve) => child.once('close', (_code, by) => resolve(by)));
  expect(signal).toBe('SIGKILL');
  return text.split('\n').filter((name) => name !== '');
}

test.each([
  'cluster.events.commit=sigkill@4',
  'cluster.events.committed=sigkill@4',
  'database.clusterevent.put=sigkill@8',
  'database.transaction.commit=sigkill@6',
])('kill -9 at %s: every event that was answered is there, and revisions go on', async (failpoints) => {
  const directory = mkdtempSync(join(tmpdir(), 'berth-test-cluster-'));
  try {
    const file = join(directory, 'berth.db');
    const answered = await killed(file, failpoints);
    await using open = await openEvents({ file });
    const all = { namespace: undefined, fieldSelector: '', labelSelector: '', fields: 'events' } as const;
    const { items, revision } = open.events.list(all);
    const names = new Set(items.map(({ name }) => name));
    expect(answered.filter((name) => !names.has(name))).toEqual([]);
    expect(answered.length).toBeGreaterThan(0);
    expect(new Set(items.map((item) => item.revision)).size).toBe(items.length);
    expect(Math.max(...items.map((item) => item.revision))).toBe(revision);
    const made = await open.events.create(
      { metadata: { name: 'next', namespace: 'default' }, note: 'x' },
      { fields: 'core', isDryRun: false, manager: undefined },
    );
    expect(made.revision).toBe(revision + 1);
  } finally {
    rmSync(directory, { recursive: true });
  }
});
