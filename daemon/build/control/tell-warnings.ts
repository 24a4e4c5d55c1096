import type { LintWarning } from '../frontend/lint/linter.ts';
import type { Definition } from './definition.ts';
import type { Vertices } from './vertices.ts';

/** What was told of a Dockerfile: one that is read for several platforms tells it once. */
const told = new WeakMap<Definition, Set<string>>();

/** Tells a client what rules do not like, at the step that got its Dockerfile. In the words of BuildKit's clients. */
export function tellWarnings(
  { log }: Pick<Vertices, 'log'>,
  definition: Definition,
  warnings: readonly LintWarning[],
): void {
  const { name, text, vertex } = definition;
  const source = { filename: name, data: text };
  const before = told.get(definition) ?? new Set();
  const all = warnings.map(({ rule, detail, lines }) => ({
    vertex,
    short: `${rule.name}: ${detail} (line ${lines.from})`,
    detail: rule.description,
    url: rule.url,
    source,
    lines: [lines],
  }));
  const fresh = all.filter(({ short }) => !before.has(short));
  told.set(definition, new Set([...before, ...all.map(({ short }) => short)]));
  if (fresh.length > 0) {
    log.add({ warnings: fresh });
  }
}

/** Tells a client of what is no failure of its build. */
export function tellWarning(
  { log }: Vertices,
  { name, text, vertex }: Definition,
  { short, detail }: { short: string; detail: string },
): void {
  const source = { filename: name, data: text };
  log.add({ warnings: [{ vertex, short, detail, url: '', source, lines: [{ from: 1, to: 1 }] }] });
}
