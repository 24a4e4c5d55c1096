import type { Lines } from '../../../base/dockerfile/instruction.ts';
import type { Source } from './answer.ts';

const RULE = '--------------------';

/** Lines of a Dockerfile with some around them; those that are meant begin with `>>>`. As BuildKit prints it. Pure. */
export function excerpt({ filename, text }: Source, lines: Lines): string {
  const all = text.split('\n');
  if (lines.from < 1 || lines.from > all.length) {
    return '';
  }
  let from = lines.from;
  let to = Math.min(lines.to, all.length);
  const around = from === to ? 4 : 2;
  for (let added = 0; added < around; added += 1) {
    if (from > 1) {
      from -= 1;
      added += 1;
    }
    if (to !== all.length) {
      to += 1;
      added += 1;
    }
  }
  const shown = all.slice(from - 1, to).map((line, at) => {
    const number = from + at;
    const mark = number >= lines.from && number <= lines.to ? '>>>' : '   ';
    return ` ${String(number).padStart(3)} | ${mark} ${line}`;
  });
  return [`${filename}:${lines.from}`, RULE, ...shown, RULE, ''].join('\n');
}
