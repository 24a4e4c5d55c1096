import { formatNano } from '../../base/clock.ts';
import { formatDuration } from '../../base/go/duration.ts';
import { errorText } from '../../base/errors.ts';
import { failpoint } from '../../base/failpoint.ts';
import { newId } from '../../base/ids.ts';
import type { Semaphore } from '../../base/concurrency/semaphore.ts';
import type { Container } from '../state/container.ts';
import type { ContainerContext } from '../context.ts';
import { containerEvent } from '../state/events.ts';
import { makeExecProcess } from '../oci/oci-spec.ts';
import type { ExecProcess } from '../stdio/process-streams.ts';
import { toTimerMs } from './check.ts';
import type { HealthCheck } from './check.ts';
import type { ProbeResult } from './health.ts';
import type { Readable } from 'node:stream';
import { limits } from '../../base/limits.ts';

export interface ProbeDeps {
  context: ContainerContext;
  /** Bounds how many probes are being started at a time. */
  launches: Semaphore;
}

/** Exit code of a probe that could not be run or took too long, as dockerd shows it. */
const NO_EXIT_CODE = -1;

/**
 * One run of a container's health check, by the container's user, in its directory and environment. It is judged at
 * its end or its timeout, whichever comes first; past the timeout everything it started is killed.
 */
export class Probe {
  /** Undefined when it was not run, as the container is being paused. Never rejects. */
  readonly result: Promise<ProbeResult | undefined>;
  /** Resolves once no process of it is left, maybe long after its result. Never rejects. */
  readonly over: Promise<void>;
  readonly #deps: ProbeDeps;
  readonly #container: Container;
  readonly #check: HealthCheck;
  readonly #id = newId();
  readonly #output = new ProbeOutput();
  readonly #expired: Promise<void>;
  #expire!: () => void;
  #startNano: bigint;
  #process: ExecProcess | undefined;
  #isCanceled = false;

  constructor(deps: ProbeDeps, container: Container, check: HealthCheck) {
    this.#deps = deps;
    this.#container = container;
    this.#check = check;
    this.#startNano = deps.context.clock.nowNano();
    this.#expired = new Promise((resolve) => {
      this.#expire = resolve;
    });
    const exited = this.#run();
    this.over = exited.then(
      () => undefined,
      () => undefined,
    );
    this.result = this.#outcome(exited);
  }

  /** Its result is not needed any more: it is killed. */
  cancel(): void {
    this.#isCanceled = true;
    this.#kill();
  }

  async #outcome(exited: Promise<number>): Promise<ProbeResult | undefined> {
    try {
      const exitCode = await Promise.race([exited, this.#expired]);
      if (exitCode !== undefined) {
        return this.#resultOf(exitCode, this.#output.text);
      }
      this.cancel();
      const said = this.#output.text;
      const limit = `Health check exceeded timeout (${formatDuration(this.#check.timeoutNano)})`;
      return this.#resultOf(NO_EXIT_CODE, said === '' ? limit : `${limit}: ${said}`);
    } catch (error) {
      if (this.#isCanceled) {
        return undefined;
      }
      return this.#resultOf(NO_EXIT_CODE, errorText(error));
    }
  }

  #resultOf(exitCode: number, output: string): ProbeResult {
    const end = this.#deps.context.clock.nowNano();
    return { start: formatNano(this.#startNano), end: formatNano(end), exitCode, output };
  }

  /** The exit code. Rejects when the command could not be started. */
  async #run(): Promise<number> {
    const { clock } = this.#deps.context;
    let timer: Disposable | undefined;
    try {
      let launched!: Promise<ExecProcess>;
      await this.#deps.launches.run(async () => {
        // The time spent in the queue is not the container's.
        this.#startNano = clock.nowNano();
        timer = clock.setTimeout(this.#expire, toTimerMs(this.#check.timeoutNano));
        launched = this.#launch();
        // A runtime that hangs keeps its place no longer than the check may take.
        await Promise.race([launched, this.#expired]);
      });
      const process = await launched;
      const exitCode = await process.exited;
      this.#tell('exec_die', { exitCode: String(exitCode) });
      return exitCode;
    } finally {
      timer?.[Symbol.dispose]();
    }
  }

  async #launch(): Promise<ExecProcess> {
    const { context } = this.#deps;
    const { id, launchGate } = this.#container;
    const { args } = this.#check;
    using launching = launchGate.enter();
    if (this.#isCanceled || launching === undefined) {
      this.#isCanceled = true;
      throw new Error('the container is not to be probed now');
    }
    this.#tell(`exec_create: ${args.join(' ')}`);
    failpoint('health.probe.launch');
    const process = await context.runtime.exec({
      containerId: id,
      execId: this.#id,
      process: makeExecProcess(context, this.#container, { Cmd: [...args] }),
      stdin: false,
      endsWithDaemon: true,
    });
    this.#process = process;
    this.#output.read(process.stdout);
    if (process.stderr) {
      this.#output.read(process.stderr);
    }
    this.#tell(`exec_start: ${args.join(' ')}`);
    if (this.#isCanceled) {
      this.#kill();
    }
    return process;
  }

  #kill(): void {
    void this.#process?.killTree().catch((error: unknown) => {
      const { log } = this.#deps.context;
      log.error({ container: this.#container.id, err: error }, 'health check could not be killed');
    });
  }

  /** For subscribers of now; stored, probes would drive everything else out of the history. */
  #tell(action: string, attributes: Record<string, string> = {}): void {
    const { journal } = this.#deps.context;
    journal.tell(containerEvent(this.#container, action, { execID: this.#id, ...attributes }));
  }
}

/**
 * The first bytes that a probe writes, to either stream; the rest is read and dropped: unread, it would hold up the
 * probe.
 */
class ProbeOutput {
  readonly #chunks: Buffer[] = [];
  #size = 0;
  #isCut = false;

  read(stream: Readable): void {
    // A process's stream without an encoding yields Buffers.
    stream.on('data', (chunk: Buffer) => this.#add(chunk));
  }

  /** Bytes that are no UTF-8 become replacement characters; `...` says that there was more. */
  get text(): string {
    return Buffer.concat(this.#chunks).toString('utf8') + (this.#isCut ? '...' : '');
  }

  #add(chunk: Buffer): void {
    const kept = chunk.subarray(0, limits.healthOutputBytesMax - this.#size);
    this.#isCut ||= kept.length < chunk.length;
    if (kept.length > 0) {
      this.#size += kept.length;
      // A copy: the chunk may be a small part of a large buffer.
      this.#chunks.push(Buffer.from(kept));
    }
  }
}
