import { execFile } from 'node:child_process';
import { readlinkSync } from 'node:fs';
import { promisify } from 'node:util';
import { processes } from '../../engine/cleanup.ts';
import type { TestDaemon } from '../../engine/daemon.ts';

/** A value of the store as Debian's etcdctl reads it. */
export interface Stored {
  key: string;
  text: string;
  revision: number;
}

const run = promisify(execFile);
/** Where all keys of the first layout stand. */
const ROOT = '/berth/1/';
const PATIENCE_MS = 10_000;
const ANSWER_BYTES_MAX = 64 * 1024 * 1024;

/** The etcd of a manager; undefined while none runs. */
export function etcdOf({ paths }: TestDaemon): number | undefined {
  return processes().find(({ commandLine }) => commandLine.includes(`--data-dir=${paths.dataRoot}/`))?.pid;
}

/**
 * Everything that a manager's own member has, by key: what it has itself, whether or not a majority answers. Values are
 * sealed where they are secret, so they are texts for their comparison only.
 */
export async function storedBy(daemon: TestDaemon): Promise<Map<string, Stored>> {
  const pid = etcdOf(daemon);
  if (pid === undefined) {
    throw new Error('no etcd runs');
  }
  const { stdout } = await run(
    'etcdctl',
    ['--endpoints=unix://etcd:1', 'get', ROOT, '--prefix', '--consistency=s', '--write-out=json'],
    {
      cwd: readlinkSync(`/proc/${pid}/cwd`),
      env: { PATH: process.env['PATH'] ?? '', ETCDCTL_API: '3' },
      timeout: PATIENCE_MS,
      maxBuffer: ANSWER_BYTES_MAX,
    },
  );
  // What etcdctl prints of a range: keys and values in base64.
  const { kvs = [] } = JSON.parse(stdout) as {
    kvs?: { key: string; value?: string; mod_revision: number }[];
  };
  const entries = kvs.map(({ key, value = '', mod_revision: revision }) => ({
    key: Buffer.from(key, 'base64').toString().slice(ROOT.length),
    text: Buffer.from(value, 'base64').toString('latin1'),
    revision,
  }));
  return new Map(entries.map((entry) => [entry.key, entry]));
}

/** What two members have differently, by key. */
export function memberDifferences(
  [one, a]: readonly [name: string, entries: ReadonlyMap<string, Stored>],
  [two, b]: readonly [name: string, entries: ReadonlyMap<string, Stored>],
): string[] {
  return [...new Set([...a.keys(), ...b.keys()])]
    .filter((key) => a.get(key)?.revision !== b.get(key)?.revision || a.get(key)?.text !== b.get(key)?.text)
    .map(
      (key) =>
        `${key} is of revision ${a.get(key)?.revision ?? 0} at ${one}, ${b.get(key)?.revision ?? 0} at ${two}`,
    );
}
