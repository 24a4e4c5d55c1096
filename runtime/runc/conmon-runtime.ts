import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { mustRunCommand } from '../../daemon/base/command.ts';
import { conflict, errorText, internal, invalidArgument, invariant } from '../../daemon/base/errors.ts';
import { failpoint } from '../../daemon/base/failpoint.ts';
import { FULL_ID } from '../../daemon/base/ids.ts';
import { adoptOrphans } from '../../daemon/base/kernel/children.ts';
import { limitFileSize } from '../../daemon/base/kernel/file-size-limit.ts';
import { sendSignal } from '../../daemon/base/kernel/pidfd.ts';
import { Poller } from '../../daemon/base/kernel/poller.ts';
import { identify, isAlive } from '../../daemon/base/kernel/process.ts';
import type { ProcessIdentity } from '../../daemon/base/kernel/process.ts';
import { limits } from '../../daemon/base/limits.ts';
import type { Logger } from '../../daemon/base/logger.ts';
import { Rollback } from '../../daemon/base/rollback.ts';
import { ContainerCgroups } from '../cgroups/container-control.ts';
import { CgroupManager } from '../cgroups/manager.ts';
import type { CgroupManagerDeps } from '../cgroups/manager.ts';
import { QuickMoves } from '../cgroups/quick-moves.ts';
import { removeEndedSessions } from '../exec/abandoned.ts';
import { ExecSession } from '../exec/exec-session.ts';
import type { ExecRequest } from '../exec/exec-session.ts';
import { createArgv } from '../monitor/conmon-argv.ts';
import type { MonitorSettings } from '../monitor/conmon-argv.ts';
import { ExitRecords } from '../monitor/exit-records.ts';
import { ExitWatch } from '../monitor/exit-watch.ts';
import type { ContainerExit } from '../monitor/exit-watch.ts';
import { endMonitor, monitorOf } from '../monitor/monitor-pid.ts';
import { OomWatch, type OomListener } from '../monitor/oom-watch.ts';
import { MonitorProcess } from '../monitor/monitor-process.ts';
import { connectStdio } from '../monitor/stdio-channel.ts';
import type { ConmonStdio } from '../monitor/stdio-channel.ts';
import { MonitorControl } from '../monitor/control.ts';
import { reopenLog } from '../monitor/reopen-log.ts';
import { SealedBinary } from './sealed-binary.ts';
import { ExecRoot } from './exec-root.ts';
import { runcFailure } from './failure.ts';
import { OtherRuntimes, writeInit } from './other-runtime.ts';
import type { ConfiguredRuntimes, RuntimeProgram } from './other-runtime.ts';
import { writeLaunchRecord } from './launch-record.ts';
import type { LaunchRequest } from './launch-request.ts';
import { LaunchedContainers } from './launched.ts';
import { encodeSpec } from './spec-json.ts';
import { hasNeverRun, isWaiting, releaseInit } from './state.ts';
import type { CommandTraits } from './state.ts';

export interface ConmonRuntimeDeps {
  /** Absolute paths of the programs. */
  runcPath: string;
  runtimes: ConfiguredRuntimes;
  conmonPath: string;
  /** Directory for everything live, usually on a tmpfs; short, because conmon makes sockets in it. */
  execRoot: string;
  cgroup: CgroupManagerDeps;
  log: Logger;
}

/** Sockets have 108 bytes for their path; conmon's console sockets are named `XXXXXX/conmon-term.XXXXXX`. */
const TEMPORARY_PATH_MAX = 78;

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
  readonly #deps: ConmonRuntimeDeps;
  readonly #root: ExecRoot;
  readonly #program: SealedBinary;
  readonly #temporary: string;
  readonly #cgroups: CgroupManager;
  readonly #quickMoves: QuickMoves;
  readonly #records: ExitRecords;
  readonly #exits: ExitWatch;
  readonly #ooms: OomWatch;
  readonly #poller = new Poller();
  readonly #control = new MonitorControl();
  readonly #orphans = adoptOrphans();
  readonly #launched: LaunchedContainers;
  readonly #others: OtherRuntimes;

  constructor(deps: ConmonRuntimeDeps) {
    this.#deps = deps;
    this.#root = new ExecRoot(deps.execRoot);
    this.#root.prepare();
    this.#temporary = this.#root.temporary.length <= TEMPORARY_PATH_MAX ? this.#root.temporary : '/tmp';
    this.#cgroups = new CgroupManager(deps.cgroup);
    this.#launched = new LaunchedContainers(this.#root, this.#cgroups);
    this.#others = new OtherRuntimes({
      configured: deps.runtimes,
      root: this.#root.runc,
      systemdCgroup: deps.cgroup.driver === 'systemd',
      programOf: (id) => this.#launched.record(id)?.runtime,
      log: deps.log,
    });
    this.control = new ContainerCgroups({
      ...deps.cgroup,
      cgroupsPath: (id) => this.#launched.cgroupsPath(id),
      limitsMarker: (id) => this.#root.bundle(id).limitsMarker,
    });
    this.#quickMoves = new QuickMoves({ layout: deps.cgroup.layout, log: deps.log });
    this.#records = new ExitRecords({ directory: this.#root.exits, log: deps.log });
    this.#program = new SealedBinary(deps.runcPath, deps.log);
    this.#exits = new ExitWatch({
      records: this.#records,
      oomKilled: (id) => this.#wasOomKilled(id),
      monitorAlive: (id) => this.isMonitored(id),
      inherited: () => this.#launched.inherited(),
      log: deps.log,
    });
    this.#ooms = new OomWatch({
      sign: (id) => {
        const counts = this.#cgroups.memoryEvents(this.#launched.cgroupsPath(id));
        return counts === undefined
          ? { kind: 'marker', file: this.#root.bundle(id).oom }
          : { kind: 'counts', file: counts };
      },
      kills: (id) => this.#cgroups.oomKills(this.#launched.cgroupsPath(id)),
      isStarving: (id) => this.#cgroups.isStarving(this.#launched.cgroupsPath(id)),
      log: deps.log,
    });
    removeEndedSessions(
      this.#root,
      (id) => this.#cgroups.processes(this.#launched.cgroupsPath(id)),
      deps.log,
    );
  }

  async launch(request: LaunchRequest): Promise<ProcessIdentity> {
    const { id, spec, terminal, stdin } = request;
    invariant(FULL_ID.test(id), `not a container id: ${id}`);
    if (request.logPath?.includes(':') === true) {
      throw invalidArgument(`log file ${request.logPath}: conmon takes no path with a colon`);
    }
    using _quickMoves = this.#quickMoves.hold();
    this.#root.ensure();
    await this.#makeRoom(id);
    await using rollback = new Rollback(this.#deps.log, { container: id });
    rollback.defer('remove what launch made', async () => {
      await this.cleanUp(id);
      this.#exits.forget(id);
    });
    const bundle = this.#root.bundle(id);
    const runtime = this.#others.named(request.runtime);
    const record = { cgroupsPath: spec.linux.cgroupsPath, terminal, stdin, ...(runtime && { runtime }) };
    mkdirSync(bundle.path, { mode: 0o700 });
    writeLaunchRecord(bundle.launch, record);
    writeFileSync(bundle.config, encodeSpec(spec), { mode: 0o600 });
    this.#launched.note(id, { record });
    this.#cgroups.expect(record.cgroupsPath);
    failpoint('runtime.launch.bundle');
    using program = this.#program.lease();
    const argv = createArgv(this.#settings(runtime ?? { path: program.path, args: [] }), {
      id,
      bundle,
      terminal,
      stdin: stdin !== 'none',
      // A terminal stays usable when its client detaches, also with StdinOnce (moby container/stream/attach.go).
      leaveStdinOpen: stdin === 'open' || terminal,
      logPath: request.logPath,
    });
    using monitor = await MonitorProcess.start(argv, {
      cwd: bundle.path,
      ...(terminal && { temporary: this.#temporary }),
      stepwise: false,
    });
    rollback.defer('wait until the monitor can be ended', () => monitor.forked);
    failpoint('runtime.launch.spawn');
    const { data, message } = await monitor.report(limits.launchTimeoutMs);
    if (data < 0) {
      throw runcFailure('create', message ?? '');
    }
    const init = identify(data);
    if (init === undefined) {
      throw internal(`create container ${id}: its init ended at once`, { details: { exitCode: 128 } });
    }
    if (runtime !== undefined) {
      writeInit(bundle.init, init);
    }
    this.limitLog(id, request.logBytesMax);
    failpoint('runtime.launch.created');
    this.#launched.note(id, { record, init });
    this.#exits.expect(id, init);
    this.#ooms.expect(id);
    rollback.commit();
    return init;
  }

  async begin(id: string, command: CommandTraits = {}): Promise<void> {
    failpoint('runtime.begin.fifo');
    const other = this.#others.of(id);
    if (other !== undefined) {
      await other.start();
      writeFileSync(this.#root.bundle(id).begun, '', { mode: 0o600 });
    } else if (!(await releaseInit(this.#root.state(id), this.#launched.init(id), command))) {
      await this.#runc('start', id);
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
      this.#deps.log.warn(
        { container: id },
        'what the runtime kept of a container is gone from exec root; it runs on',
      );
      this.#launched.note(id, { init });
      this.#exits.expect(id, init);
      this.#ooms.expect(id);
    }
  }

  isMonitored(id: string): boolean {
    return monitorOf(this.#root.bundle(id)) !== undefined;
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
          this.#deps.log.error({ container: id, signal, err: error }, 'a signal could not be sent');
        });
    }
  }

  async killAll(id: string): Promise<void> {
    if (!(await this.#cgroups.killAll(this.#launched.cgroupsPath(id)))) {
      this.#deps.log.warn({ container: id }, 'killed processes have not ended yet');
    }
  }

  async cleanUp(id: string): Promise<void> {
    const bundle = this.#root.bundle(id);
    this.#ooms.forget(id);
    this.#exits.disregard(id);
    if (this.#records.read(id) === undefined) {
      // Half-created, or asked to end without an exit: a monitor that lives would go on creating or wait for ever.
      await endMonitor(bundle);
      this.#records.removeDrafts(id);
    }
    if (existsSync(this.#root.state(id))) {
      await this.#others.of(id)?.delete();
    }
    failpoint('runtime.cleanup.cgroup');
    await this.#removeCgroup(id);
    failpoint('runtime.cleanup.state');
    rmSync(this.#root.state(id), { recursive: true, force: true });
    failpoint('runtime.cleanup.bundle');
    rmSync(bundle.path, { recursive: true, force: true });
    this.#launched.forget(id);
  }

  exitOf(id: string): ContainerExit | undefined {
    return this.#exits.exitOf(id);
  }

  forgetExit(id: string): void {
    // In this order: dying in between, the next daemon is told once more rather than taking the exit for a lost one.
    rmSync(this.#root.bundle(id).pidFile, { force: true });
    this.#exits.forget(id);
  }

  onExit(listener: (exit: ContainerExit) => void): Disposable {
    return this.#exits.onExit(listener);
  }

  /** Calls back when a container has no more memory: see `OomWatch`. Of an earlier daemon's containers as well. */
  onOom(listener: OomListener): Disposable {
    for (const [id] of this.#launched.inherited()) {
      this.#ooms.expect(id);
    }
    return this.#ooms.onOom(listener);
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
    return connectStdio(this.#root.bundle(id).attach, this.#poller, {
      acceptsInput: options.stdin && record.stdin !== 'none',
      lingers: !options.stdin && record.stdin === 'once' && !record.terminal,
      isProcessAlive: () => init !== undefined && isAlive(init),
    });
  }

  resize(id: string, height: number, width: number): Promise<void> {
    return Promise.resolve().then(() =>
      this.#control.resize(this.#root.bundle(id).control, { height, width }),
    );
  }

  /**
   * Makes the monitor go on in a new file at `logPath`, whose last file was renamed and whose draft is there. Resolves
   * when it has, or has ended. Idempotent.
   */
  reopenLog(id: string, logPath: string): Promise<void> {
    return reopenLog(this.#control, this.#root.bundle(id), logPath);
  }

  /**
   * Bounds each file of a container's log, for as long as its monitor lives, with or without a daemon. What does not
   * fit is lost until the log is rotated. Nothing happens when the monitor has ended.
   */
  limitLog(id: string, bytesMax: number | null): void {
    const monitor = monitorOf(this.#root.bundle(id));
    if (monitor === undefined) {
      return;
    }
    try {
      if (!limitFileSize(monitor, bytesMax)) {
        this.#deps.log.warn(
          { container: id },
          'the monitor takes no bound of its log: it was started by an older daemon',
        );
      }
    } catch (error) {
      // It ended just now, or the kernel forbids it: the log is still looked at and rotated.
      this.#deps.log.warn({ container: id, err: error }, 'the size of a log could not be bounded');
    }
  }

  expectExec(): void {
    this.#quickMoves.expect();
  }

  async exec(request: ExecRequest): Promise<ExecSession> {
    invariant(FULL_ID.test(request.execId), `not an exec id: ${request.execId}`);
    const container = this.#root.bundle(request.containerId);
    if (!existsSync(container.path)) {
      throw conflict(`container ${request.containerId} is not running`);
    }
    using _quickMoves = this.#quickMoves.hold();
    const runtime = this.#launched.record(request.containerId)?.runtime;
    using program = this.#program.lease();
    return await ExecSession.start(
      {
        settings: this.#settings(runtime ?? { path: program.path, args: [] }),
        isRunc: runtime === undefined,
        temporary: this.#temporary,
        bundle: container.exec(request.execId),
        connect: (path, options) => connectStdio(path, this.#poller, { ...options, lingers: false }),
        control: this.#control,
        poller: this.#poller,
        processes: () => this.#cgroups.processes(this.#launched.cgroupsPath(request.containerId)),
        log: this.#deps.log,
      },
      request,
    );
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
    this.#exits[Symbol.dispose]();
    this.#ooms[Symbol.dispose]();
    this.#program[Symbol.dispose]();
    this.#orphans[Symbol.dispose]();
  }

  #settings({ path, args }: RuntimeProgram): MonitorSettings {
    return {
      conmonPath: this.#deps.conmonPath,
      runtimePath: path,
      runtimeArgs: args,
      runcRoot: this.#root.runc,
      exitDirectory: this.#root.exits,
      systemdCgroup: this.#deps.cgroup.driver === 'systemd',
    };
  }

  /** An id is launched again and again; what an earlier crash left of it must not be in the way. */
  async #makeRoom(id: string): Promise<void> {
    const init = this.#launched.init(id);
    if (init !== undefined && isAlive(init)) {
      throw conflict(`create container ${id}: it is running`);
    }
    if (existsSync(this.#root.bundle(id).path) || existsSync(this.#root.state(id))) {
      await this.cleanUp(id);
    }
    this.#exits.forget(id);
  }

  async #removeCgroup(id: string): Promise<void> {
    const cgroupsPath = this.#launched.cgroupsPath(id);
    if (this.#cgroups.driver === 'systemd' && existsSync(this.#root.state(id))) {
      // The scope belongs to systemd, which must be asked to drop it.
      await this.#runc('delete', '--force', id);
    }
    try {
      await this.#cgroups.remove(cgroupsPath);
    } catch (error) {
      if (!existsSync(this.#root.state(id))) {
        throw error;
      }
      this.#deps.log.warn({ container: id, err: error }, 'leaving the removal of a cgroup to runc');
      await this.#runc('delete', '--force', id);
      await this.#cgroups.remove(cgroupsPath);
    }
  }

  async #runc(...args: [string, ...string[]]): Promise<void> {
    const global = [
      '--root',
      this.#root.runc,
      ...(this.#cgroups.driver === 'systemd' ? ['--systemd-cgroup'] : []),
    ];
    try {
      await mustRunCommand([this.#deps.runcPath, ...global, ...args]);
    } catch (error) {
      throw internal(`OCI runtime ${args[0]} failed: ${errorText(error)}`, { cause: error });
    }
  }

  #wasOomKilled(id: string): boolean {
    // conmon may end before it is told of the kill that ended its container; the kernel's own count stays.
    const counted = this.#cgroups.oomKilled(this.#launched.cgroupsPath(id));
    return counted || existsSync(this.#root.bundle(id).oom);
  }
}
