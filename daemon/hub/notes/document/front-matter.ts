import { parseDocument, stringify, type Document, type YAMLError } from 'yaml';
import type { InvalidField } from '../../../base/invalid-fields.ts';
import { limits } from '../../../base/limits.ts';

/** What stands between the fences, as a value of JSON; or what is wrong with it. */
export type ReadFrontMatter =
  | { value: unknown; problems?: undefined }
  | { problems: readonly InvalidField[] };

/**
 * Reads YAML 1.2 with its core schema: a date stays the text that it is. Keys stand once, tags of other schemas and
 * documents behind the first are refused, and aliases are bounded, because a few of them can stand for gigabytes. Pure.
 */
export function readFrontMatter(yaml: string): ReadFrontMatter {
  if (Buffer.byteLength(yaml) > limits.hubNoteFrontMatterBytesMax) {
    return wrong(`must be at most ${limits.hubNoteFrontMatterBytesMax} bytes`);
  }
  if (isTooDeep(yaml)) {
    return wrong(`is nested deeper than ${limits.hubNoteDepthMax} levels`);
  }
  const document = parseDocument(yaml, {
    version: '1.2',
    schema: 'core',
    uniqueKeys: true,
    stringKeys: true,
    merge: false,
    resolveKnownTags: false,
  });
  const problems = [...document.errors, ...document.warnings];
  if (problems.length > 0) {
    return {
      problems: problems.slice(0, limits.hubNoteProblemsMax).map((problem) => describe(problem, yaml)),
    };
  }
  return plain(document);
}

/** As JSON would have it: a tree in which nothing stands twice. */
function plain(document: Document.Parsed): ReadFrontMatter {
  try {
    const value: unknown = document.toJS({ maxAliasCount: limits.hubNoteAliasesMax });
    // Of nothing at all YAML makes null, which is no metadata.
    return { value: JSON.parse(JSON.stringify(value ?? null)) };
  } catch (error) {
    if (error instanceof ReferenceError) {
      const [message = ''] = error.message.split('\n');
      return wrong(`aliases: ${message} (at most ${limits.hubNoteAliasesMax} are taken)`);
    }
    if (error instanceof TypeError) {
      return wrong('aliases: one stands within what it stands for');
    }
    throw error;
  }
}

/** Metadata as front matter, without its fences; of none `{}`, as nothing is not right. */
export function writeFrontMatter(metadata: object): string {
  return stringify(metadata, { lineWidth: 0, aliasDuplicateObjects: false });
}

/** Whether brackets or indentation could nest too deep. It counts those in quotes too, of which a note has few. */
function isTooDeep(yaml: string): boolean {
  let depth = 0;
  for (const character of yaml) {
    depth += character === '[' || character === '{' ? 1 : character === ']' || character === '}' ? -1 : 0;
    if (depth > limits.hubNoteDepthMax) {
      return true;
    }
  }
  return yaml.split('\n').some((line) => {
    const [lead = ''] = /^(?: |[-?:] )*/.exec(line) ?? [];
    return lead.length > 2 * limits.hubNoteDepthMax;
  });
}

function describe(problem: YAMLError, yaml: string): InvalidField {
  const [at] = problem.linePos ?? [];
  const line = at?.line ?? 1;
  const [message = ''] = problem.message.split('\n');
  // The second line of the document is the first of its front matter.
  const text = message.replace(/ at line \d+, column \d+:?$/, '');
  return {
    resource: 'Note',
    field: 'front-matter',
    code: 'invalid',
    message: `line ${line + 1}: ${text}`,
    value: yaml.split('\n')[line - 1]?.slice(0, limits.hubNoteShownMax) ?? '',
  };
}

function wrong(message: string): ReadFrontMatter {
  return { problems: [{ resource: 'Note', field: 'front-matter', code: 'invalid', message }] };
}
