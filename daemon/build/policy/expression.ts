import { RE2JS, type Matcher } from 're2js';
import { errorText, invalidArgument } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';

/** A name of a template: `$1`, `${name}`, `$$`; a dollar sign before anything else stays. */
const NAME = /\$(?:\$|(\w+)|\{(\w+)\})/g;

/** An expression of Go (RE2), which takes linear time. Throws invalid_argument with `what` where it is none. */
export function compileExpression(text: string, what: string): RE2JS {
  if (text.length > limits.sourceNameLengthMax) {
    throw invalidArgument(`${what}: longer than ${limits.sourceNameLengthMax} characters`);
  }
  try {
    return RE2JS.compile(text);
  } catch (error) {
    throw invalidArgument(`${what}: ${errorText(error)}`, { cause: error });
  }
}

/** The template with what groups of the match have, as Go's `Expand`; a group that there is not is empty. */
export function expand(template: string, found: Matcher): string {
  return template.replaceAll(NAME, (whole, plain: string | undefined, braced: string | undefined) => {
    const name = plain ?? braced;
    return name === undefined ? whole.slice(1) : groupOf(found, name);
  });
}

/** Each match of the text replaced, as Go's `ReplaceAllString`. */
export function replaceAll(expression: RE2JS, text: string, template: string): string {
  const found = expression.matcher(text);
  let replaced = '';
  let end = 0;
  let isFirst = true;
  while (found.find()) {
    const isEmptyBehindAnother = !isFirst && found.start() === found.end() && found.start() === end;
    if (!isEmptyBehindAnother) {
      replaced += text.slice(end, found.start()) + expand(template, found);
      end = found.end();
      isFirst = false;
    }
  }
  return replaced + text.slice(end);
}

function groupOf(found: Matcher, name: string): string {
  if (/^\d+$/.test(name)) {
    return Number(name) <= found.groupCount() ? (found.group(Number(name)) ?? '') : '';
  }
  return Object.hasOwn(found.namedGroups, name) ? (found.group(name) ?? '') : '';
}
