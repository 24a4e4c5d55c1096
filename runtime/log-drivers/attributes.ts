import { RE2JS } from 're2js';
import { errorText, invalidArgument } from '../../daemon/base/errors.ts';
import type { LogOptions } from './common-options.ts';
import { renderTag } from './tag.ts';
import type { LoggedContainer } from './logged-container.ts';

/** Options of drivers that send or show attributes of the container. */
export const ATTRIBUTE_OPTIONS = ['labels', 'labels-regex', 'env', 'env-regex'] as const;

/**
 * Labels and variables of the container that its log options ask for, by name. Expressions are RE2, as in dockerd: they
 * take linear time whatever a client writes. Throws invalid_argument for a wrong one. Pure.
 */
export function extraAttributes(
  container: Pick<LoggedContainer, 'labels' | 'env'>,
  options: LogOptions,
): Record<string, string> {
  const variables = Object.fromEntries(
    container.env.flatMap((pair) => {
      const at = pair.indexOf('=');
      return at < 0 ? [] : [[pair.slice(0, at), pair.slice(at + 1)]];
    }),
  );
  return {
    ...chosen(container.labels, options['labels'], options['labels-regex']),
    ...chosen(variables, options['env'], options['env-regex']),
  };
}

function chosen(
  from: Readonly<Record<string, string>>,
  names: string | undefined,
  pattern: string | undefined,
): Record<string, string> {
  const listed = new Set((names ?? '').split(','));
  const expression = pattern === undefined || pattern === '' ? undefined : compileExpression(pattern);
  return Object.fromEntries(
    Object.entries(from).filter(([name]) => listed.has(name) || expression?.(name) === true),
  );
}

/** A predicate: whether a text contains a match of this RE2 expression. Throws invalid_argument. */
export function compileExpression(pattern: string): (text: string) => boolean {
  try {
    const compiled = RE2JS.compile(pattern);
    return (text) => compiled.matcher(text).find();
  } catch (error) {
    throw invalidArgument(`error parsing regexp: ${errorText(error)}`);
  }
}

/** Attributes of a line in a log file: those asked for, and the tag if one was. */
export function fileAttributes(container: LoggedContainer, options: LogOptions): Record<string, string> {
  const tag = options['tag'] ? renderTag(options['tag'], container) : '';
  return { ...extraAttributes(container, options), ...(tag !== '' && { tag }) };
}
