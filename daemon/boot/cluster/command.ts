import type { HubArguments, HubCommand } from '../hub/arguments.ts';

/** What a command of `berthd cluster` may use. */
export interface ClusterCommandIo {
  write(text: string): void;
  /** The Unix socket of the daemon on this host, of `--host` or the configuration. */
  socket(): string;
}

/** A command of `berthd cluster`. */
export interface ClusterCommand extends HubCommand {
  /** Changes words into what `parseArgs` understands. */
  prepare?(argv: readonly string[]): readonly string[];
  /** Answers the exit code. Throws EngineError with one line. */
  run(given: HubArguments, io: ClusterCommandIo): Promise<number>;
}
