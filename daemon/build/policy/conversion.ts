import type { SourcePolicy, SourceRule } from '../../../api/types/build/source-policy.ts';
import { EngineError, invalidArgument } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { fullIdentifier } from './name-source.ts';
import { asTheyAre, type NamedSource, type SourceConversion } from './named-source.ts';
import { compileSelector, type Selector } from './selector.ts';

interface Rule extends Pick<SourceRule, 'action' | 'updates'> {
  selector: Selector;
  /** Of the selector. */
  identifier: string;
}

/**
 * What policies make of sources. Of those rules that allow and deny the last that fits counts, in each policy by
 * itself; the first conversion that changes something begins anew with what came of it, until nothing changes. Throws
 * invalid_argument for a policy that is none; what it answers throws forbidden, in BuildKit's words, and
 * invalid_argument for a conversion without an end.
 */
export function conversionBy(policies: readonly SourcePolicy[]): SourceConversion {
  const count = policies.reduce((sum, { rules }) => sum + rules.length, 0);
  if (count === 0) {
    return asTheyAre;
  }
  if (count > limits.sourceRulesMax) {
    throw invalidArgument(`source policy: more than ${limits.sourceRulesMax} rules`);
  }
  const compiled = policies.map(({ rules }) => rules.map((rule) => compile(rule)));
  return (asked) => {
    let source: NamedSource = { ...asked, identifier: fullIdentifier(asked.identifier) };
    let isConverted = false;
    for (let turn = 0; turn <= limits.sourceConversionsMax; turn += 1) {
      const converted = judged(compiled, source);
      if (converted === undefined) {
        return isConverted ? source : asked;
      }
      source = converted;
      isConverted = true;
    }
    throw invalidArgument('too many mutations on a single source: too many operations');
  };
}

function compile({ action, selector, updates }: SourceRule): Rule {
  return {
    action,
    ...(updates && { updates }),
    selector: compileSelector(selector),
    identifier: selector.identifier,
  };
}

/** What it becomes; undefined = it stays, and is allowed. */
function judged(policies: readonly (readonly Rule[])[], source: NamedSource): NamedSource | undefined {
  for (const rules of policies) {
    let isDenied = false;
    for (const rule of rules.filter(({ selector }) => selector.matches(source))) {
      const converted = rule.action === 'convert' ? convertedBy(rule, source) : undefined;
      if (converted !== undefined) {
        return converted;
      }
      isDenied = rule.action === 'convert' ? isDenied : rule.action === 'deny';
    }
    if (isDenied) {
      const name = JSON.stringify(source.identifier);
      throw new EngineError('forbidden', `source ${name} denied by policy: source denied by policy`);
    }
  }
  return undefined;
}

/** Undefined: it is so already. */
function convertedBy(
  { updates, selector, identifier: own }: Rule,
  source: NamedSource,
): NamedSource | undefined {
  if (updates === undefined) {
    throw invalidArgument('error mutating source policy: missing destination for convert rule');
  }
  const identifier = selector.format(source.identifier, updates.identifier || own) || source.identifier;
  if (identifier.length > limits.sourceNameLengthMax) {
    throw invalidArgument(
      `source policy: an identifier of more than ${limits.sourceNameLengthMax} characters`,
    );
  }
  const isSame =
    identifier === source.identifier &&
    [...updates.attrs].every(([name, value]) => (source.attrs.get(name) ?? '') === value);
  return isSame ? undefined : { ...source, identifier, attrs: new Map([...source.attrs, ...updates.attrs]) };
}
