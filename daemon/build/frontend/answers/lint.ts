import type { EngineError } from '../../../base/errors.ts';
import type { Lines } from '../../../base/dockerfile/instruction.ts';
import type { LintWarning } from '../lint/linter.ts';
import { answer, base64, rangesOf, type Answer, type Source } from './answer.ts';
import { excerpt } from './excerpt.ts';

/** `--call=check`: all that rules do not like, and the error that the build would end with. Pure. */
export function lintAnswer(source: Source, warnings: readonly LintWarning[], error?: EngineError): Answer {
  const { filename, text } = source;
  const place = error === undefined ? undefined : linesOf(error);
  const value = {
    warnings: warnings.map(({ rule, detail, lines }) => ({
      ruleName: rule.name,
      description: rule.description,
      ...(rule.url !== '' && { url: rule.url }),
      detail,
      location: { ranges: rangesOf(lines) },
    })),
    sources: [{ filename, data: base64(text), language: 'Dockerfile' }],
    ...(error !== undefined && {
      buildError: {
        message: error.message,
        location: place === undefined ? {} : { ranges: rangesOf(place) },
      },
    }),
  };
  const shown = warnings
    .toSorted((a, b) => a.lines.from - b.lines.from)
    .map(({ rule, detail, lines }) => {
      const page = rule.url === '' ? '' : ` - ${rule.url}`;
      return `\nWARNING: ${rule.name}${page}\n${detail}\n${excerpt(source, lines)}`;
    });
  const isClean = warnings.length === 0 && error === undefined;
  return answer(value, shown.join(''), { 'result.statuscode': isClean ? '0' : '1' });
}

function linesOf({ details }: EngineError): Lines | undefined {
  const { line, endLine = line } = details;
  return typeof line === 'number' && typeof endLine === 'number' ? { from: line, to: endLine } : undefined;
}
