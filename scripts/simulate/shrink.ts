/**
 * Fewer steps with which something still goes wrong: parts of them are left out, ever smaller ones, until none can be.
 * @param triesMax Bounds the work: each try is a whole run.
 */
export async function shrink<T>(
  steps: readonly T[],
  isBroken: (steps: T[]) => Promise<boolean>,
  triesMax: number,
): Promise<T[]> {
  let kept = [...steps];
  let tries = 0;
  for (let size = Math.ceil(kept.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let start = 0; start < kept.length && tries < triesMax;) {
      const fewer = kept.toSpliced(start, size);
      tries += 1;
      if (await isBroken(fewer)) {
        kept = fewer;
      } else {
        start += size;
      }
    }
  }
  return kept;
}
