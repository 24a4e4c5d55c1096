import type { ExecCreateRequest } from '../../api/types/exec.ts';
import type { ExecRequest } from '../../runtime/exec/exec-session.ts';
import type { OciProcess } from '../../runtime/runc/spec-types.ts';
import type { ExecProcess } from '../containers/stdio/process-streams.ts';
import type { EventDraft } from '../events/journal-types.ts';

/** What exec needs of the containers; `daemon/containers` satisfies it. */
export interface ExecTargets {
  /** Resolves when what an earlier daemon left of the container is settled. Throws not_found. */
  whenRestored(ref: string): Promise<void>;
  /** Throws not_found, or conflict with dockerd's text when the container cannot take a process now. */
  execTarget(ref: string): ExecTarget;
}

/** A running container. */
export interface ExecTarget {
  readonly id: string;
  /** Throws conflict with dockerd's text unless the run of the container that the target was taken from goes on. */
  refuseUnlessRunning(): void;
  /**
   * Call it right before the process is launched and dispose when it is there or has failed: the container is not
   * paused meanwhile. Throws as `refuseUnlessRunning`, also while the container is being paused.
   */
  launching(): Disposable;
  /** Resolves when that run is over. Ask once per container: each call is remembered until then. */
  whenEnded(): Promise<unknown>;
  /** Resolves when the container is removed. Ask once per run. */
  whenRemoved(): Promise<unknown>;
  /** The process of a request, in the container's sandbox. Throws invalid_argument. */
  process(request: ExecCreateRequest): OciProcess;
  /** An event of the container. */
  event(action: string, attributes: Record<string, string>): EventDraft;
  /** Never throws. */
  note(event: EventDraft): void;
  /** Exec instances that the container's inspect lists. */
  readonly execIds: Set<string>;
}

/** What exec needs of the runtime. */
export interface ExecRuntime {
  /** A command is likely to be started within milliseconds. */
  expectExec(): void;
  /** Throws EngineError with details.exitCode 126 or 127 when the command is at fault. */
  exec(request: ExecRequest): Promise<ExecProcess>;
}
