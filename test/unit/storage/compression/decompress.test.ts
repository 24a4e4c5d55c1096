import { execFileSync } from 'node:child_process';
import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { adoptOrphans } from '../../../../daemon/base/kernel/processes/children.ts';
import { decompress } from '../../../../storage/compression/decompress.ts';

const SWEEP_MS = 1000;

describe('decompress', () => {
  it.each(['xz', 'bzip2'])('%s: its end is heard when the sweep of orphans comes first', async (program) => {
    using _adopting = adoptOrphans();
    const packed = execFileSync(program, ['-c'], { input: 'hello' });
    let text = '';
    for await (const chunk of decompress(Readable.from([packed]), 'test')) {
      text += chunk.toString();
      // The program ends now, and when the event loop goes on, timers have their turn before signals.
      const until = performance.now() + SWEEP_MS + 100;
      while (performance.now() < until) {
        // Busy, as a daemon that is asked for much.
      }
    }
    expect(text).toBe('hello');
  });
});
