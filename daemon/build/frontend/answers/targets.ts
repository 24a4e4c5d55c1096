import type { Dockerfile } from '../../../base/dockerfile/parse.ts';
import { Linter } from '../lint/linter.ts';
import { planStages } from '../stages/plan-stages.ts';
import { answer, base64, rangesOf, type Answer, type Source } from './answer.ts';
import { table } from './table.ts';

/** `--call=targets`: the stages that a Dockerfile has. Throws invalid_argument. Pure. */
export function targetsAnswer(source: Source, dockerfile: Dockerfile): Answer {
  const { stages } = planStages(dockerfile, new Linter({ skip: 'all', experimental: [], isError: false }));
  const targets = stages.map(({ name, description, base, platform, from }, at) => ({
    ...(name !== '' && { name }),
    ...(at === stages.length - 1 && { default: true }),
    ...(description !== '' && { description }),
    base,
    ...(platform !== '' && { platform }),
    location: { ranges: rangesOf(from.lines) },
  }));
  const rows = targets.map(({ name = '', default: isDefault, description = '' }) => {
    const mark = isDefault === true ? '(default)' : '';
    return [[name, mark].filter((word) => word !== '').join(' '), description];
  });
  return answer({ targets, sources: [base64(source.text)] }, table([['TARGET', 'DESCRIPTION'], ...rows], 1));
}
