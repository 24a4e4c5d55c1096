import type { ValueOf } from '../../../daemon/base/wire/protobuf.ts';
import type { BuildDefinition } from '../../types/build/definition.ts';
import type { definition as message } from '../proto/common.ts';

/** The graph that a client sent, if it sent one: an empty one is a graph, too. */
export function definitionOf(sent: ValueOf<typeof message> | undefined): { definition?: BuildDefinition } {
  if (sent === undefined) {
    return {};
  }
  const { def, metadata, source } = sent;
  const notes = [...metadata].map(([digest, { ignoreCache, description, caps }]) => {
    const capabilities = [...caps].filter(([, isNeeded]) => isNeeded).map(([name]) => name);
    return [digest, { isFresh: ignoreCache, description, capabilities }] as const;
  });
  const places = [...source.locations].map(([digest, { locations }]) => {
    const all = locations.flatMap(({ sourceIndex, ranges }) => {
      const lines = ranges.flatMap(({ start, end }) => [start.line, end.line]);
      return lines.length === 0
        ? []
        : [{ file: sourceIndex, from: Math.min(...lines), to: Math.max(...lines) }];
    });
    return [digest, all] as const;
  });
  return {
    definition: {
      operations: def,
      notes: new Map(notes),
      files: source.infos.map(({ filename, data }) => ({ name: filename, data: data.toString('utf8') })),
      places: new Map(places),
    },
  };
}
