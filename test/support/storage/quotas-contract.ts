import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import type { DirectoryQuotas } from '../../../storage/quotas/directory-quotas.ts';

const MB = 1 << 20;

/** What every implementation of `DirectoryQuotas` does. `place` answers a directory that it can limit others in. */
export function quotasContract(name: string, place: () => { quotas: DirectoryQuotas; parent: string }): void {
  let quotas: DirectoryQuotas;
  let home: string;
  let data: string;

  beforeEach(() => {
    const { quotas: made, parent } = place();
    quotas = made;
    home = join(parent, 'home');
    data = join(home, 'data');
    rmSync(home, { recursive: true, force: true });
    mkdirSync(data, { recursive: true });
  });

  test(`${name}: what is written below any of the directories counts`, async () => {
    expect(await quotas.usage(home)).toBeUndefined();
    await quotas.limit([home, data], 16 * MB);
    const before = await quotas.usage(home);
    expect(before?.limitBytes).toBe(16 * MB);
    writeFileSync(join(home, 'one'), Buffer.alloc(MB, 1), { flush: true });
    writeFileSync(join(data, 'two'), Buffer.alloc(MB, 2), { flush: true });
    const after = await quotas.usage(home);
    const written = (after?.usedBytes ?? 0) - (before?.usedBytes ?? 0);
    expect(written).toBeGreaterThanOrEqual(2 * MB);
    expect(written).toBeLessThan(3 * MB);
  });

  test(`${name}: a limit goes with its directory, can be changed, and be forgotten`, async () => {
    await quotas.limit([home, data], 16 * MB);
    const moved = `${home}.moved`;
    renameSync(home, moved);
    expect((await quotas.usage(moved))?.limitBytes).toBe(16 * MB);
    renameSync(moved, home);
    await quotas.limit([home, data], 32 * MB);
    await quotas.limit([home, data], 32 * MB);
    expect((await quotas.usage(home))?.limitBytes).toBe(32 * MB);
    await quotas.forget(home);
    expect((await quotas.usage(home))?.limitBytes).toBe(0);
    await quotas.forget(home);
  });

  test(`${name}: directories are apart from each other`, async () => {
    const other = join(home, '../other');
    rmSync(other, { recursive: true, force: true });
    mkdirSync(other);
    await quotas.limit([home, data], 16 * MB);
    await quotas.limit([other], 24 * MB);
    writeFileSync(join(other, 'file'), Buffer.alloc(MB, 1), { flush: true });
    expect((await quotas.usage(home))?.usedBytes).toBeLessThan(MB);
    expect((await quotas.usage(other))?.limitBytes).toBe(24 * MB);
    await quotas.forget(other);
  });

  test(`${name}: to forget what is not there, or not limited, is nothing`, async () => {
    await quotas.forget(join(home, 'nowhere'));
    await quotas.forget(data);
    expect(await quotas.usage(data)).toBeUndefined();
  });
}
