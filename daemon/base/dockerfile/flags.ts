import type { Dialect, FlagKinds } from './dialect.ts';
import type { Flag } from './instruction.ts';

/** The flags before an instruction's arguments. Throws invalid_argument naming line and flag. Pure. */
export function takeFlags(
  dialect: Dialect,
  name: string,
  { text, line }: { text: string; line: number },
): { flags: Flag[]; rest: string } {
  const flags: Flag[] = [];
  const known = dialect.flags[name];
  let rest = text.trimStart();
  if (known === undefined) {
    return { flags, rest };
  }
  while (rest.startsWith('--')) {
    const [word = ''] = FLAG.exec(rest) ?? [];
    rest = rest.slice(word.length).trimStart();
    if (word === '--') {
      break;
    }
    flags.push(checked(dialect, known, { instruction: name, word, line }));
  }
  const seen = flags.filter((flag) => known[flag.name] !== 'list').map((flag) => flag.name);
  const twice = seen.find((flag, at) => seen.indexOf(flag) !== at);
  if (twice !== undefined) {
    throw dialect.error(line, dialect.words.duplicateFlag(twice));
  }
  return { flags, rest };
}

/** Up to a blank that is not within quotes. */
const FLAG = /^(?:"(?:\\[^]|[^"\\])*"|'[^']*'|\\[^]|[^\s"'\\]|["'\\])+/;

function checked(
  dialect: Dialect,
  known: FlagKinds,
  { instruction, word, line }: { instruction: string; word: string; line: number },
): Flag {
  const equals = word.indexOf('=');
  const name = equals < 0 ? word.slice(2) : word.slice(2, equals);
  const value = equals < 0 ? undefined : word.slice(equals + 1);
  const kind = Object.hasOwn(known, name) ? known[name] : undefined;
  if (kind === undefined) {
    throw dialect.error(line, dialect.words.unknownFlag(name, instruction));
  }
  if (kind === 'boolean' && value !== undefined && value !== 'true' && value !== 'false') {
    throw dialect.error(line, `expecting boolean value for flag --${name}, not: ${value}`);
  }
  if (kind !== 'boolean' && value === undefined && !dialect.hasEmptyFlags) {
    throw dialect.error(line, `missing a value on flag: --${name}`);
  }
  return { name, value };
}
