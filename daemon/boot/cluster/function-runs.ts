import { duplexPair } from 'node:stream';
import type { EnginePorts } from '../../../api/types/ports.ts';
import { Semaphore } from '../../base/concurrency/semaphore.ts';
import { EngineError, errorText } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import type { FunctionRuns } from '../../cluster/targets/forwarding/functions.ts';
import { targetLimits } from '../../cluster/targets/limits.ts';

type Containers = Pick<EnginePorts['containers'], 'create' | 'attach' | 'start' | 'wait' | 'remove'>;

/** By which containers of functions are found; those that a daemon leaves when it dies too. */
const FUNCTION_LABEL = 'berth.function';

/** Runs an image once for each event, as a container that is removed behind its answer. */
export class EngineFunctions implements FunctionRuns {
  readonly #containers: Containers;
  readonly #log: Logger;
  readonly #turns = new Semaphore(targetLimits.functionsAtOnce);

  constructor(containers: Containers, log: Logger) {
    this.#containers = containers;
    this.#log = log;
  }

  async run(image: string, event: string, options: { timeoutMs: number; outputBytesMax: number }) {
    const signal = AbortSignal.timeout(options.timeoutMs);
    return await this.#turns.run(() => this.#once(image, event, { ...options, signal }), signal);
  }

  async #once(
    image: string,
    event: string,
    { signal, outputBytesMax }: { signal: AbortSignal; outputBytesMax: number },
  ): Promise<string> {
    const body = {
      Image: image,
      OpenStdin: true,
      StdinOnce: true,
      AttachStdin: true,
      AttachStdout: true,
      Labels: { [FUNCTION_LABEL]: image },
      HostConfig: { AutoRemove: true },
    };
    const { Id } = await this.#containers.create(undefined, body, { signal });
    try {
      const { done } = await this.#containers.wait(Id, { condition: 'next-exit', signal });
      const output = this.#talk(Id, event, outputBytesMax);
      // It is awaited below, whatever the start says before.
      output.catch(() => undefined);
      await this.#containers.start(Id, {});
      const { StatusCode } = await done;
      if (StatusCode !== 0) {
        throw new EngineError('remote', `${image} ended with exit code ${StatusCode}`);
      }
      return await output;
    } finally {
      this.#removeLater(Id);
    }
  }

  /** Gives the event to its standard input, and gathers what it writes. Throws resource_exhausted. */
  async #talk(id: string, event: string, outputBytesMax: number): Promise<string> {
    const conversation = await this.#containers.attach(id, {
      logs: false,
      stream: true,
      stdin: true,
      stdout: true,
      stderr: false,
      unframed: true,
    });
    const [ours, engines] = duplexPair();
    const over = conversation.connect(engines);
    ours.end(event);
    const pieces: Buffer[] = [];
    let bytes = 0;
    for await (const piece of ours) {
      // Streams without an encoding give buffers.
      const buffer = piece as Buffer;
      bytes += buffer.length;
      if (bytes > outputBytesMax) {
        ours.destroy();
        throw new EngineError('resource_exhausted', `the function wrote more than ${outputBytesMax} bytes`);
      }
      pieces.push(buffer);
    }
    await over;
    return Buffer.concat(pieces).toString();
  }

  /** One that ended goes by itself; one whose time is over does not. */
  #removeLater(id: string): void {
    this.#containers.remove(id, { volumes: true, force: true, link: false }).catch((error: unknown) => {
      this.#log.debug(
        { container: id, reason: errorText(error) },
        'the container of a function was gone already',
      );
    });
  }
}
