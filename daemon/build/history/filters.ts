import type { HistoryRecord } from '../../../api/types/build/history.ts';
import { invalidArgument } from '../../base/errors.ts';
import { parseDuration } from '../../base/go/duration.ts';
import { parseMoment } from '../../base/go/moment.ts';
import { textMatcher } from '../../base/text-matcher.ts';
import { parseGitUrl } from '../frontend/sources/git-url.ts';

type Test = (record: HistoryRecord) => boolean;

/** `undefined` = the build has none of it. */
const TEXTS: Readonly<Record<string, (record: HistoryRecord) => string | undefined>> = {
  ref: ({ ref }) => ref,
  status: statusOf,
  repository: ({ attributes }) =>
    attributes['vcs:source'] ?? parseGitUrl(attributes['context'] ?? '')?.remote,
};
const NANOS_PER_SECOND = 1_000_000_000n;

/**
 * `status==error,ref~=ab` means both; of several one is enough, none means all. By the rules of `buildx history ls`:
 * `startedAt`, `completedAt` and `duration` are compared, the others are texts. Throws invalid_argument for what
 * records do not have. Pure.
 */
export function historyTest(filters: readonly string[], nowNano: bigint): Test {
  const tests = filters.map((filter) => {
    const all = fieldsOf(filter).map((condition) => conditionTest(condition, nowNano));
    return (record: HistoryRecord): boolean => all.every((test) => test(record));
  });
  return (record) => tests.length === 0 || tests.some((test) => test(record));
}

/** Of a line of CSV. */
function fieldsOf(line: string): string[] {
  const fields = [...line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g)].map(
    ([, quoted, plain = '']) => quoted?.replaceAll('""', '"') ?? plain,
  );
  return fields.filter((field) => field !== '');
}

function conditionTest(condition: string, nowNano: bigint): Test {
  const [, field = '', operator = '', value = ''] =
    /^([a-zA-Z]+)(>=|<=|>|<|==|!=|~=|=)(.*)$/s.exec(condition) ?? [];
  const text = Object.hasOwn(TEXTS, field) ? TEXTS[field] : undefined;
  if (text !== undefined && !/[<>]/.test(operator)) {
    return textTest(text, operator, unquoted(value));
  }
  const compare = COMPARE.get(operator);
  if (compare === undefined) {
    throw invalidArgument(`invalid filter ${JSON.stringify(condition)}`);
  }
  switch (field) {
    case 'startedAt': {
      const wanted = parseMoment(value, nowNano) / NANOS_PER_SECOND;
      return ({ createdNano }) => compare(createdNano / NANOS_PER_SECOND, wanted);
    }
    case 'completedAt': {
      const wanted = parseMoment(value, nowNano) / NANOS_PER_SECOND;
      return ({ completedNano = 0n }) => compare(completedNano / NANOS_PER_SECOND, wanted);
    }
    case 'duration': {
      const wanted = parseDuration(value);
      if (wanted === undefined) {
        throw invalidArgument(`invalid duration ${value}`);
      }
      return ({ createdNano, completedNano = createdNano }) => compare(completedNano - createdNano, wanted);
    }
    default:
      throw invalidArgument(`invalid filter ${JSON.stringify(condition)}`);
  }
}

const COMPARE = new Map<string, (a: bigint, b: bigint) => boolean>([
  ['>=', (a, b) => a >= b],
  ['<=', (a, b) => a <= b],
  ['>', (a, b) => a > b],
  ['<', (a, b) => a < b],
]);

function textTest(
  text: (record: HistoryRecord) => string | undefined,
  operator: string,
  value: string,
): Test {
  if (operator === '!=') {
    return (record) => text(record) !== value;
  }
  if (operator === '~=') {
    const matches = textMatcher(value);
    return (record) => {
      const found = text(record);
      return found !== undefined && matches(found);
    };
  }
  return (record) => text(record) === value;
}

function unquoted(value: string): string {
  return /^"(.*)"$/s.exec(value)?.[1] ?? value;
}

function statusOf({ completedNano, error }: HistoryRecord): string {
  if (completedNano === undefined) {
    return 'running';
  }
  if (error === undefined) {
    return 'completed';
  }
  return error.code === CANCELED || error.message.includes('context canceled') ? 'canceled' : 'error';
}

/** Of gRPC. */
const CANCELED = 1;
