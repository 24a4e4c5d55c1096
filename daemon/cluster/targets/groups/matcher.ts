/** What is wrong with a matcher, `200-299,301`; undefined = nothing. */
export function matcherProblem(text: string): string | undefined {
  return rangesOf(text) === undefined
    ? 'must be status codes from 200 to 599 and ranges of them, 200-299,301'
    : undefined;
}

/** Says of a status code whether it is that of a healthy target. A matcher that is none has no such codes. Pure. */
export function statusMatcher(text: string): (status: number) => boolean {
  const ranges = rangesOf(text) ?? [];
  return (status) => ranges.some(([from, to]) => status >= from && status <= to);
}

function rangesOf(text: string): [number, number][] | undefined {
  const ranges: [number, number][] = [];
  for (const part of text.split(',')) {
    const [, from = '', to = from] = /^(\d{3})(?:-(\d{3}))?$/.exec(part) ?? [];
    const range: [number, number] = [Number(from), Number(to)];
    if (from === '' || range[0] < 200 || range[1] > 599 || range[0] > range[1]) {
      return undefined;
    }
    ranges.push(range);
  }
  return ranges;
}
