import type { LogKeeper, LoggedRun } from '../containers/ports.ts';
import { errorText, failedPrecondition } from '../base/errors.ts';
import type { Clock } from '../base/clock.ts';
import { limits } from '../base/limits.ts';
import type { Logger } from '../base/logger.ts';
import { deliveryMode } from '../../runtime/log-drivers/common-options.ts';
import { openSink } from '../../runtime/log-drivers/drivers.ts';
import type { SinkTerms } from '../../runtime/log-drivers/sink.ts';
import { mendEnd } from '../../storage/logs/mend.ts';
import { stopAtBytes } from '../../storage/logs/policy.ts';
import { Delivery } from './delivery.ts';
import { policyOf } from './policies.ts';
import { Rotation } from './rotation.ts';
import type { LocalLog, LogMonitors } from './rotation.ts';

export interface ContainerLogsDeps {
  monitors: LogMonitors;
  clock: Clock;
  log: Logger;
}

/**
 * What becomes of the output that monitors write to files: kept in bounds, and delivered where a driver sends it.
 * Implements LogKeeper of daemon/containers/ports.ts.
 */
export class ContainerLogs implements LogKeeper {
  readonly #log: Logger;
  readonly #clock: Clock;
  readonly #monitors: LogMonitors;
  readonly #rotation: Rotation;
  readonly #deliveries = new Map<string, Delivery>();
  #isClosed = false;

  constructor(deps: ContainerLogsDeps) {
    this.#log = deps.log;
    this.#clock = deps.clock;
    this.#monitors = deps.monitors;
    this.#rotation = new Rotation(deps);
  }

  async open(run: LoggedRun): Promise<number | null> {
    this.#mend(run);
    const terms = await this.#reach(run);
    if (terms !== undefined) {
      this.#deliver(run, terms, true);
    }
    this.#watch(run);
    return bytesMaxOf(run);
  }

  ended(run: LoggedRun): void {
    this.#rotation.forget(run.id);
    this.#deliveries.get(run.id)?.end();
    this.#tidy(run);
  }

  async remove({ id }: LoggedRun): Promise<void> {
    this.#rotation.forget(id);
    const delivery = this.#deliveries.get(id);
    if (delivery === undefined) {
      return;
    }
    delivery.end();
    // A receiver that is away is not waited for, nor one that goes away meanwhile.
    const isDelivered = await this.#inTime(
      Promise.race([delivery.done.then(() => true), delivery.failing().then(() => false)]),
    );
    if (!isDelivered) {
      this.#log.error(
        { container: id },
        'log delivery: the container is removed, the rest of its output is lost',
      );
    }
    delivery.stop();
    await delivery.done;
    this.#deliveries.delete(id);
  }

  adopt(run: LoggedRun, { isRunning }: { isRunning: boolean }): void {
    const kept = this.#kept(run);
    if (kept === undefined) {
      return;
    }
    const terms = this.#sinkOf(run);
    if (terms !== undefined) {
      this.#deliver(run, terms, isRunning);
    }
    if (isRunning) {
      this.#monitors.limitLog(run.id, bytesMaxOf(run));
      this.#watch(run);
    }
    this.#inBackground(run.id, this.#rotation.recover(kept));
  }

  close(): void {
    this.#isClosed = true;
    this.#rotation[Symbol.dispose]();
    for (const delivery of this.#deliveries.values()) {
      delivery.stop();
    }
  }

  #mend({ id, logPath }: LoggedRun): void {
    try {
      mendEnd(logPath);
    } catch (error) {
      // A full disk: the run may still do its work, and its first line joins what was torn.
      this.#log.warn({ container: id, err: error }, 'the end of a log could not be mended');
    }
  }

  /** A way to the receiver that a new run may use, tried. Undefined without one, and when one is in use already. */
  async #reach(run: LoggedRun): Promise<SinkTerms | undefined> {
    if (this.#deliveries.get(run.id)?.resume() === true) {
      return undefined;
    }
    try {
      const terms = openSink(run.logConfig.Type, run, run.logConfig.Config);
      await terms?.sink.connect?.();
      return terms;
    } catch (error) {
      throw failedPrecondition(`failed to initialize logging driver: ${errorText(error)}`, { cause: error });
    }
  }

  /** At the daemon's start: a receiver that is away is waited for. */
  #sinkOf(run: LoggedRun): SinkTerms | undefined {
    try {
      return openSink(run.logConfig.Type, run, run.logConfig.Config);
    } catch (error) {
      this.#log.error({ container: run.id, err: error }, 'log delivery cannot go on; output is kept');
      return undefined;
    }
  }

  #deliver(run: LoggedRun, terms: SinkTerms, isRunning: boolean): void {
    const { id, logPath } = run;
    const mode = deliveryMode(run.logConfig.Config);
    const delivery = new Delivery(
      { id, logPath, terms, mode, log: this.#log, advanced: () => this.#tidy(run) },
      isRunning,
    );
    this.#deliveries.set(id, delivery);
    void this.#whenDone(run, delivery).catch((error: unknown) => {
      this.#log.error({ container: id, err: error }, 'the end of a log delivery was not seen');
    });
  }

  async #whenDone(run: LoggedRun, delivery: Delivery): Promise<void> {
    await delivery.done;
    if (this.#deliveries.get(run.id) === delivery) {
      this.#deliveries.delete(run.id);
      this.#tidy(run);
    }
  }

  #tidy(run: LoggedRun): void {
    const kept = this.#kept(run);
    if (kept !== undefined && !this.#isClosed) {
      this.#inBackground(run.id, this.#rotation.settle(kept));
    }
  }

  #watch(run: LoggedRun): void {
    const kept = this.#kept(run);
    if (kept !== undefined) {
      this.#rotation.watch(kept);
    }
  }

  #kept({ id, logPath, logConfig }: LoggedRun): LocalLog | undefined {
    const policy = policyOf(logConfig);
    return (
      policy && {
        id,
        path: logPath,
        policy,
        needed: () => this.#deliveries.get(id)?.generation,
        lost: (generations) => this.#deliveries.get(id)?.lost(generations),
      }
    );
  }

  async #inTime(work: Promise<boolean>): Promise<boolean> {
    let timer: Disposable | undefined;
    const late = new Promise<boolean>((resolve) => {
      timer = this.#clock.setTimeout(() => resolve(false), limits.logRemoveDrainMs);
    });
    try {
      return await Promise.race([work, late]);
    } finally {
      timer?.[Symbol.dispose]();
    }
  }

  #inBackground(id: string, work: Promise<void>): void {
    work.catch((error: unknown) => {
      this.#log.error({ container: id, err: error }, 'a log could not be rotated');
    });
  }
}

function bytesMaxOf({ logConfig }: LoggedRun): number | null {
  const policy = policyOf(logConfig);
  return policy === undefined ? null : stopAtBytes(policy);
}
