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

/** Tells a client that the caches it names (`--cache-from`) are not looked into. */
export function tellUnusedCaches({ log }: Vertices, { name, text, vertex }: Definition): void {
  log.add({
    warnings: [
      {
        vertex,
        short: 'caches are not imported yet: --cache-from has no effect',
        detail: 'Only the cache of this engine is used.',
        url: '',
        source: { filename: name, data: text },
        lines: { from: 1, to: 1 },
      },
    ],
  });
}
