import { invalidArgument } from '../../base/errors.ts';
import { settingEntries } from './settings.ts';

/** What the command line says. */
export interface CommandLine {
  action: 'run' | 'help' | 'version' | 'validate' | 'check';
  /** Of `system check`. */
  check: { repair: boolean; json: boolean };
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
  let action: CommandLine['action'] = 'run';
  const rest = [...argv];
  const check = { repair: false, json: false };
  if (rest[0] === 'system') {
    readSystemCommand(rest);
    action = 'check';
  }
  for (let word = rest.shift(); word !== undefined; word = rest.shift()) {
    if (action === 'check' && (word === '--repair' || word === '--json')) {
      check[word === '--repair' ? 'repair' : 'json'] = true;
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
  const configFile = words.get(CONFIG_FILE)?.at(-1);
  words.delete(CONFIG_FILE);
  return { action, check, configFile, words };
}

/** Takes the words of the one command that there is beside the daemon. */
function readSystemCommand(rest: string[]): void {
  const [, command] = rest.splice(0, 2);
  if (command !== 'check') {
    throw invalidArgument(`unknown command: system ${command ?? ''}; there is "system check"`);
  }
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
