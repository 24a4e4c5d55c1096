import type { BuildCollectRule } from '../../../api/types/build/ports.ts';
import type { Filters } from '../../../api/types/requests.ts';
import { invalidArgument } from '../../base/errors.ts';
import { boundsOf, defaultRules, type CollectRule, type DiskNumbers } from './collect.ts';
import { pruningOf, recordTest } from './filters.ts';

/** Bytes, as dockerd's `builder.gc` has them; 0 = not said. */
export interface PolicyBounds {
  reservedBytes: number;
  usedBytesMax: number;
  freeBytesMin: number;
}

export interface PolicyRule extends PolicyBounds {
  isAll: boolean;
  /** `unused-for=48h`, `type=regular`. */
  filters: readonly string[];
}

/** What of results of builds goes by itself (https://docs.docker.com/build/cache/garbage-collection/). */
export interface CollectPolicy {
  isEnabled: boolean;
  /** Of the default rules. */
  defaults: PolicyBounds;
  /** In place of the default rules; undefined = these. */
  rules: readonly PolicyRule[] | undefined;
}

/** Rules for a disk as it is now; undefined where nothing goes by itself. Throws invalid_argument. Pure. */
export function policyRules(
  { isEnabled, defaults, rules }: CollectPolicy,
  { disk, nowNano }: { disk: DiskNumbers; nowNano: bigint },
): CollectRule[] | undefined {
  if (!isEnabled) {
    return undefined;
  }
  return rules === undefined ? defaultRules(disk, defaults) : rules.map((rule) => ruleOf(rule, nowNano));
}

/** Rules as clients are shown them. Pure. */
export function shownRules(rules: readonly CollectRule[]): BuildCollectRule[] {
  return rules.map(({ types, filters = [], takesInternal, usedBytesMax = 0, ...rule }) => ({
    isAll: takesInternal,
    filters: types === undefined ? filters : [types.map((type) => `type==${type}`).join(',')],
    unusedMs: rule.unusedMs,
    reservedBytes: rule.reservedBytes,
    usedBytesMax,
    freeBytesMin: rule.freeBytesMin,
  }));
}

/** Why a policy cannot be followed; undefined = it can. */
export function policyProblem({ rules = [] }: CollectPolicy): string | undefined {
  try {
    for (const rule of rules) {
      recordTest(ruleOf(rule, 0n).filters ?? []);
    }
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function ruleOf({ isAll, filters, ...bounds }: PolicyRule, nowNano: bigint): CollectRule {
  return { ...boundsOf(bounds), takesInternal: isAll, ...pruningOf(filtersOf(filters), nowNano) };
}

/** Values by names: several of one name mean one of them. */
function filtersOf(texts: readonly string[]): Filters {
  const all = new Map<string, string[]>();
  for (const text of texts) {
    const [, name = '', value = ''] = /^([^=]+)={1,2}(.*)$/s.exec(text) ?? [];
    if (name === '') {
      throw invalidArgument(`filter ${JSON.stringify(text)} must be NAME=VALUE`);
    }
    all.set(name, [...(all.get(name) ?? []), value]);
  }
  return all;
}
