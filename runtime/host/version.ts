/** True when a dotted version (`6.1.0-18-amd64`, `1.1.5+ds1`) is `floor` or later; missing parts count as 0. */
export function isAtLeast(version: string, floor: string): boolean {
  const have = numbersOf(version);
  for (const [index, wanted] of numbersOf(floor).entries()) {
    const found = have[index] ?? 0;
    if (found !== wanted) {
      return found > wanted;
    }
  }
  return true;
}

function numbersOf(version: string): number[] {
  return (/^\d+(?:\.\d+)*/.exec(version)?.[0] ?? '0').split('.').map(Number);
}
