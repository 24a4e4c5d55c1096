/**
 * What the container domain needs from the kernel, the disk and its neighbours. Declared here, satisfied structurally
 * by `runtime/*`, `storage/*` and the other domains; `daemon/boot/compose.ts` is where the compiler checks it. The
 * types of the values that go in and out are those of the other side.
 */
import type { CdiEdits } from '../../runtime/cdi/cdi-spec.ts';
import type { ExecRequest } from '../../runtime/exec/exec-session.ts';
import type { LoggedContainer } from '../../runtime/log-drivers/logged-container.ts';
import type { ContainerExit } from '../../runtime/monitor/exit-watch.ts';
import type { OomListener } from '../../runtime/monitor/oom-watch.ts';
import type { OverlayLayout } from '../../runtime/mounts/kernel-mounts.ts';
import type { LaunchRequest } from '../../runtime/runc/launch-request.ts';
import type { CommandTraits } from '../../runtime/runc/state.ts';
import type { InitLayerDraft, RootfsLayout } from '../../storage/layers/rootfs.ts';
import type { HubTokenRequest } from '../base/hub-token-labels.ts';
import type { ProcessIdentity } from '../base/kernel/processes/process.ts';
import type { CommitPlan, CommitRequest } from '../images/commit/commit-container.ts';
import type { ResolvedImage } from '../images/images.ts';
import type { LiveSandbox, Sandbox, SandboxRequest } from '../networks/sandbox/sandbox.ts';
import type { VolumeCreateOptions, VolumeReservation } from '../volumes/create.ts';
import type { ContainerControl } from './control/ports.ts';
import type { NormalLogConfig } from './request/log-config.ts';
import type { ExecProcess, StdioChannel } from './stdio/process-streams.ts';

// ---------------------------------------------------------------------------------------------- runtime

/** Containers as processes: conmon watches, runc creates. Every method is idempotent where it undoes. */
export interface ContainerRuntime {
  /**
   * Starts a monitor and creates the container; resolves when its init waits to be let go.
   * Throws EngineError invalid_argument with details.exitCode 126 (cannot execute) or 127 (no such file) when the
   * command is at fault, internal otherwise (details.exitCode 128). Leaves nothing behind when it throws.
   */
  launch(request: LaunchRequest): Promise<ProcessIdentity>;
  /**
   * Lets the created init execute its command; resolves when that runs. `passesSignalsOn`: the command is the little
   * init of `HostConfig.Init`, and is waited for until it takes signals.
   */
  begin(id: string, command?: CommandTraits): Promise<void>;
  /** True when created but never begun (the daemon died in between). */
  isWaiting(id: string): boolean;
  /** True when init has ended before it executed the command: the daemon that let it go died at that very moment. */
  hasNeverRun(id: string, init: ProcessIdentity): boolean;
  /** A container of an earlier daemon that runs: its end is told, also when nothing but its process is left of it. */
  adopt(id: string, init: ProcessIdentity): void;
  /** Sends a signal to init. A process that is gone is not an error. */
  signal(process: ProcessIdentity, signal: number): void;
  /** Kills everything in the container's cgroup. */
  killAll(id: string): Promise<void>;
  /** Removes what the runtime keeps of an ended or half-created container: runc state, cgroups, bundle, monitor. */
  cleanUp(id: string): Promise<void>;
  /** Exit of a container whose monitor already recorded it. */
  exitOf(id: string): ContainerExit | undefined;
  /** True while the monitor lives that records its exit; without one no exit is recorded. */
  isMonitored(id: string): boolean;
  /** Forgets a recorded exit once it is in the database. */
  forgetExit(id: string): void;
  /** Calls back once per exit of any container, in no particular order, also for exits noticed late. */
  onExit(listener: (report: ContainerExit) => void): Disposable;
  /**
   * Calls back when a running container has no more memory: the kernel has killed processes of it, or, where it may
   * not, they wait.
   */
  onOom(listener: OomListener): Disposable;
  /** `stdin: false` writes nothing, and its leaving does not count as the end of input (`once`). Default true. */
  attach(id: string, options?: { stdin: boolean }): Promise<StdioChannel>;
  resize(id: string, height: number, width: number): Promise<void>;
  exec(request: ExecRequest): Promise<ExecProcess>;
  /** What a running container may use and do. */
  readonly control: ContainerControl;
  /** Ids of which anything of ours exists (state, bundle, cgroup): the sweep after a crash asks. */
  leftovers(): Promise<string[]>;
}

// ---------------------------------------------------------------------------------------------- storage

export interface RootfsStore {
  /**
   * Makes the container's directory, and in it upper, work and merged over these layers (bottom first). Idempotent.
   * `isBare`: until it is removed, or the daemon ends, its layout is without the init layer.
   */
  create(containerId: string, layerIds: readonly number[], options?: { isBare: boolean }): Promise<void>;
  isBare(containerId: string): boolean;
  /**
   * Puts a limit of what the container may write into force, unless it has one. Throws invalid_argument where files
   * cannot be limited.
   */
  limit(containerId: string, bytes: number): Promise<void>;
  /** Topmost first; with the init layer of these layers where it has been made. */
  layout(containerId: string, layerIds: readonly number[]): RootfsLayout;
  /** The directories of these layers alone, topmost first. */
  lowers(layerIds: readonly number[]): string[];
  /** To make it: `place` puts what was written to the overlay there. Undefined where there is nothing to be done. */
  draftInitLayer(layerIds: readonly number[]): InitLayerDraft | undefined;
  /** A work directory for one overlay, gone with it. */
  scratchWork(): { path: string } & AsyncDisposable;
  /**
   * Removes the container's directory with everything in it: its layer, its log, its files. Idempotent. `leaveEmpty`:
   * an empty directory stays, which says so until `forgetRemoved`.
   */
  remove(containerId: string, options?: { leaveEmpty: boolean }): Promise<void>;
  /** Whether a directory is there and says that its container was removed. */
  isRemoved(containerId: string): boolean;
  forgetRemoved(containerId: string): void;
  /** Bytes in the container's own layer. */
  sizeRw(containerId: string): Promise<number>;
  /** Bytes of these layers. */
  sizeRootFs(layerIds: readonly number[]): number;
  /** Notes that its files, which could not be removed, have no owner any more. */
  markRemoved(containerId: string): void;
  /**
   * Takes a directory without a row away. What a container wrote is kept in `quarantine`: answers where; undefined when
   * there was nothing to keep.
   */
  clearOrphan(containerId: string): Promise<string | undefined>;
  /** Ids with a directory, for the sweep. */
  list(): Promise<string[]>;
}

export interface MountRunner {
  /** `isVolatile`: what is written is synced to the disk by nobody, and it is mounted only once. */
  overlay(layout: OverlayLayout, options: { readonly: boolean; isVolatile?: boolean }): Promise<void>;
  /** Shows directories at `target` as one that nobody can write to, topmost first; none: `target` stays as it is. */
  overlayView(lowers: readonly string[], target: string): Promise<void>;
  /** An empty file system in memory, without devices, set-user-id and programs. `source` is the name it shows. */
  tmpfs(target: string, options: { source: string; sizeBytes: number; mode: number }): Promise<void>;
  /** The same for what must never be on a disk, also not swapped out. */
  secretTmpfs(target: string, options: { source: string; sizeBytes: number; mode: number }): Promise<void>;
  /** Shows the file system at `source` at `target` too; mounted before this returns its promise. */
  bind(source: string, target: string): Promise<void>;
  /** Detaches whatever is mounted at `path`, waiting for it. Nothing mounted is not an error. */
  unmount(path: string): Promise<void>;
  /** Mount points below a directory, deepest first. */
  below(path: string): string[];
}

// ---------------------------------------------------------------------------------------------- logs

/** A container's output, as the keeper of logs must know it. */
export interface LoggedRun extends LoggedContainer {
  /** The file that the monitor appends to. */
  logPath: string;
  logConfig: NormalLogConfig;
}

/** Keeps the files that monitors write in bounds, and brings their contents where the container wants them. */
export interface LogKeeper {
  /** Before a run; answers its `logBytesMax`. Throws EngineError when its output could not be delivered. */
  open(run: LoggedRun): Promise<number | null>;
  /** The run is over, or came to nothing: what was written is still delivered, behind this. */
  ended(run: LoggedRun): void;
  /** Before the files go. Waits a moment for the rest to be delivered. */
  remove(run: LoggedRun): Promise<void>;
  /** At the daemon's start: goes on where the last daemon was. */
  adopt(run: LoggedRun, state: { isRunning: boolean }): void;
  close(): void;
}

// ---------------------------------------------------------------------------------------------- neighbours

export interface ImageCatalog {
  /**
   * Of several images under a name the one for the platform that is asked for, else that for the host. Throws not_found
   * `No such image: NAME:TAG`; that an image is for another platform is the caller's to find.
   */
  resolve(ref: string, platform?: { os?: string; architecture?: string; variant?: string }): ResolvedImage;
  /** Ids of the image and of all that were made from it here; none when there is no such image. */
  descendants(ref: string): string[];
  /** How an image is shown for a container: the name it was created from, or the id when that now names another. */
  displayName(imageId: string, createdFrom: string): string;
  /** Diff IDs of those of these layers whose files are lost until their image is pulled or loaded again. */
  lostLayers(layerIds: readonly number[]): string[];
  /** Keeps layers until disposed: for a container whose row is not stored yet. */
  pin(layerIds: readonly number[]): Disposable;
  /** Checks everything a client said for a commit before the container is touched. Throws invalid_argument. */
  planCommit(request: CommitRequest): CommitPlan;
  /** A container of this image is gone: what only it still held goes too. */
  containerRemoved(imageId: string): Promise<void>;
}

export interface NetworkSandboxes {
  /** The network of a name, id or unique prefix; `default` is the default bridge. */
  find(ref: string): { id: string; name: string } | undefined;
  /** The kind of a network, as events tell it. */
  driverOf(networkName: string): string;
  /** Checks what can be checked without the kernel and of networks that are there; throws invalid_argument. */
  validate(request: Omit<SandboxRequest, 'containerId' | 'containerName'>): void;
  /** Makes namespace, addresses, firewall elements and port reservations; leaves nothing when it throws. */
  open(request: SandboxRequest): Promise<Sandbox>;
  /** Puts an open sandbox into one more network; returns it as it is now. Nothing has changed when it throws. */
  connect(live: Sandbox, request: SandboxRequest, networkName: string): Promise<Sandbox>;
  /**
   * Leads it out of a network: `sandbox` is it without, `finish` takes the interface away once that is stored, `undo`
   * makes everything as it was. Both are idempotent. Nothing has changed when it throws.
   */
  disconnect(
    live: Sandbox,
    request: SandboxRequest,
    networkName: string,
  ): Promise<{ sandbox: Sandbox; undo: () => void | Promise<void>; finish: () => Promise<void> }>;
  /** From here on the container is known in its networks by this name; returns its sandbox as it is now. */
  renamed(live: Sandbox, request: SandboxRequest): Sandbox;
  /** Undoes `open`; idempotent, also for a sandbox of which only parts exist. */
  close(containerId: string, sandbox: Sandbox | undefined): Promise<void>;
  /** After a restart: takes these over, rebuilds the firewall from them, removes every other one's remains. */
  restore(live: readonly LiveSandbox[]): Promise<void>;
}

export interface VolumeBinder {
  /** The volume of this name, created when missing (`anonymous` when the engine made up the name). */
  ensure(
    name: string,
    options: VolumeCreateOptions,
  ): Promise<{ name: string; mountpoint: string; driver: string; created: boolean }>;
  /**
   * Makes an anonymous volume for a container that is being created. It exists once `store` has run, in the transaction
   * that stores the container: a daemon that dies before leaves an empty directory, which its next start removes.
   * `undo` takes it back when that transaction fails. One that exists is left alone by both.
   */
  reserveAnonymous(name: string, options: Omit<VolumeCreateOptions, 'anonymous'>): Promise<VolumeReservation>;
  /** Fills an empty volume from the image's directory at first use (copy-up), unless `noCopy`. */
  populate(name: string, sourceRoot: string, sourcePath: string): Promise<void>;
  /** Whether no more than a size that was asked for fits into the volume. */
  isLimited(name: string): boolean;
  /** What keeps the volume's contents; undefined = there is no such volume. */
  driverOf(name: string): string | undefined;
  /**
   * The volume's contents are at the path answered from here on until its last holder releases it. Both are idempotent.
   */
  acquire(name: string, holder: string): Promise<string>;
  release(name: string, holder: string): Promise<void>;
  /** `mount`, where known, goes into the event as dockerd has it. */
  mounted(
    name: string,
    containerId: string,
    mount?: { destination: string; readWrite: boolean; propagation: string },
  ): void;
  unmounted(name: string, containerId: string): void;
  /** Removes a volume if it is anonymous and no container uses it. */
  removeAnonymous(name: string, containerId: string): Promise<void>;
  remove(name: string, options: { force: boolean }): Promise<void>;
}

/** Devices that programs of vendors have described (Container Device Interface). Asked anew each time. */
export interface DescribedDevices {
  /** `vendor.com/class=name`, sorted. */
  names(): string[];
  /** What these bring into a container. Throws invalid_argument for those that are not described. */
  edits(names: readonly string[]): CdiEdits[];
}

/** Tokens of the hub for containers that ask for one by their labels. */
export interface HubTokens {
  /** Where containers find the hub. */
  readonly url: string;
  /** Throws invalid_argument that names the label: no hub here, no such repository, no such permission. */
  check(request: HubTokenRequest): Promise<void>;
  /** A token for one run of a container. Waits for the hub; throws as `check`. */
  mint(request: HubTokenRequest, containerId: string): Promise<string>;
  /** Ends all tokens of the container. Idempotent; what ends before the hub is there is ended with its start. */
  revoke(containerId: string): Promise<void>;
}
