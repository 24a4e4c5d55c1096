import type { CachePruning } from '../../../api/types/build/ports.ts';
import type { Filters } from '../../../api/types/requests.ts';
import { invalidArgument } from '../../base/errors.ts';
import { parseUntil } from '../../base/go/moment.ts';
import type { UsageRecord } from '../ports.ts';

type Test = (record: UsageRecord) => boolean;

const TEXTS: Readonly<Record<string, (record: UsageRecord) => readonly string[]>> = {
  id: ({ id }) => [id],
  type: ({ type }) => [type],
  description: ({ description }) => [description],
  parent: ({ parents }) => parents,
  parents: ({ parents }) => parents,
};

const FLAGS: Readonly<Record<string, Test>> = {
  inuse: ({ inUse }) => inUse,
  shared: ({ isShared }) => isShared,
  private: ({ isShared }) => !isShared,
  mutable: ({ isMutable }) => isMutable,
  immutable: ({ isMutable }) => !isMutable,
};

/**
 * Filters as containerd's are: `type==regular,shared` means both; of several one is enough, none or an empty one means
 * all. Throws invalid_argument for a field that records do not have. Pure.
 */
export function recordTest(filters: readonly string[]): Test {
  const tests = filters.map((filter) => {
    const all = (filter === '' ? [] : filter.split(',')).map((condition) => conditionTest(condition.trim()));
    return (record: UsageRecord): boolean => all.every((test) => test(record));
  });
  return (record) => tests.length === 0 || tests.some((test) => test(record));
}

function conditionTest(condition: string): Test {
  const [, field = condition, operator = '', quoted = ''] =
    /^([a-z]+)(==|=|!=|~=)(.*)$/s.exec(condition) ?? [];
  const value = /^"(.*)"$/s.exec(quoted)?.[1] ?? quoted;
  const flag = Object.hasOwn(FLAGS, field) ? FLAGS[field] : undefined;
  const texts = Object.hasOwn(TEXTS, field) ? TEXTS[field] : undefined;
  if (flag !== undefined) {
    const wanted = operator === '' || (/^(?:1|t|true)$/i.test(value) ? operator !== '!=' : operator === '!=');
    return (record) => flag(record) === wanted;
  }
  if (texts === undefined || operator === '') {
    throw invalidArgument(`invalid filter ${JSON.stringify(condition)}`);
  }
  switch (operator) {
    case '!=':
      return (record) => !texts(record).includes(value);
    case '~=':
      // Ids are asked for by their beginnings; no expression of a client's is run.
      return (record) => texts(record).some((text) => text.includes(value));
    default:
      return (record) => texts(record).includes(value);
  }
}

const NANOS_PER_MS = 1_000_000n;

/** Filters of `POST /build/prune`: each a list of which one is enough. Throws invalid_argument. Pure. */
export function pruningOf(filters: Filters, nowNano: bigint): Pick<CachePruning, 'filters' | 'unusedMs'> {
  let unusedMs = 0;
  let all = [''];
  for (const [name, values] of filters) {
    if (name === 'until' || name === 'unused-for') {
      unusedMs = Number((nowNano - parseUntil(values, nowNano)) / NANOS_PER_MS);
      continue;
    }
    const conditions = values.map((value) => conditionOf(name, value));
    all = all.flatMap((before) => conditions.map((one) => (before === '' ? one : `${before},${one}`)));
  }
  return { unusedMs, filters: all.filter((filter) => filter !== '') };
}

function conditionOf(name: string, value: string): string {
  if (Object.hasOwn(FLAGS, name)) {
    return value === '' ? name : `${name}==${value}`;
  }
  if (!Object.hasOwn(TEXTS, name)) {
    throw invalidArgument(`invalid filter '${name}'`);
  }
  // As dockerd: ids by a part of them.
  return name === 'type' ? `${name}==${value}` : `${name}~=${value}`;
}
