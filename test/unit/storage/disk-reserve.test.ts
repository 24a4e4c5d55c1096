import { expect, test } from 'vitest';
import { limits } from '../../../daemon/base/limits.ts';
import { DiskReserve } from '../../../storage/disk-reserve.ts';

const MB = 1024 * 1024;

test('the disk is looked at once in 32 MB, and a writer stopped before it is full', () => {
  let looks = 0;
  let free = limits.diskReserveBytes;
  const reserve = new DiskReserve(() => {
    looks += 1;
    return free;
  }, 'layer: no space left on device');
  [0, 1, 31 * MB, 32 * MB, 40 * MB].forEach((bytes) => reserve.check(bytes));
  expect(looks).toBe(2);
  free -= 1;
  reserve.check(63 * MB);
  expect(() => reserve.check(64 * MB)).toThrow(
    expect.objectContaining({ code: 'resource_exhausted', message: 'layer: no space left on device' }),
  );
});
