import { invalidArgument } from '../../base/errors.ts';
import { settingEntries } from './settings.ts';

/** What the command line says. */
export interface CommandLine {
  action: 'run' | 'help' | 'version' | 'validate' | 'check' | 'backup' | 'restore';
  /** Of `system check`. */
  check: { repair: boolean; json: boolean };
  /** Of `swarm backup` and `swarm restore`. */
  swarm: { directory: string; force: boolean; advertiseAddr: string };
  configFile: string | undefined;
  /** Values by key, in words as given. */
  words: ReadonlyMap<string, readonly string[]>;
}

const ACTIONS: ReadonlyMap<string, CommandLine['action']> = new Map([
  ['--help', 'help'],
  ['-h', 'help'],
  ['--version', 'version'],
  ['-v', 'version'],
  ['--validate', 'validate'],
]);

/** What there is beside the daemon, by its first two words. */
const COMMANDS: ReadonlyMap<string, ReadonlyMap<string, Command>> = new Map([
  ['system', new Map([['check', { action: 'check', flags: ['--repair', '--json'] }]])],
  [
    'swarm',
    new Map<string, Command>([
      ['backup', { action: 'backup', flags: [], operand: 'DIRECTORY' }],
      [
        'restore',
        { action: 'restore', flags: ['--force'], valued: '--advertise-addr', operand: 'DIRECTORY' },
      ],
    ]),
  ],
]);

interface Command {
  action: CommandLine['action'];
  /** Switches that only it takes, and a flag with a value. */
  flags: readonly string[];
  valued?: string;
  /** What the one word is that it needs. */
  operand?: string;
}

interface Flag {
  key: string;
  isSwitch: boolean;
}

const CONFIG_FILE = 'config-file';

/**
 * Reads `--flag value`, `--flag=value` and `-f value`; a switch alone means true. Throws invalid_argument that names
 * the flag. Values are not checked here.
 */
export function readFlags(argv: readonly string[]): CommandLine {
  const flags = flagTable();
  const words = new Map<string, string[]>();
  const rest = [...argv];
  const command = takeCommand(rest);
  const own = { switches: new Set<string>(), value: '', operand: '' };
  let action: CommandLine['action'] = command?.action ?? 'run';
  for (let word = rest.shift(); word !== undefined; word = rest.shift()) {
    if (command !== undefined && takeOwn(command, own, word, rest)) {
      continue;
    }
    const asked = ACTIONS.get(word);
    if (asked !== undefined) {
      action = action === 'run' || asked === 'help' ? asked : action;
      continue;
    }
    const separator = word.indexOf('=');
    const name = separator < 0 ? word : word.slice(0, separator);
    const flag = flags.get(name);
    if (flag === undefined) {
      throw invalidArgument(
        word.startsWith('-') ? `unknown flag: ${name}` : `unexpected argument: ${JSON.stringify(word)}`,
      );
    }
    const inline = separator < 0 ? undefined : word.slice(separator + 1);
    const value = inline ?? (flag.isSwitch ? 'true' : rest.shift());
    if (value === undefined) {
      throw invalidArgument(`flag ${name}: needs a value`);
    }
    words.set(flag.key, [...(words.get(flag.key) ?? []), value]);
  }
  if (command?.operand !== undefined && own.operand === '' && action === command.action) {
    throw invalidArgument(`${argv.slice(0, 2).join(' ')}: needs a ${command.operand}`);
  }
  const configFile = words.get(CONFIG_FILE)?.at(-1);
  words.delete(CONFIG_FILE);
  return {
    action,
    check: { repair: own.switches.has('--repair'), json: own.switches.has('--json') },
    swarm: { directory: own.operand, force: own.switches.has('--force'), advertiseAddr: own.value },
    configFile,
    words,
  };
}

/** Takes the two words of a command off the rest. */
function takeCommand(rest: string[]): Command | undefined {
  const [group = ''] = rest;
  const commands = COMMANDS.get(group);
  if (commands === undefined) {
    return undefined;
  }
  const [, name = ''] = rest.splice(0, 2);
  const command = commands.get(name);
  if (command === undefined) {
    const known = [...commands.keys()].map((one) => `"${group} ${one}"`);
    throw invalidArgument(
      `unknown command: ${group} ${name}; there ${known.length === 1 ? 'is' : 'are'} ${known.join(' and ')}`,
    );
  }
  return command;
}

/** Takes a word that only this command knows; answers whether it was one. */
function takeOwn(
  { flags, valued, operand }: Command,
  own: { switches: Set<string>; value: string; operand: string },
  word: string,
  rest: string[],
): boolean {
  if (flags.includes(word)) {
    own.switches.add(word);
    return true;
  }
  if (valued !== undefined && (word === valued || word.startsWith(`${valued}=`))) {
    const value = word === valued ? rest.shift() : word.slice(valued.length + 1);
    if (value === undefined || value === '') {
      throw invalidArgument(`flag ${valued}: needs a value`);
    }
    own.value = value;
    return true;
  }
  if (operand !== undefined && own.operand === '' && word !== '' && !word.startsWith('-')) {
    own.operand = word;
    return true;
  }
  return false;
}

/** Settings from the environment: `BERTH_DATA_ROOT`; lists and pairs are separated by commas. */
export function readEnvironment(environment: Readonly<Record<string, string | undefined>>): {
  configFile: string | undefined;
  words: ReadonlyMap<string, readonly string[]>;
} {
  const words = new Map<string, readonly string[]>();
  for (const [, setting] of settingEntries) {
    const value = environment[variableName(setting.key)];
    if (value !== undefined) {
      words.set(setting.key, setting.isRepeatable ? value.split(',').filter((item) => item !== '') : [value]);
    }
  }
  return { configFile: environment[variableName(CONFIG_FILE)], words };
}

/** `data-root` -> `BERTH_DATA_ROOT`. */
export function variableName(key: string): string {
  return `BERTH_${key.toUpperCase().replaceAll('-', '_')}`;
}

function flagTable(): ReadonlyMap<string, Flag> {
  const table = new Map<string, Flag>([[`--${CONFIG_FILE}`, { key: CONFIG_FILE, isSwitch: false }]]);
  for (const [, setting] of settingEntries) {
    const flag = { key: setting.key, isSwitch: setting.placeholder === null };
    table.set(`--${setting.flag}`, flag);
    if (setting.short !== undefined) {
      table.set(`-${setting.short}`, flag);
    }
  }
  return table;
}
