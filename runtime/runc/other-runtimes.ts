import { readFileSync, writeFileSync } from 'node:fs';
import { mustRunCommand, runCommand } from '../../daemon/base/command.ts';
import { EngineError, errnoOf, errorText, internal } from '../../daemon/base/errors.ts';
import type { ProcessIdentity } from '../../daemon/base/kernel/processes/process.ts';
import type { Logger } from '../../daemon/base/logger.ts';

/** A program with runc's command line: crun, youki, runsc, kata-runtime and the like. */
export interface RuntimeProgram {
  /** Absolute. */
  path: string;
  /** Arguments before the verb. */
  args: readonly string[];
}

/** Runtimes besides runc, by name; without a path where the program is not there. */
export type ConfiguredRuntimes = ReadonlyMap<string, { path: string | undefined; args: readonly string[] }>;

interface OtherRuntimesDeps {
  configured: ConfiguredRuntimes;
  /** Directory of the states of all containers. */
  root: string;
  systemdCgroup: boolean;
  /** The program that a container was launched with; undefined = runc. */
  programOf(id: string): RuntimeProgram | undefined;
  log: Logger;
}

/**
 * Runtimes of which nothing is known but the command line (OCI runtime-spec, runtime.md; runc's options `--root` and
 * `--systemd-cgroup`): each verb is the program's own. What is done for runc in process is not assumed of them.
 */
export class OtherRuntimes {
  readonly #deps: OtherRuntimesDeps;

  constructor(deps: OtherRuntimesDeps) {
    this.#deps = deps;
  }

  /** The program of a configured name; undefined = runc. Throws unavailable when it is not there. */
  named(name: string): RuntimeProgram | undefined {
    const configured = this.#deps.configured.get(name);
    if (configured === undefined) {
      return undefined;
    }
    const { path, args } = configured;
    if (path === undefined) {
      throw new EngineError('unavailable', `runtime ${name}: its program is not there or cannot be executed`);
    }
    return { path, args };
  }

  /** The verbs for a container; undefined = it is runc's. */
  of(id: string): OtherRuntime | undefined {
    const program = this.#deps.programOf(id);
    if (program === undefined) {
      return undefined;
    }
    const { root, systemdCgroup, log } = this.#deps;
    const before = [program.path, ...program.args, '--root', root] as const;
    return new OtherRuntime(id, [...before, ...(systemdCgroup ? ['--systemd-cgroup'] : [])], log);
  }
}

/** One container of such a runtime. */
class OtherRuntime {
  readonly #id: string;
  readonly #command: readonly [string, ...string[]];
  readonly #log: Logger;

  constructor(id: string, command: readonly [string, ...string[]], log: Logger) {
    this.#id = id;
    this.#command = command;
    this.#log = log;
  }

  /** Lets the created container run. That it runs already is fine: a daemon that died here asks again. */
  async start(): Promise<void> {
    try {
      await mustRunCommand([...this.#command, 'start', this.#id]);
    } catch (error) {
      const { exitCode, stdout } = await runCommand([...this.#command, 'state', this.#id]);
      if (exitCode !== 0 || !/"status":\s*"(?:running|stopped)"/.test(stdout)) {
        throw internal(`OCI runtime start failed: ${errorText(error)}`, { cause: error });
      }
    }
  }

  /** Sends a signal, by `otherwise` where the runtime does not. Never rejects. */
  async kill(signal: number, otherwise: () => void): Promise<void> {
    try {
      await mustRunCommand([...this.#command, 'kill', this.#id, String(signal)]);
    } catch (error) {
      this.#log.debug({ container: this.#id, err: error }, 'the runtime sent no signal');
      otherwise();
    }
  }

  /** Removes what the runtime keeps, whatever state the container is in. What it leaves is removed without it. */
  async delete(): Promise<void> {
    try {
      await mustRunCommand([...this.#command, 'delete', '--force', this.#id]);
    } catch (error) {
      this.#log.warn({ container: this.#id, err: error }, 'the runtime did not delete a container');
    }
  }
}

/** Notes the init of such a container, whose state file only its runtime can read. */
export function writeInit(file: string, init: ProcessIdentity): void {
  writeFileSync(file, JSON.stringify(init), { mode: 0o600 });
}

/** The init that was noted; undefined when there is none. */
export function readInit(file: string): ProcessIdentity | undefined {
  try {
    // Only `writeInit` writes it.
    const { pid, startTime } = JSON.parse(readFileSync(file, 'utf8')) as Partial<ProcessIdentity>;
    return pid === undefined || startTime === undefined ? undefined : { pid, startTime };
  } catch (error) {
    // Not written yet, or cut off by a crash: nothing was let run.
    if (errnoOf(error) === 'ENOENT' || error instanceof SyntaxError) {
      return undefined;
    }
    throw error;
  }
}
