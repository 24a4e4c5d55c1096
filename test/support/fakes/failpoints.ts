/**
 * Failpoints within the test's own process. Import it before everything else: what passes failpoints reads the name of
 * this file when it is loaded.
 */
import { rmSync, writeFileSync } from 'node:fs';
import { afterAll } from 'vitest';

const file = `/tmp/berth-test-failpoints-${process.pid}-${process.hrtime.bigint()}`;
process.env['BERTH_FAILPOINT_FILE'] = file;
writeFileSync(file, '');
afterAll(() => rmSync(file, { force: true }));

/** As BERTH_FAILPOINTS; calls are counted from then on. Nothing is armed with ''. */
export function armHere(text: string): void {
  writeFileSync(file, text);
}
