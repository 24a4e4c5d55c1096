import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { execFileSync } from 'node:child_process';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { TestDaemon } from '../../support/engine/daemon.ts';
import { needsEngine } from '../../support/needs.ts';

const LIBRARY = resolve(import.meta.dirname, '../../../scripts/lib/cluster-keys.sh');
const ADDRESS = '127.0.0.1:6450';

/** What quickstart makes for kubectl, and how it starts the daemon. */
needsEngine('kubectl')('the kubeconfig of quickstart', () => {
  let daemon: TestDaemon;
  let directory: string;
  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), 'berth-test-kubeconfig-'));
    makeKeys();
    daemon = await TestDaemon.start({
      config: {
        cluster: {
          address: ADDRESS,
          'tls-cert': join(directory, 'cert.pem'),
          'tls-key': join(directory, 'key.pem'),
          'tls-client-ca': join(directory, 'client-ca.pem'),
        },
      },
    });
  });
  afterAll(async () => {
    await daemon[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true });
  });

  function makeKeys(): void {
    execFileSync('bash', ['-euc', '. "$1"; make_cluster_keys "$2" "$3"', '', LIBRARY, directory, ADDRESS]);
  }

  const kubectl = (...words: string[]): Promise<string> =>
    daemon.netns.run('kubectl', ...words, '--kubeconfig', join(directory, 'kubeconfig'));

  test('kubectl reads and removes events with it', async () => {
    await daemon.http.ok('POST', '/volumes/create', { Name: 'data' });
    expect(await kubectl('get', 'events', '--watch-only=false')).toMatch(/VolumeCreated +volume\/data/);
    expect(await kubectl('delete', 'events', '--all')).toMatch(/^event "data\.[0-9a-f]+" deleted/);
    expect(await kubectl('get', 'events', '-o', 'name')).toBe('');
  });

  test('it stays when quickstart is run again, and only its owner reads it', () => {
    const before = statSync(join(directory, 'kubeconfig'));
    makeKeys();
    const after = statSync(join(directory, 'kubeconfig'));
    expect([after.ino, after.mode & 0o777]).toEqual([before.ino, 0o600]);
  });
});
