import { invalidArgument } from '../base/errors.ts';

/**
 * Splits an instruction's arguments into words as a Dockerfile does: blanks separate, quotes hold together, `\` quotes
 * one character, `$NAME`, `${NAME}`, `${NAME:-default}` and `${NAME:+alternative}` are replaced from `variables`
 * (not within single quotes). `where` begins error messages. Pure, one pass.
 */
export function splitWords(text: string, variables: ReadonlyMap<string, string>, where: string): string[] {
  const words: string[] = [];
  let word: string | undefined;
  let quote = '';
  for (let index = 0; index < text.length; index += 1) {
    const character = text.charAt(index);
    if (quote === '' && /\s/.test(character)) {
      if (word !== undefined) {
        words.push(word);
      }
      word = undefined;
    } else if (quote === '' && (character === '"' || character === "'")) {
      quote = character;
      word ??= '';
    } else if (character === quote) {
      quote = '';
    } else if (character === '\\' && quote !== "'") {
      const next = text.charAt(index + 1);
      // Within double quotes a backslash only quotes what would mean something there.
      const isQuoting = quote === '' || '"$\\'.includes(next);
      word = (word ?? '') + (isQuoting ? next : `\\${next}`);
      index += 1;
    } else if (character === '$' && quote !== "'") {
      const [value, length] = expand(text.slice(index), variables, where);
      word = (word ?? '') + value;
      index += length - 1;
    } else {
      word = (word ?? '') + character;
    }
  }
  if (quote !== '') {
    throw invalidArgument(`${where}: unexpected end of statement while looking for matching ${quote}`);
  }
  return word === undefined ? words : [...words, word];
}

/** The value of the variable that `text` begins with, and how many characters named it. */
function expand(text: string, variables: ReadonlyMap<string, string>, where: string): [string, number] {
  const plain = /^\$([A-Za-z_]\w*)/.exec(text);
  if (plain !== null) {
    return [variables.get(plain[1] ?? '') ?? '', plain[0].length];
  }
  if (!text.startsWith('${')) {
    return ['$', 1];
  }
  const braced = /^\$\{([A-Za-z_]\w*)(?::([-+])([^{}$]*))?\}/.exec(text);
  if (braced === null) {
    throw invalidArgument(`${where}: cannot read the variable in ${JSON.stringify(text.slice(0, 60))}`);
  }
  const [all, name = '', operator, word = ''] = braced;
  const value = variables.get(name) ?? '';
  if (operator === '-') {
    return [value === '' ? word : value, all.length];
  }
  if (operator === '+') {
    return [value === '' ? '' : word, all.length];
  }
  return [value, all.length];
}
