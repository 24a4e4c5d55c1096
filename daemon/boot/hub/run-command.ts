import { readFileSync } from 'node:fs';
import { invalidArgument } from '../../base/errors.ts';
import type { Config } from '../config/settings.ts';
import { readArguments, type HubArguments } from './arguments.ts';
import type { HubAction } from './command.ts';
import { textTable } from './text-table.ts';
import { HUB_COMMANDS } from './commands.ts';
import { askHub, askHubForAll } from './socket-client.ts';

/** What a command reads and writes. */
export interface CommandIo {
  /** All of standard input. */
  readInput(): string;
  write(text: string): void;
  /** The daemon's configuration, from this file or the usual one: it says where the socket is. */
  loadConfig(file: string | undefined): Config;
}

export const processIo: Pick<CommandIo, 'readInput' | 'write'> = {
  readInput: () => readFileSync(0, 'utf8'),
  write: (text) => process.stdout.write(text),
};

/** `berthd hub ...`, over the engine's socket. Answers the exit code. Throws EngineError with one line. */
export async function runHubCommand(argv: readonly string[], io: CommandIo): Promise<number> {
  const [noun = '', ...others] = argv;
  if (noun === '' || noun === '--help' || noun === 'help') {
    io.write(hubHelp());
    return noun === '' ? 1 : 0;
  }
  const isOneWord = HUB_COMMANDS.has(noun);
  const [verb = '', ...behind] = others;
  const [name, rest] = isOneWord ? [noun, others] : [`${noun} ${verb}`, behind];
  const command = HUB_COMMANDS.get(name);
  if (command === undefined) {
    throw invalidArgument(`unknown command: hub ${name.trim()}; berthd hub --help lists them`);
  }
  const given = readArguments(name, command, rest);
  if (given.switches.has('help')) {
    io.write(`Usage: berthd hub ${name} ${command.usage}\n\n${command.help}\n`);
    return 0;
  }
  const password = given.switches.has('password-stdin') ? firstLine(io.readInput()) : undefined;
  const action = command.action(given, password);
  await act(action, socketOf(given, io), io);
  return 0;
}

async function act(action: HubAction, socket: string, io: CommandIo): Promise<void> {
  if (action.kind === 'list') {
    const rows = await askHubForAll(socket, action.path);
    io.write(textTable(action.columns, rows));
    return;
  }
  const answer = await askHub(socket, action.request);
  const text = action.print({ ...Object(answer) });
  if (text !== '') {
    io.write(`${text}\n`);
  }
}

/** The Unix socket of `--host`, or the first one that the configuration has. */
export function socketOf({ values }: HubArguments, io: CommandIo): string {
  const hosts = values.has('host')
    ? [values.get('host') ?? '']
    : io.loadConfig(values.get('config-file')).hosts;
  const found = hosts.find((host) => host.startsWith('unix:///'));
  if (found === undefined) {
    throw invalidArgument(`--host: must be unix:///path, not ${JSON.stringify(hosts.join(', '))}`);
  }
  return found.slice('unix://'.length);
}

function firstLine(text: string): string {
  return text.split(/\r?\n/, 1)[0] ?? '';
}

function hubHelp(): string {
  return [
    'Usage: berthd hub COMMAND [--host unix:///path] [--config-file path]',
    '',
    'Administers the hub of the daemon on this host, over its socket.',
    '',
    ...[...HUB_COMMANDS].flatMap(([name, { usage, help }]) => [
      `  ${name} ${usage}`.trimEnd(),
      `      ${help}`,
    ]),
    '',
  ].join('\n');
}
