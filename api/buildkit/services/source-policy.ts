import { invalidArgument } from '../../../daemon/base/errors.ts';
import type { SourcePolicy } from '../../types/build/source-policy.ts';
import type { SourcePolicyMessage } from '../proto/source-policy.ts';

/** By their numbers (sourcepolicy/pb/policy.proto). */
const ACTIONS = ['allow', 'deny', 'convert'] as const;
const MATCHES = ['wildcard', 'exact', 'regex'] as const;
const CONDITIONS = ['equal', 'notequal', 'matches'] as const;

/** Throws invalid_argument, by the field, for what no rule can be. Pure. */
export function policyOf({ rules }: SourcePolicyMessage): SourcePolicy {
  return {
    rules: rules.map(({ action, selector, updates }) => {
      if (selector === undefined) {
        throw invalidArgument('source policy: a rule without its selector');
      }
      const { identifier, matchType, constraints } = selector;
      return {
        action: named('action', ACTIONS, action),
        selector: {
          identifier,
          match: named('match_type', MATCHES, matchType),
          constraints: constraints.map(({ key, value, condition }) => ({
            key,
            value,
            condition: named('condition', CONDITIONS, condition),
          })),
        },
        ...(updates && { updates }),
      };
    }),
  };
}

function named<T>(field: string, names: readonly T[], number: number): T {
  const name = names[number];
  if (name === undefined) {
    throw invalidArgument(`source policy: unknown ${field} ${number}`);
  }
  return name;
}
