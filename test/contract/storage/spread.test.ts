import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { spreadSubdirectories } from '../../../daemon/base/kernel/files/spread.ts';

const EXT4 = 0xef53;

test.each([tmpdir(), '/dev/shm'])('spread: marks a directory of %s where the file system can', (place) => {
  const folder = mkdtempSync(join(place, 'berth-spread-'));
  try {
    spreadSubdirectories(folder);
    spreadSubdirectories(folder);
    if (statfsSync(folder).type === EXT4) {
      expect(execFileSync('lsattr', ['-d', folder], { encoding: 'utf8' })).toMatch(/^[-a-zA-Z]*T[-a-zA-Z]* /);
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
});
