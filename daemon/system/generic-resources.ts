import type { GenericResource } from '../../api/types/swarm/task.ts';
import { invalidArgument } from '../base/errors.ts';

/**
 * What a node has that only a name and a count, or a name and values, describe: `disk=4`, or `gpu=UUID1` once for each.
 * Throws invalid_argument with the words of swarmkit's api/genericresource/parse.go. Pure.
 */
export function parseGenericResources(terms: readonly string[]): GenericResource[] {
  const kinds = new Map<string, string[]>();
  for (const term of terms) {
    const [kind = '', value, ...rest] = term.split('=').map((part) => part.trim());
    if (kind === '' || value === undefined || rest.length > 0) {
      throw failure(`incorrect term ${term}, missing '=' or malformed expression`);
    }
    kinds.set(kind, [...(kinds.get(kind) ?? []), value]);
  }
  return [...kinds].flatMap(([kind, values]) => ofKind(kind, values));
}

function ofKind(Kind: string, values: readonly string[]): GenericResource[] {
  const [first = ''] = values;
  if (values.length === 1 && isCount(first)) {
    const Value = Number(first);
    if (Value < 0) {
      throw failure(`cannot ask for negative resource ${Kind}`);
    }
    return [{ DiscreteResourceSpec: { Kind, Value } }];
  }
  if (values.some((value) => isCount(value))) {
    throw failure(`mixed discrete and named resources in expression '${Kind}=[${values.join(' ')}]'`);
  }
  return [...new Set(values)].map((Value) => ({ NamedResourceSpec: { Kind, Value } }));
}

function isCount(text: string): boolean {
  return /^[+-]?\d+$/.test(text) && Number.isSafeInteger(Number(text));
}

function failure(why: string): Error {
  return invalidArgument(`could not parse GenericResource: ${why}`);
}
