import type { MessagePort } from 'node:worker_threads';
import { EngineError, errorText, type ErrorCode } from '../../../daemon/base/errors.ts';
import type { ArchiveJob, ArchiveResult } from '../../files/jobs.ts';
import type { AppliedLayer, ApplyRequest } from '../apply-request.ts';
import type { Composed, ComposeRequest } from '../compose/compose.ts';
import type { PlacedMembers, PlacedTree, PlaceRequest } from '../../files/place.ts';
import { packMembers, unpackMembers, type PackedMembers } from '../../tar/packed-members.ts';
import type { PackedLayer, PackRequest } from '../pack.ts';

/** What a layer is composed of, on its way. */
export interface PackedRequest extends Pick<ComposeRequest, 'directory'> {
  files: Omit<PlaceRequest, 'source'> & {
    source: PlacedTree | (Omit<PlacedMembers, 'members'> & { members: PackedMembers });
  };
}

/** What the main thread asks of a worker; one job at a time. */
export type LayerJob =
  | { kind: 'archive'; job: ArchiveJob; control: SharedArrayBuffer }
  | { kind: 'apply'; request: ApplyRequest; control: SharedArrayBuffer }
  /** `helper` leads to the thread that does `help` with the other end of it. */
  | { kind: 'compose'; request: PackedRequest; helper?: MessagePort; control: SharedArrayBuffer }
  | { kind: 'help'; port: MessagePort; control: SharedArrayBuffer }
  | { kind: 'pack'; request: PackRequest; control: SharedArrayBuffer }
  | { kind: 'replay'; directory: string; diffId: string; control: SharedArrayBuffer };

/** What a worker answers: any number of chunks (replay, tar), then done or failed. */
export type LayerReply =
  | { kind: 'chunk'; chunk: Uint8Array }
  | { kind: 'applied'; layer: AppliedLayer }
  | { kind: 'composed'; composed: Composed }
  | { kind: 'helped' }
  | { kind: 'packed'; packed: PackedLayer }
  | { kind: 'replayed' }
  | { kind: 'archived'; result: ArchiveResult }
  | { kind: 'failed'; code: ErrorCode; message: string };

/**
 * A few words shared by both threads, so that neither sends messages for them: a flag to stop, how far an apply has
 * come, and how many chunks a replay may still send.
 */
export class SharedControl {
  readonly #flags: Int32Array;
  readonly #bytes: BigInt64Array;
  readonly memory: SharedArrayBuffer;

  constructor(memory = new SharedArrayBuffer(16)) {
    this.memory = memory;
    this.#flags = new Int32Array(memory, 0, 2);
    this.#bytes = new BigInt64Array(memory, 8, 1);
  }

  cancel(): void {
    Atomics.store(this.#flags, 0, 1);
    Atomics.notify(this.#flags, 1);
  }

  isCanceled(): boolean {
    return Atomics.load(this.#flags, 0) === 1;
  }

  progress(bytes: number): void {
    Atomics.store(this.#bytes, 0, BigInt(bytes));
  }

  get bytesRead(): number {
    return Number(Atomics.load(this.#bytes, 0));
  }

  /** The receiver takes this many more chunks. */
  grant(chunks: number): void {
    Atomics.add(this.#flags, 1, chunks);
    Atomics.notify(this.#flags, 1);
  }

  /** Blocks this thread until a chunk may be sent; false when canceled. Never on the main thread. */
  waitForGrant(): boolean {
    while (!this.isCanceled()) {
      const granted = Atomics.load(this.#flags, 1);
      if (granted > 0) {
        Atomics.sub(this.#flags, 1, 1);
        return true;
      }
      // Woken by grant and cancel; the timeout closes the gap between the look at the flag and the wait.
      Atomics.wait(this.#flags, 1, 0, 1000);
    }
    return false;
  }
}

/** The error of a failed job. */
export function toError({ code, message }: Extract<LayerReply, { kind: 'failed' }>): EngineError {
  return new EngineError(code, message);
}

/** An error as a message can carry it. */
export function toFailure(error: unknown): Extract<LayerReply, { kind: 'failed' }> {
  const code = error instanceof EngineError ? error.code : 'internal';
  return { kind: 'failed', code, message: errorText(error) };
}

export function packRequest({ directory, files }: ComposeRequest): PackedRequest {
  const { source } = files;
  const packed = source.kind === 'tree' ? source : { ...source, members: packMembers(source.members) };
  return { directory, files: { ...files, source: packed } };
}

export function unpackRequest({ directory, files }: PackedRequest): ComposeRequest {
  const { source } = files;
  const unpacked = source.kind === 'tree' ? source : { ...source, members: unpackMembers(source.members) };
  return { directory, files: { ...files, source: unpacked } };
}
