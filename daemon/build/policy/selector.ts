import type { SourceConstraint, SourceSelector } from '../../../api/types/build/source-policy.ts';
import { invalidArgument, unreachable } from '../../base/errors.ts';
import { compileExpression, expand, replaceAll } from './expression.ts';
import type { NamedSource } from './named-source.ts';

/** A selector that is ready to be asked. */
export interface Selector {
  matches: (source: NamedSource) => boolean;
  /** What a template becomes by what was found of an identifier: `${1}` is the text of the first asterisk. */
  format: (identifier: string, template: string) => string;
}

/** Throws invalid_argument for what is no pattern. */
export function compileSelector({ identifier, match, constraints }: SourceSelector): Selector {
  const conditions = constraints.map((constraint) => conditionOf(constraint));
  const name = byName(identifier, match);
  return {
    matches: (source) =>
      conditions.every((isMet) => isMet(source.attrs)) &&
      (source.identifier === identifier || name.matches(source.identifier)),
    format: name.format,
  };
}

interface Name {
  matches: (identifier: string) => boolean;
  format: (identifier: string, template: string) => string;
}

function byName(pattern: string, match: SourceSelector['match']): Name {
  switch (match) {
    case 'exact':
      return { matches: (identifier) => identifier === pattern, format: (_identifier, template) => template };
    case 'regex': {
      const expression = compileExpression(pattern, `source policy: selector ${JSON.stringify(pattern)}`);
      return {
        matches: (identifier) => expression.matcher(identifier).find(),
        format: (identifier, template) => replaceAll(expression, identifier, template),
      };
    }
    case 'wildcard': {
      const what = `source policy: selector ${JSON.stringify(pattern)}`;
      if (pattern.includes('**')) {
        throw invalidArgument(`${what}: invalid wildcard: "**"`);
      }
      const expression = compileExpression(wildcardExpression(pattern), what);
      return {
        matches: (identifier) => expression.matcher(identifier).find(),
        format: (identifier, template) => {
          const found = expression.matcher(identifier);
          return found.find() ? expand(template, found) : identifier;
        },
      };
    }
    default:
      return unreachable(match);
  }
}

/** An asterisk is any text, but for line breaks. */
function wildcardExpression(pattern: string): string {
  const parts = pattern.split('*').map((part) => part.replaceAll(/[\\.+*?()|[\]{}^$]/g, String.raw`\$&`));
  return `^${parts.join('(.*)')}$`;
}

function conditionOf({ key, value, condition }: SourceConstraint): (attrs: NamedSource['attrs']) => boolean {
  const of = (attrs: NamedSource['attrs']): string => attrs.get(key) ?? '';
  switch (condition) {
    case 'equal':
      return (attrs) => of(attrs) === value;
    case 'notequal':
      return (attrs) => of(attrs) !== value;
    case 'matches': {
      const what = `source policy: attribute ${key} ${JSON.stringify(value)}`;
      const expression = compileExpression(value, what);
      return (attrs) => expression.matcher(of(attrs)).find();
    }
    default:
      return unreachable(condition);
  }
}
