import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ProjectQuotas } from '../../../storage/quotas/project-quotas.ts';
import { FakeQuotas } from '../../support/fakes/fake-quotas.ts';
import { quotasContract } from '../../support/storage/quotas-contract.ts';

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'berth-quotas-'));
});

afterAll(() => {
  rmSync(folder, { recursive: true });
});

// The kernel's own passes the same in test/vm/quotas.test.ts: this machine need not have any.
quotasContract('the fake', () => ({ quotas: new FakeQuotas(), parent: folder }));

test('a file system without projects says so, and nothing is changed', async () => {
  const quotas = new ProjectQuotas();
  const shm = mkdtempSync('/dev/shm/berth-test-quotas-');
  try {
    const home = join(shm, 'home');
    mkdirSync(home);
    expect(quotas.obstacle(shm)).toBe(
      `the file system of ${shm} has no project quotas: ` +
        'it takes XFS mounted with pquota, ext4 with prjquota; and Linux 5.14',
    );
    await expect(quotas.limit([home], 1024)).rejects.toThrow(
      `the file system of ${shm} has no project quotas`,
    );
    expect(await quotas.usage(home)).toBeUndefined();
    await quotas.forget(home);
    await quotas.forget(join(shm, 'nowhere'));
  } finally {
    rmSync(shm, { recursive: true });
  }
});
