import { invalidArgument } from '../../base/errors.ts';
import { readArguments } from '../hub/arguments.ts';
import { socketOf, type CommandIo } from '../hub/run-command.ts';
import { CLUSTER_COMMANDS } from './commands.ts';

/** `berthd cluster ...`. Answers the exit code. Throws EngineError with one line. */
export async function runClusterCommand(argv: readonly string[], io: CommandIo): Promise<number> {
  const [name = '', ...rest] = argv;
  if (name === '' || name === '--help' || name === 'help') {
    io.write(clusterHelp());
    return name === '' ? 1 : 0;
  }
  const command = CLUSTER_COMMANDS.get(name);
  if (command === undefined) {
    throw invalidArgument(`unknown command: cluster ${name}; berthd cluster --help lists them`);
  }
  const given = readArguments(name, command, command.prepare?.(rest) ?? rest, 'berthd cluster');
  if (given.switches.has('help')) {
    io.write(`Usage: berthd cluster ${name} ${command.usage}\n\n${command.help}\n`);
    return 0;
  }
  return await command.run(given, { write: (text) => io.write(text), socket: () => socketOf(given, io) });
}

function clusterHelp(): string {
  return [
    'Usage: berthd cluster COMMAND [--host unix:///path] [--config-file path]',
    '',
    'Uses the cluster interface of the daemon on this host, over its socket.',
    '',
    ...[...CLUSTER_COMMANDS].flatMap(([name, { usage, help }]) => [
      `  ${name} ${usage}`.trimEnd(),
      `      ${help}`,
    ]),
    '',
  ].join('\n');
}
