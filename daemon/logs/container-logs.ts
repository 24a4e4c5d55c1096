import type { LogKeeper, LoggedRun } from '../containers/ports.ts';
import { unreachable } from '../base/errors.ts';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import { jsonFilePolicy, localPolicy, withFileDefaults } from '../../storage/logs/policy.ts';
import type { RotationPolicy } from '../../storage/logs/policy.ts';
import { Rotation } from './rotation.ts';
import type { KeptLog, LogMonitors } from './rotation.ts';

export interface ContainerLogsDeps {
  monitors: LogMonitors;
  clock: Clock;
  log: Logger;
}

/**
 * What becomes of the output that monitors write to files. Implements LogKeeper of daemon/containers/ports.ts.
 */
export class ContainerLogs implements LogKeeper {
  readonly #log: Logger;
  readonly #rotation: Rotation;

  constructor(deps: ContainerLogsDeps) {
    this.#log = deps.log;
    this.#rotation = new Rotation(deps);
  }

  async open(run: LoggedRun): Promise<void> {
    const kept = keptLog(run);
    if (kept !== undefined) {
      this.#rotation.watch(kept);
    }
  }

  ended(run: LoggedRun): void {
    this.#rotation.forget(run.id);
    const kept = keptLog(run);
    if (kept !== undefined) {
      this.#inBackground(run.id, this.#rotation.settle(kept));
    }
  }

  async remove({ id }: LoggedRun): Promise<void> {
    this.#rotation.forget(id);
  }

  adopt(run: LoggedRun, { isRunning }: { isRunning: boolean }): void {
    const kept = keptLog(run);
    if (kept === undefined) {
      return;
    }
    if (isRunning) {
      this.#rotation.watch(kept);
    }
    this.#inBackground(run.id, this.#rotation.recover(kept));
  }

  close(): void {
    this.#rotation[Symbol.dispose]();
  }

  #inBackground(id: string, work: Promise<void>): void {
    work.catch((error: unknown) => {
      this.#log.error({ container: id, err: error }, 'a log could not be rotated');
    });
  }
}

function keptLog({ id, logPath, logConfig }: LoggedRun): KeptLog | undefined {
  const policy = policyOf(logConfig);
  return policy && { id, path: logPath, policy, needed: () => undefined, lost: () => undefined };
}

/** Undefined when no file is kept. */
function policyOf({ Type, Config }: LoggedRun['logConfig']): RotationPolicy | undefined {
  switch (Type) {
    case 'json-file':
      // Containers made by versions without rotation have no options: the default is in force for them too.
      return jsonFilePolicy(withFileDefaults(Config));
    case 'local':
      return localPolicy(Config);
    case 'none':
      return undefined;
    default:
      return unreachable(Type);
  }
}
