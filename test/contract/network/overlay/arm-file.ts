/** Imported before the engine, which reads the variable once: what a test writes to the file is armed. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';

const directory = mkdtempSync(path.join(os.tmpdir(), 'berth-arm-'));
const file = path.join(directory, 'armed');
writeFileSync(file, '');
process.env['BERTH_FAILPOINT_FILE'] = file;

/** Runs `work` while the step fails. */
export async function failingAt<T>(step: string, work: () => T | Promise<T>): Promise<T> {
  writeFileSync(file, `${step}=error(armed)`);
  try {
    return await work();
  } finally {
    writeFileSync(file, '');
  }
}

export function disarm(): void {
  rmSync(directory, { recursive: true, force: true });
}
