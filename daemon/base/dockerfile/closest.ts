/** What is further away from what was written was hardly meant. */
const DISTANCE_MAX = 2;
/** Longer names are not compared: that costs the product of both lengths. */
const LENGTH_MAX = 100;

/** The option that was probably meant; undefined where the name is one of them, or none is near. Pure. */
export function closest(name: string, options: readonly string[]): string | undefined {
  if (options.includes(name) || name.length > LENGTH_MAX) {
    return undefined;
  }
  let best: string | undefined;
  let least = DISTANCE_MAX + 1;
  for (const option of options) {
    const distance = Math.abs(option.length - name.length) < least ? distanceOf(name, option) : least;
    if (distance < least) {
      least = distance;
      best = option;
    }
  }
  return best;
}

/** Characters put in, left out or exchanged, at least (Levenshtein). */
function distanceOf(a: string, b: string): number {
  let before = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let row = 1; row <= a.length; row += 1) {
    const line = [row];
    for (let column = 1; column <= b.length; column += 1) {
      const exchanged = (before[column - 1] ?? 0) + (a[row - 1] === b[column - 1] ? 0 : 1);
      line.push(Math.min((before[column] ?? 0) + 1, (line[column - 1] ?? 0) + 1, exchanged));
    }
    before = line;
  }
  return before[b.length] ?? 0;
}
