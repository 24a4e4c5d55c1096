import { limits } from '../../limits.ts';
import { declare } from '../libc.ts';

const mallopt = declare('int mallopt(int parameter, int value)');

const mallocTrim = declare('int malloc_trim(size_t kept)');

/** mallopt(3) */
const M_TRIM_THRESHOLD = -1;
const M_MMAP_THRESHOLD = -3;
const M_ARENA_MAX = -8;

/**
 * Keeps what buffers of many threads have freed from staying with this process. The C library gives each thread an
 * arena of its own, and buffers of half a megabyte are cut out of them once the first of that size was freed: pulling
 * 500 MB left 130 MB behind. With this, threads share a few arenas, and large buffers go back to the kernel when they
 * are freed. Call before other threads work.
 */
export function boundFreeMemory(): void {
  mallopt('arenas', M_ARENA_MAX, limits.mallocArenasMax);
  mallopt('mapped from', M_MMAP_THRESHOLD, limits.mallocMappedBytesMin);
  mallopt('kept', M_TRIM_THRESHOLD, limits.mallocKeptBytesMax);
}

/**
 * Gives pages between allocations back, which the bounds above do not reach: the threads that load an image leave 30 MB
 * of them. Takes a millisecond or two; call it where much was freed.
 */
export function returnFreeMemory(): void {
  mallocTrim('free memory', 0);
}
