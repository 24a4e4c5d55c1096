#!/usr/bin/env -S UV_THREADPOOL_SIZE=16 node
import { setFlagsFromString } from 'node:v8';
import { boundHeapGrowth } from './base/kernel/processes/heap-growth.ts';

// A daemon answers the first request of a kind as often as the thousandth: compile at once, do not interpret first
// (ping of a fresh daemon: a quarter faster, for 5 MB).
setFlagsFromString('--always-sparkplug');
// Buffers that nobody holds are freed in the collection that finds them. On a thread beside it that comes late, and
// V8 takes what waits for growth: a push of 500 MB marked the whole heap twelve times, for half its processor time.
setFlagsFromString('--no-concurrent-array-buffer-sweeping');
boundHeapGrowth();

const { main } = await import('./boot/cli.ts');
const exitCode = await main(process.argv.slice(2));
if (exitCode !== undefined) {
  process.exit(exitCode);
}
