import type { ValueOf } from '../../../daemon/base/wire/protobuf.ts';
import { invalidArgument } from '../../../daemon/base/errors.ts';
import type { BuildDefinition } from '../../types/build/definition.ts';
import type { ResultRef } from '../../types/build/ports.ts';
import type { definition as message } from '../proto/common.ts';

type DefinitionMessage = ValueOf<typeof message>;

/**
 * Graphs of a client, by the names of what they are inputs of. Throws invalid_argument for one that is missing, of
 * which Go's encoding makes an empty message.
 */
export function inputsOf(
  sent: ReadonlyMap<string, DefinitionMessage | undefined>,
): Map<string, BuildDefinition> {
  return new Map(
    [...sent].map(([name, each]) => {
      const { definition } = definitionOf(each);
      if (definition === undefined || (definition.operations.length === 0 && definition.notes.size === 0)) {
        // In the words of BuildKit, which its clients know.
        throw invalidArgument(`frontend input ${name}: invalid nil input definition to definition op`);
      }
      return [name, definition];
    }),
  );
}

/** A result as a graph. Clients take one that says nothing of its operations for none. */
export function sentDefinition(made: ResultRef['definition']): DefinitionMessage | undefined {
  return (
    made && { def: [...made.operations], metadata: new Map([[made.digest, NO_NOTES]]), source: NO_SOURCE }
  );
}

/** A graph that goes back to the client that sent it. */
export function messageOf({ operations, notes, files, places }: BuildDefinition): DefinitionMessage {
  const metadata = [...notes].map(([digest, { isFresh, description, capabilities }]) => {
    const caps = new Map(capabilities.map((name) => [name, true]));
    return [digest, { ignoreCache: isFresh, description: new Map(description), caps }] as const;
  });
  const locations = [...places].map(([digest, all]) => {
    const found = all.map(({ file, from, to }) => ({
      sourceIndex: file,
      ranges: [{ start: { line: from }, end: { line: to } }],
    }));
    return [digest, { locations: found }] as const;
  });
  const infos = files.map(({ name, data }) => ({ filename: name, data: Buffer.from(data) }));
  return {
    def: [...operations],
    metadata: new Map(metadata),
    source: { locations: new Map(locations), infos },
  };
}

const NO_SOURCE = { locations: new Map<string, never>(), infos: [] };
const NO_NOTES = {
  ignoreCache: false,
  description: new Map<string, string>(),
  caps: new Map<string, boolean>(),
};

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
