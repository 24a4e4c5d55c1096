import { limits } from '../../../daemon/base/limits.ts';
import { refused } from './exchange.ts';

/**
 * One page of names that are in order: those behind `last`, `n` of them at most; and where the next one is. Throws
 * PAGINATION_NUMBER_INVALID. Pure.
 */
export function registryPage(
  all: readonly string[],
  query: URLSearchParams,
  path: string,
): { names: readonly string[]; link: string | undefined } {
  const [count, last] = [readCount(query.get('n')), query.get('last') ?? ''];
  const behind = last === '' ? all : all.filter((name) => name > last);
  const names = behind.slice(0, count);
  const next = names.at(-1);
  const isMore = names.length < behind.length && next !== undefined;
  return {
    names,
    link: isMore ? `<${path}?n=${count}&last=${encodeURIComponent(next)}>; rel="next"` : undefined,
  };
}

function readCount(text: string | null): number {
  if (text === null || text === '') {
    return limits.hubRegistryPageMax;
  }
  if (!/^\d{1,9}$/.test(text)) {
    throw refused('PAGINATION_NUMBER_INVALID', 'invalid number of results requested', {
      detail: { n: text.slice(0, 64) },
    });
  }
  return Math.min(Number(text), limits.hubRegistryPageMax);
}
