import { DEFAULT_CONFIG_FILE } from './config/config.ts';
import { fileKey } from './config/kinds.ts';
import type { Setting } from './config/kinds.ts';
import { variableName } from './config/flags.ts';
import { settingEntries } from './config/settings.ts';

const INDENT = ' '.repeat(6);
const WIDTH = 104;

/** The text of `berthd --help`: every flag with its key, its default and what it does. */
export function helpText(): string {
  return [
    'Usage: berthd [flags]',
    '       berthd system check [--repair] [--json] [--data-root path] [--config-file path]',
    '       berthd swarm backup DIRECTORY [--data-root path] [--exec-root path] [--config-file path]',
    '       berthd swarm restore DIRECTORY [--force] [--advertise-addr address] [--data-root path]',
    '                            [--exec-root path] [--config-file path]',
    '       berthd hub --help',
    '       berthd cluster --help',
    '',
    'A container engine for Linux that speaks the Docker Engine API.',
    '',
    'system check reads the whole data root back: the database, every layer against its digest, images,',
    'containers, volumes and leftovers of crashes. It may run beside a daemon; it then leaves out what the',
    'daemon may be making. With --repair, which needs a stopped daemon, it repairs what it can; files of',
    'containers and volumes are never deleted.',
    'Exit code 0: nothing is damaged (any more); 1: something is damaged; 2: the check could not run.',
    '',
    'swarm backup copies what this manager has of its swarm (services, secrets, nodes, keys) into a new directory,',
    'while the daemon and all tasks run. Keep the directory as secret as the data root, and the unlock key beside it',
    'where the swarm has one. swarm restore checks a backup and puts it into the data root of a stopped daemon; at',
    'its next start the daemon is the only manager of the swarm as it was then. --force puts a swarm that the host',
    'belongs to aside. --advertise-addr is needed where the host has another address than the manager had.',
    '',
    'A setting can be given as a flag, as an environment variable or as a key of the configuration file; in this order',
    `the first wins. Variables are named after keys: ${variableName('data-root')} for data-root. Lists are`,
    'separated by commas.',
    'Settings marked with * are read again on SIGHUP.',
    '',
    'Flags',
    ...line('--help, -h', 'print this text'),
    ...line('--version, -v', 'print the version'),
    ...line('--validate', 'check the configuration and exit'),
    ...line(
      '--config-file path',
      `configuration file, JSON (default ${DEFAULT_CONFIG_FILE}, which may be missing)`,
    ),
    ...settingEntries.flatMap(([, setting]) => describe(setting)),
    '',
  ].join('\n');
}

function describe(setting: Setting<unknown>): string[] {
  const { flag, short, placeholder, help, isRepeatable, isReloadable } = setting;
  const key = fileKey(setting);
  const names = [`--${flag}`, ...(short === undefined ? [] : [`-${short}`])].join(', ');
  const notes = [
    ...(key === flag ? [] : [`key ${key}`]),
    ...(isRepeatable ? ['may be repeated'] : []),
    ...defaultNote(setting),
  ];
  const note = notes.length > 0 ? ` (${notes.join('; ')})` : '';
  const head = `${names}${placeholder === null ? '' : ` ${placeholder}`}${isReloadable ? ' *' : ''}`;
  return help.length + note.length > WIDTH
    ? [...line(head, help), `${INDENT}${note.trim()}`]
    : line(head, help + note);
}

function line(head: string, text: string): string[] {
  return [`  ${head}`, `${INDENT}${text}`];
}

/** Empty defaults are not printed: there is nothing to print, or the help text names the default. */
function defaultNote({ default: value }: Setting<unknown>): string[] {
  if (value === '' || (typeof value === 'object' && value !== null && Object.keys(value).length === 0)) {
    return [];
  }
  return [`default ${Array.isArray(value) ? value.join(', ') : String(value)}`];
}
