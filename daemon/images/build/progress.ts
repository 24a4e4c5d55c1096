import { StringDecoder } from 'node:string_decoder';
import type { ProgressMessage } from '../../../api/types/image.ts';
import { shortId } from '../../base/ids.ts';
import { limits } from '../../base/limits.ts';
import type { Plan } from './dockerfile/stages.ts';
import type { Instruction } from '../../base/dockerfile/instruction.ts';

const STDERR = 2;
const RED = '\u001B[91m';
const PLAIN = '\u001B[0m';

/**
 * What a build reports, kept until its client has taken it. Output of commands waits for the client; messages of the
 * engine itself are short and do not.
 */
export class BuildProgress {
  #queue: ProgressMessage[] = [];
  #bytes = 0;
  #wake: (() => void) | undefined;
  #drained: (() => void)[] = [];
  #isOver = false;
  #steps = { number: 0, total: 0 };
  #decoders = new Map<number, StringDecoder>();

  begin({ globalArgs, stages }: Plan): void {
    this.#steps.total = globalArgs.length + stages.reduce((sum, { steps }) => sum + 1 + steps.length, 0);
  }

  /** A step is announced. */
  step(instruction: Instruction): void {
    this.#steps.number += 1;
    this.#decoders = new Map();
    this.say(`Step ${this.#steps.number}/${this.#steps.total} : ${instruction.written}`);
    this.say('\n');
  }

  /** It was made before. */
  cached(): void {
    this.say(' ---> Using cache\n');
  }

  /** It is done: this is the image now. */
  made(imageId: string): void {
    this.say(` ---> ${shortId(imageId)}\n`);
  }

  /** What a command says to stderr is red. */
  output(stream: number, bytes: Buffer): void {
    const decoder = this.#decoders.get(stream) ?? new StringDecoder('utf8');
    this.#decoders.set(stream, decoder);
    const text = decoder.write(bytes);
    this.say(stream === STDERR ? `${RED}${text}${PLAIN}` : text);
  }

  say(stream: string): void {
    this.send({ stream });
  }

  send(message: ProgressMessage): void {
    this.#queue.push(message);
    this.#bytes += message.stream?.length ?? 0;
    this.#wake?.();
  }

  /** Nothing more comes. */
  end(): void {
    this.#isOver = true;
    this.#wake?.();
    this.#resume();
  }

  /** Resolves when there is room for more. */
  async room(): Promise<void> {
    while (this.#bytes > limits.buildOutputBytesMax && !this.#isOver) {
      await new Promise<void>((resolve) => this.#drained.push(resolve));
    }
  }

  async *messages(): AsyncGenerator<ProgressMessage> {
    for (;;) {
      const queue = this.#queue;
      this.#queue = [];
      this.#bytes = 0;
      this.#resume();
      yield* queue;
      if (this.#queue.length > 0) {
        continue;
      }
      if (this.#isOver) {
        return;
      }
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      this.#wake = undefined;
    }
  }

  #resume(): void {
    const waiting = this.#drained;
    this.#drained = [];
    waiting.forEach((resolve) => resolve());
  }
}
