import type { LintWarning } from '../frontend/lint/linter.ts';
import type { Definition } from './definition.ts';
import type { Vertices } from './vertices.ts';

/** Tells a client what rules do not like, at the step that got its Dockerfile. In the words of BuildKit's clients. */
export function tellWarnings(
  { log }: Vertices,
  { name, text, vertex }: Definition,
  warnings: readonly LintWarning[],
): void {
  if (warnings.length === 0) {
    return;
  }
  const source = { filename: name, data: text };
  log.add({
    warnings: warnings.map(({ rule, detail, lines }) => ({
      vertex,
      short: `${rule.name}: ${detail} (line ${lines.from})`,
      detail: rule.description,
      url: rule.url,
      source,
      lines,
    })),
  });
}

/** Tells a client of what is no failure of its build. */
export function tellWarning(
  { log }: Vertices,
  { name, text, vertex }: Definition,
  { short, detail }: { short: string; detail: string },
): void {
  const source = { filename: name, data: text };
  log.add({ warnings: [{ vertex, short, detail, url: '', source, lines: { from: 1, to: 1 } }] });
}
