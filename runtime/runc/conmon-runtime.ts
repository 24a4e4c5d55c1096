import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { conflict, invariant } from '../../daemon/base/errors.ts';
import { failpoint } from '../../daemon/base/failpoint.ts';
import { FULL_ID } from '../../daemon/base/ids.ts';
import { adoptOrphans } from '../../daemon/base/kernel/processes/children.ts';
import { sendSignal } from '../../daemon/base/kernel/processes/pidfd.ts';
import { isAlive } from '../../daemon/base/kernel/processes/process.ts';
import type { ProcessIdentity } from '../../daemon/base/kernel/processes/process.ts';
import type { Logger } from '../../daemon/base/logger.ts';
import { ContainerCgroups } from '../cgroups/container-cgroups.ts';
import type { CgroupManager } from '../cgroups/cgroup-manager.ts';
import { removeEndedSessions } from '../exec/abandoned.ts';
import { ExecSession } from '../exec/exec-session.ts';
import type { ExecRequest } from '../exec/exec-session.ts';
import type { ContainerExit } from '../monitor/exit-watch.ts';
import { limitLog, reopenLog } from '../monitor/log-file.ts';
import type { Monitored } from '../monitor/log-file.ts';
import { monitorOf } from '../monitor/monitor-pid.ts';
import type { OomListener } from '../monitor/oom-watch.ts';
import { connectStdio } from '../monitor/conmon-stdio.ts';
import type { ConmonStdio } from '../monitor/conmon-stdio.ts';
import { cleanUp } from './clean-up.ts';
import type { ExecRoot } from './exec-root.ts';
import { launch } from './launch.ts';
import type { LaunchRequest } from './launch-request.ts';
import type { LaunchedContainers } from './launched-containers.ts';
import type { OtherRuntimes } from './other-runtimes.ts';
import { callRunc, makeParts, monitorSettings } from './parts.ts';
import type { ConmonRuntimeDeps, RuntimeParts } from './parts.ts';
import { hasNeverRun, isWaiting, releaseInit } from './state.ts';
import type { CommandTraits } from './state.ts';

/**
 * Containers as processes: conmon watches, runc creates. Implements `ContainerRuntime` of the container domain.
 *
 * INVARIANTS
 * - Nothing that a container needs to go on lives in this process: conmon owns its stdio, log and exit code.
 * - Everything made for a container is found again by its id alone: bundle, runc state, exit file, cgroup.
 * - A verb that undoes may run at any time, again, and on half of what it expects.
 */
export class ConmonRuntime implements Disposable {
  readonly control: ContainerCgroups;
  readonly #parts: RuntimeParts;
  readonly #root: ExecRoot;
  readonly #cgroups: CgroupManager;
  readonly #launched: LaunchedContainers;
  readonly #others: OtherRuntimes;
  readonly #log: Logger;
  readonly #orphans = adoptOrphans();

  constructor(deps: ConmonRuntimeDeps) {
    this.#parts = makeParts(deps);
    const { root, cgroups, launched, others } = this.#parts;
    this.#root = root;
    this.#cgroups = cgroups;
    this.#launched = launched;
    this.#others = others;
    this.#log = deps.log;
    this.control = new ContainerCgroups({
      ...deps.cgroup,
      cgroupsPath: (id) => launched.cgroupsPath(id),
      limitsMarker: (id) => root.bundle(id).limitsMarker,
    });
    removeEndedSessions(root, (id) => cgroups.processes(launched.cgroupsPath(id)), deps.log);
  }

  launch(request: LaunchRequest): Promise<ProcessIdentity> {
    return launch(this.#parts, request);
  }

  async begin(id: string, command: CommandTraits = {}): Promise<void> {
    failpoint('runtime.begin.fifo');
    const other = this.#others.of(id);
    if (other !== undefined) {
      await other.start();
      writeFileSync(this.#root.bundle(id).begun, '', { mode: 0o600 });
    } else if (!(await releaseInit(this.#root.state(id), this.#launched.init(id), command))) {
      await callRunc(this.#parts, 'start', id);
    }
  }

  isWaiting(id: string): boolean {
    const init = this.#launched.init(id);
    if (init === undefined || !isAlive(init)) {
      return false;
    }
    return this.#others.of(id) === undefined
      ? isWaiting(this.#root.state(id), init)
      : !existsSync(this.#root.bundle(id).begun);
  }

  hasNeverRun(id: string, init: ProcessIdentity): boolean {
    return this.#others.of(id) === undefined && hasNeverRun(this.#root.state(id), init);
  }

  adopt(id: string, init: ProcessIdentity): void {
    if (this.#launched.init(id) === undefined) {
      this.#log.warn(
        { container: id },
        'what the runtime kept of a container is gone from exec root; it runs on',
      );
      this.#launched.note(id, { init });
      this.#parts.exits.expect(id, init);
      this.#parts.ooms.expect(id);
    }
  }

  isMonitored(id: string): boolean {
    return monitorOf(this.#root.bundle(id), this.#launched.init(id)) !== undefined;
  }

  signal(process: ProcessIdentity, signal: number): void {
    const id = this.#launched.otherWith(process);
    const other = id === undefined ? undefined : this.#others.of(id);
    if (other === undefined) {
      sendSignal(process, signal);
    } else {
      // The process that we see may be a sandbox around the one that is meant.
      void other
        .kill(signal, () => sendSignal(process, signal))
        .catch((error: unknown) => {
          this.#log.error({ container: id, signal, err: error }, 'a signal could not be sent');
        });
    }
  }

  async killAll(id: string): Promise<void> {
    if (!(await this.#cgroups.killAll(this.#launched.cgroupsPath(id)))) {
      this.#log.warn({ container: id }, 'killed processes have not ended yet');
    }
  }

  cleanUp(id: string): Promise<void> {
    return cleanUp(this.#parts, id);
  }

  exitOf(id: string): ContainerExit | undefined {
    return this.#parts.exits.exitOf(id);
  }

  forgetExit(id: string): void {
    // In this order: dying in between, the next daemon is told once more rather than taking the exit for a lost one.
    rmSync(this.#root.bundle(id).pidFile, { force: true });
    this.#parts.exits.forget(id);
  }

  onExit(listener: (exit: ContainerExit) => void): Disposable {
    return this.#parts.exits.onExit(listener);
  }

  /** Calls back when a container has no more memory: see `OomWatch`. Of an earlier daemon's containers as well. */
  onOom(listener: OomListener): Disposable {
    for (const [id] of this.#launched.inherited()) {
      this.#parts.ooms.expect(id);
    }
    return this.#parts.ooms.onOom(listener);
  }

  /**
   * Connects to a container's stdio; from before `begin` nothing of its output is missed. With `stdin: false` nothing
   * is written, and this client's leaving does not end the input of a container in stdin mode `once`.
   */
  async attach(id: string, options: { stdin: boolean } = { stdin: true }): Promise<ConmonStdio> {
    const record = this.#launched.record(id);
    if (record === undefined) {
      throw conflict(`cannot attach to container ${id}: it is not running`);
    }
    const init = this.#launched.init(id);
    return connectStdio(this.#root.bundle(id).attach, this.#parts.poller, {
      acceptsInput: options.stdin && record.stdin !== 'none',
      lingers: !options.stdin && record.stdin === 'once' && !record.terminal,
      isProcessAlive: () => init !== undefined && isAlive(init),
    });
  }

  resize(id: string, height: number, width: number): Promise<void> {
    return Promise.resolve().then(() =>
      this.#parts.control.resize(this.#root.bundle(id).control, { height, width }),
    );
  }

  /**
   * Makes the monitor go on in a new file at `logPath`, whose last file was renamed and whose draft is there. Resolves
   * when it has, or has ended. Idempotent.
   */
  reopenLog(id: string, logPath: string): Promise<void> {
    return reopenLog(this.#parts.control, this.#monitored(id), logPath);
  }

  /**
   * Bounds each file of a container's log, for as long as its monitor lives, with or without a daemon. What does not
   * fit is lost until the log is rotated. Nothing happens when the monitor has ended.
   */
  limitLog(id: string, bytesMax: number | null): void {
    limitLog(this.#monitored(id), bytesMax, { id, log: this.#log });
  }

  expectExec(): void {
    this.#parts.quickMoves.expect();
  }

  async exec(request: ExecRequest): Promise<ExecSession> {
    invariant(FULL_ID.test(request.execId), `not an exec id: ${request.execId}`);
    const container = this.#root.bundle(request.containerId);
    if (!existsSync(container.path)) {
      throw conflict(this.#noState(request.containerId));
    }
    using _quickMoves = this.#parts.quickMoves.hold();
    const runtime = this.#launched.record(request.containerId)?.runtime;
    using program = this.#parts.program.lease();
    return await ExecSession.start(
      {
        settings: monitorSettings(this.#parts, runtime ?? { path: program.path, args: [] }),
        isRunc: runtime === undefined,
        temporary: this.#parts.temporary,
        bundle: container.exec(request.execId),
        connect: (path, options) => connectStdio(path, this.#parts.poller, { ...options, lingers: false }),
        control: this.#parts.control,
        poller: this.#parts.poller,
        processes: () => this.#cgroups.processes(this.#launched.cgroupsPath(request.containerId)),
        log: this.#log,
      },
      request,
    );
  }

  /** What a cleaner took with it cannot be made again: runc's state says how the container is entered. */
  #noState(id: string): string {
    const init = this.#launched.init(id);
    return init !== undefined && isAlive(init)
      ? `container ${id} takes no exec until it is started again: ${this.#root.bundle(id).path} was removed`
      : `container ${id} is not running`;
  }

  #monitored(id: string): Monitored {
    return { bundle: this.#root.bundle(id), init: this.#launched.init(id) };
  }

  leftovers(): Promise<string[]> {
    const ids = [
      ...readdirSync(this.#root.containers),
      ...readdirSync(this.#root.runc),
      ...this.#cgroups.list(),
    ];
    return Promise.resolve([...new Set(ids)].filter((id) => FULL_ID.test(id)));
  }

  /** Stops watching. Containers go on. */
  [Symbol.dispose](): void {
    this.#parts.exits[Symbol.dispose]();
    this.#parts.ooms[Symbol.dispose]();
    this.#parts.program[Symbol.dispose]();
    this.#orphans[Symbol.dispose]();
  }
}
