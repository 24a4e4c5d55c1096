import { parseError, type Flag } from './instruction.ts';

/** What an instruction may have, and whether its flags take a value, none, or several values one after another. */
const FLAGS: Readonly<Record<string, Readonly<Record<string, 'value' | 'boolean' | 'list'>>>> = {
  FROM: { platform: 'value' },
  ADD: {
    chown: 'value',
    chmod: 'value',
    link: 'boolean',
    'keep-git-dir': 'boolean',
    checksum: 'value',
    exclude: 'list',
    unpack: 'boolean',
  },
  COPY: {
    from: 'value',
    chown: 'value',
    chmod: 'value',
    link: 'boolean',
    parents: 'boolean',
    exclude: 'list',
  },
  RUN: { mount: 'list', network: 'value', security: 'value' },
  HEALTHCHECK: {
    interval: 'value',
    timeout: 'value',
    'start-period': 'value',
    'start-interval': 'value',
    retries: 'value',
  },
};

/** The flags before an instruction's arguments. Throws invalid_argument naming line and flag. Pure. */
export function takeFlags(name: string, text: string, line: number): { flags: Flag[]; rest: string } {
  const flags: Flag[] = [];
  const known = FLAGS[name];
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
    flags.push(checked(known, name, word, line));
  }
  const seen = flags.filter((flag) => known[flag.name] !== 'list').map((flag) => flag.name);
  const twice = seen.find((flag, at) => seen.indexOf(flag) !== at);
  if (twice !== undefined) {
    throw parseError(line, `duplicate flag specified: ${twice}`);
  }
  return { flags, rest };
}

/** Up to a blank that is not within quotes. */
const FLAG = /^(?:"(?:\\[^]|[^"\\])*"|'[^']*'|\\[^]|[^\s"'\\]|["'\\])+/;

function checked(
  known: Readonly<Record<string, 'value' | 'boolean' | 'list'>>,
  instruction: string,
  word: string,
  line: number,
): Flag {
  const equals = word.indexOf('=');
  const name = equals < 0 ? word.slice(2) : word.slice(2, equals);
  const value = equals < 0 ? undefined : word.slice(equals + 1);
  const kind = Object.hasOwn(known, name) ? known[name] : undefined;
  if (instruction === 'RUN' && name === 'device') {
    throw parseError(line, 'RUN --device is not supported by this engine');
  }
  if (kind === undefined) {
    throw parseError(line, `unknown flag: --${name}`);
  }
  if (kind === 'boolean' && value !== undefined && value !== 'true' && value !== 'false') {
    throw parseError(line, `expecting boolean value for flag --${name}, not: ${value}`);
  }
  if (kind !== 'boolean' && value === undefined) {
    throw parseError(line, `missing a value on flag: --${name}`);
  }
  return { name, value };
}
