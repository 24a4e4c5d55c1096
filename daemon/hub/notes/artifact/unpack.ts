import { isDeepStrictEqual } from 'node:util';
import type { InvalidField } from '../../../base/invalid-fields.ts';
import { limits } from '../../../base/limits.ts';
import type { Descriptor } from '../../occurrences/occurrence.ts';
import type { ParsedManifest } from '../../registry/manifests/parse.ts';
import { readDocument, splitDocument, type NoteDocument } from '../document/document.ts';
import { readFrontMatter } from '../document/front-matter.ts';
import { judgeMetadata } from '../schema/validate.ts';
import type { NoteMetadata } from '../schema/metadata.ts';
import { NOTE_TYPES } from './note.ts';

export type Unpacked<T> = (T & { problems?: undefined }) | { problems: readonly InvalidField[] };

/** The parts of a manifest of a note. Pure. */
export function partsOf({
  config,
  layers,
}: ParsedManifest): Unpacked<{ config: Descriptor; layer: Descriptor }> {
  const [layer, ...more] = layers;
  if (config === null || layer === undefined || more.length > 0) {
    return wrong('layers', 'must be one, of text/markdown, beside a config');
  }
  const problems = [
    ...(config.mediaType === NOTE_TYPES.metadata
      ? []
      : [problem('config.mediaType', `must be ${NOTE_TYPES.metadata}`, config.mediaType)]),
    ...(isMarkdown(layer.mediaType)
      ? []
      : [problem('layers.0.mediaType', `must be ${NOTE_TYPES.text}`, layer.mediaType)]),
    ...tooLarge('config', config, limits.hubNoteFrontMatterBytesMax),
    ...tooLarge('layers.0', layer, limits.hubNoteBytesMax),
  ];
  return problems.length > 0 ? { problems } : { config, layer };
}

/**
 * The note in a pushed configuration and layer. Metadata is what the configuration says; where the Markdown has front
 * matter, that must say the same. Pure.
 */
export function unpackNote(config: Uint8Array, layer: Uint8Array): Unpacked<{ document: NoteDocument }> {
  const metadata = readMetadata(config);
  if (metadata.problems !== undefined) {
    return metadata;
  }
  const markdown = textOf(layer);
  if (markdown === undefined) {
    return wrong('markdown', 'must be UTF-8');
  }
  const read = readDocument(markdown);
  if (read.problems !== undefined) {
    return read;
  }
  const hasFrontMatter = splitDocument(markdown)?.frontMatter !== undefined;
  return hasFrontMatter && !isDeepStrictEqual(read.document.metadata, metadata.metadata)
    ? wrong('front-matter', 'must say what the config of the manifest says')
    : { document: { ...read.document, metadata: metadata.metadata } };
}

function readMetadata(config: Uint8Array): Unpacked<{ metadata: NoteMetadata }> {
  const text = textOf(config);
  if (text === undefined) {
    return wrong('config', 'must be UTF-8');
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return wrong('config', 'must be JSON');
  }
  const judged = judgeMetadata(value);
  // JSON.parse takes the last of two fields of a name, other readers the first. JSON is YAML but for tabs.
  const read = readFrontMatter(text.replaceAll('\t', ' '));
  return judged.problems === undefined && read.problems !== undefined
    ? wrong('config', `must have each field once: ${read.problems[0]?.message ?? ''}`)
    : judged;
}

/** Undefined = it is no UTF-8. */
function textOf(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

function isMarkdown(mediaType: string): boolean {
  return mediaType.split(';')[0]?.trim().toLowerCase() === NOTE_TYPES.text;
}

function tooLarge(field: string, { size }: Descriptor, max: number): InvalidField[] {
  return size <= max ? [] : [problem(`${field}.size`, `must be at most ${max}`, size)];
}

function problem(field: string, message: string, value?: unknown): InvalidField {
  return { resource: 'Note', field, code: 'invalid', message, ...(value !== undefined && { value }) };
}

function wrong(field: string, message: string): { problems: readonly InvalidField[] } {
  return { problems: [problem(field, message)] };
}
