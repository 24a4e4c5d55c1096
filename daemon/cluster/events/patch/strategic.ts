import { mergeFields } from '../../../base/json/merge-patch.ts';
import { badRequest } from '../problems.ts';

type Fields = Readonly<Record<string, unknown>>;

/** Lists of an event's metadata that are merged: by this field of their items, or as a set. */
const MERGED: Readonly<Record<string, string | undefined>> = {
  finalizers: undefined,
  ownerReferences: 'uid',
};

/**
 * Kubernetes: strategic merge patch. As a merge patch, but for the two lists of metadata whose items are merged, and
 * for directives. Pure. Throws invalid_argument for a directive that events have no use for.
 */
export function strategicMerge(target: Fields, patch: Fields): Fields {
  const { metadata, ...rest } = patch;
  const merged = mergeDirected(target, rest);
  if (!isFields(metadata)) {
    return metadata === undefined ? merged : { ...merged, metadata };
  }
  const known = isFields(target['metadata']) ? target['metadata'] : {};
  return { ...merged, metadata: mergeMetadata(known, metadata) };
}

function mergeMetadata(known: Fields, patch: Fields): Fields {
  const lists: Record<string, unknown> = {};
  const rest: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(patch)) {
    const removed = /^\$deleteFromPrimitiveList\/(.+)$/.exec(name)?.[1];
    if (removed !== undefined) {
      lists[removed] = listOf(lists[removed] ?? known[removed]).filter(
        (item) => !listOf(value).includes(item),
      );
    } else if (name in MERGED && Array.isArray(value)) {
      lists[name] = mergeList(listOf(lists[name] ?? known[name]), value, MERGED[name]);
    } else if (!name.startsWith('$setElementOrder/')) {
      rest[name] = value;
    }
  }
  return { ...mergeDirected(known, rest), ...lists };
}

function mergeList(known: readonly unknown[], patch: readonly unknown[], key: string | undefined): unknown[] {
  if (key === undefined) {
    return [...new Set([...known, ...patch])];
  }
  const items = new Map(known.map((item) => [keyOf(item, key), item]));
  for (const item of patch) {
    const fields = isFields(item) ? item : {};
    const { $patch, ...rest } = fields;
    const name = keyOf(item, key);
    if ($patch === 'delete') {
      items.delete(name);
    } else {
      const before = items.get(name);
      items.set(name, isFields(before) ? mergeFields(before, rest) : rest);
    }
  }
  return [...items.values()];
}

function mergeDirected(target: Fields, patch: Fields): Fields {
  const merged: Record<string, unknown> = { ...target };
  const { $patch, ...fields } = patch;
  if ($patch === 'replace') {
    return fields;
  }
  if ($patch !== undefined) {
    throw badRequest(`unsupported directive of a strategic merge patch: $patch: ${JSON.stringify($patch)}`);
  }
  for (const [name, value] of Object.entries(fields)) {
    if (name.startsWith('$') && name !== '$retainKeys') {
      throw badRequest(`unsupported directive of a strategic merge patch: ${name}`);
    }
    const before = merged[name];
    if (name === '$retainKeys') {
      continue;
    }
    if (value === null || (isFields(value) && value['$patch'] === 'delete')) {
      delete merged[name];
    } else {
      merged[name] = isFields(value) ? mergeDirected(isFields(before) ? before : {}, value) : value;
    }
  }
  return merged;
}

function keyOf(item: unknown, key: string): unknown {
  return isFields(item) ? item[key] : undefined;
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
