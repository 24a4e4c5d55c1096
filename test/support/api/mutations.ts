const PIECES = [
  'null',
  '-1',
  '1e400',
  '{}',
  '[]',
  '"__proto__"',
  '\\u0000',
  '{"size":',
  'sha256:',
  '\uFFFD',
  '[[[[',
];

/** `count` texts made of one by up to three changes each; the same ones each time. */
export function* mutations(text: string, count: number): Generator<string> {
  let random = 42;
  const next = (max: number): number => {
    // A generator that repeats itself exactly (Numerical Recipes).
    random = (Math.imul(random, 1_664_525) + 1_013_904_223) >>> 0;
    return random % max;
  };
  for (let round = 0; round < count; round += 1) {
    let changed = text;
    for (let change = 0; change <= next(3); change += 1) {
      const at = next(changed.length);
      changed = changed.slice(0, at) + (PIECES[next(PIECES.length)] ?? '') + changed.slice(at + next(12));
    }
    yield changed;
  }
}
