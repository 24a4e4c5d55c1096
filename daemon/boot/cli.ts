import { readFileSync } from 'node:fs';
import { EngineError, ifThere, errorText, unreachable } from '../base/errors.ts';
import { createLogger } from '../base/logger.ts';
import { loadConfig } from './config/config.ts';
import type { Config } from './config/config.ts';
import { readFlags } from './config/flags.ts';
import { helpText } from './help.ts';
import type { CommandIo } from './hub/run-command.ts';
import { ENGINE_VERSION } from './version.ts';

/** Exit code of a `system check` that could not run. */
const NOT_CHECKED = 2;

/**
 * The program `berthd`. Answers the exit code, or undefined while the daemon lives. A failed start is one line on
 * standard error and exit code 1.
 */
export async function main(argv: readonly string[]): Promise<number | undefined> {
  try {
    if (argv[0] === 'hub') {
      const { runHubCommand } = await import('./hub/run-command.ts');
      return await ownCommand(argv.slice(1), runHubCommand);
    }
    if (argv[0] === 'cluster') {
      const { runClusterCommand } = await import('./cluster/run-command.ts');
      return await ownCommand(argv.slice(1), runClusterCommand);
    }
    const commandLine = readFlags(argv);
    const load = (): Config => loadConfig({ commandLine, environment: process.env, readFile });
    switch (commandLine.action) {
      case 'help':
        process.stdout.write(helpText());
        return 0;
      case 'version':
        process.stdout.write(`Berth version ${ENGINE_VERSION}\n`);
        return 0;
      case 'validate':
        load();
        process.stdout.write('configuration OK\n');
        return 0;
      case 'check':
        return await check(load(), commandLine.check);
      case 'backup': {
        const { backUpSwarm } = await import('./swarm-copies.ts');
        return await backUpSwarm(load(), commandLine.swarm, (text) => process.stdout.write(text));
      }
      case 'restore': {
        const { putBackSwarm } = await import('./swarm-copies.ts');
        return await putBackSwarm(load(), commandLine.swarm, (text) => process.stdout.write(text));
      }
      case 'run':
        await start(load);
        return undefined;
      default:
        return unreachable(commandLine.action);
    }
  } catch (error) {
    process.stderr.write(`berthd: ${oneLine(error)}\n`);
    return argv[0] === 'system' ? NOT_CHECKED : 1;
  }
}

/** Of `berthd hub` and `berthd cluster`. */
async function ownCommand(
  argv: readonly string[],
  run: (argv: readonly string[], io: CommandIo) => Promise<number>,
): Promise<number> {
  const { processIo } = await import('./hub/run-command.ts');
  return await run(argv, {
    ...processIo,
    loadConfig: (file) =>
      loadConfig({
        commandLine: readFlags(file === undefined ? [] : ['--config-file', file]),
        environment: process.env,
        readFile,
      }),
  });
}

async function check(config: Config, options: { repair: boolean; json: boolean }): Promise<number> {
  const { systemCheck } = await import('./check/system-check.ts');
  return await systemCheck(config, options, (text) => process.stdout.write(text));
}

async function start(load: () => Config): Promise<void> {
  const config = load();
  // Loaded only for a daemon: `--help` and `--validate` answer at once, and without native modules.
  const [{ run }, { compose }] = await Promise.all([import('./run.ts'), import('./compose.ts')]);
  const { logFormat, logLevel, debug } = config;
  const log = await createLogger({
    level: debug ? 'debug' : logLevel,
    pretty: logFormat === 'text' || (logFormat === 'auto' && process.stderr.isTTY),
  });
  await run({ config, log, loadConfig: load, compose });
}

function readFile(path: string): string | undefined {
  return ifThere(() => readFileSync(path, 'utf8'));
}

/** EngineErrors are sentences already; a report of any other error needs the place. */
function oneLine(error: unknown): string {
  const text =
    error instanceof EngineError || !(error instanceof Error)
      ? errorText(error)
      : (error.stack ?? error.message);
  return text.replaceAll(/\s*\n\s*/g, ' | ');
}
