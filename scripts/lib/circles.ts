import path from 'node:path';
import { importsOf } from './layers.ts';
import type { Finding, Source } from './sources.ts';

/** What a file imports of ours, and where: file -> offset of the import. */
type Edges = ReadonlyMap<string, number>;

/**
 * Files that import each other, directly or through others, types included: none of them can be read, moved or tested
 * without all of them. Answers one finding per circle, at the import by which its first file enters it; the message
 * names all its files. Circles that share a file are one finding.
 */
export function checkCircles(sources: readonly Source[]): Finding[] {
  const byFile = new Map(sources.map((source) => [source.file, source]));
  const graph = new Map(
    sources.map((source): [string, Edges] => [source.file, edgesOf(source, (file) => byFile.has(file))]),
  );
  return circlesOf(graph).flatMap((circle) => {
    const [first = ''] = circle;
    const source = byFile.get(first);
    const start = [...(graph.get(first) ?? [])].find(([target]) => circle.includes(target))?.[1];
    return source === undefined || start === undefined
      ? []
      : [
          {
            file: first,
            line: source.lineOf(start),
            message:
              `a circle of ${circle.length} files that import each other (types count): ${circle.join(', ')}. ` +
              'Put what they share into a file below them',
          },
        ];
  });
}

function edgesOf(source: Source, isKnown: (file: string) => boolean): Edges {
  const edges = new Map<string, number>();
  for (const { specifier, start } of importsOf(source)) {
    const target = path.posix.join(path.posix.dirname(source.file), specifier);
    if (specifier.startsWith('.') && target !== source.file && isKnown(target) && !edges.has(target)) {
      edges.set(target, start);
    }
  }
  return edges;
}

/** Strongly connected components of more than one file (Tarjan), each sorted by name. */
function circlesOf(graph: ReadonlyMap<string, Edges>): string[][] {
  const circles: string[][] = [];
  /** In the order of the first visit. */
  const number = new Map<string, number>();
  const open: string[] = [];
  /** Answers the lowest number that the file reaches within its component. */
  const visit = (file: string): number => {
    const own = number.size;
    number.set(file, own);
    open.push(file);
    let low = own;
    for (const target of graph.get(file)?.keys() ?? []) {
      if (!number.has(target)) {
        low = Math.min(low, visit(target));
      } else if (open.includes(target)) {
        low = Math.min(low, number.get(target) ?? low);
      }
    }
    if (low === own) {
      const component = open.splice(open.indexOf(file));
      if (component.length > 1) {
        circles.push(component.toSorted());
      }
    }
    return low;
  };
  for (const file of graph.keys()) {
    if (!number.has(file)) {
      visit(file);
    }
  }
  return circles;
}
