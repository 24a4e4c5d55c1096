import { execMessage, type ExecMessage } from '../../../api/buildkit/proto/containers.ts';
import type { RpcConversation } from '../../../api/buildkit/rpc/client.ts';
import { commandMeta } from '../../../daemon/build/llb/messages.ts';

type Init = NonNullable<Parameters<typeof execMessage.encode>[0]['init']>;

/** What came of a process: its output, its exit, and the order in which it was told. */
export interface Told {
  out: string;
  err: string;
  code: number | undefined;
  error: string | undefined;
  /** Type and JSON of what the error carries. */
  details: { type: string; value: unknown }[];
  /** `started`, `file 1`, `eof 1`, `exit`, `done`; equal ones in a row once. */
  order: string[];
}

/** A client's stream for processes in containers. */
export class ProcessStream {
  readonly #call: RpcConversation;
  readonly #told = new Map<string, Told>();
  readonly #changed = new Set<() => void>();
  /** Ends with the stream. Rejects with its error. */
  readonly over: Promise<void>;

  constructor(call: RpcConversation) {
    this.#call = call;
    this.over = this.#read();
    this.over.catch(() => undefined /* who waits is told */);
  }

  async start(
    id: string,
    container: string,
    script: string | readonly string[],
    { meta = {}, ...more }: Omit<Init, 'meta'> & { meta?: Parameters<typeof commandMeta.encode>[0] } = {},
  ): Promise<void> {
    const args = typeof script === 'string' ? ['/bin/sh', '-c', script] : [...script];
    const encoded = commandMeta.encode({ args, cwd: '/', ...meta });
    await this.send(id, { init: { containerId: container, fds: [1, 2], meta: encoded, ...more } });
  }

  async input(id: string, text: string, eof = false): Promise<void> {
    await this.send(id, { file: { fd: 0, data: Buffer.from(text), eof } });
  }

  async send(processId: string, message: Parameters<typeof execMessage.encode>[0]): Promise<void> {
    await this.#call.send(execMessage.encode({ processId, ...message }));
  }

  /** Waits until it is so of a process. */
  async until(id: string, isSo: (told: Told) => boolean): Promise<Told> {
    for (;;) {
      const told = this.#of(id);
      if (isSo(told)) {
        return told;
      }
      const changed = new Promise<void>((resolve) => this.#changed.add(resolve));
      await Promise.race([changed, this.over.then(() => Promise.reject(new Error('the stream is over')))]);
    }
  }

  /** To its end. */
  async ended(id: string): Promise<Told> {
    return await this.until(id, ({ order }) => order.at(-1) === 'done');
  }

  /** Runs it, and waits for its end. */
  async run(...asked: Parameters<ProcessStream['start']>): Promise<Told> {
    await this.start(...asked);
    return await this.ended(asked[0]);
  }

  end(): void {
    this.#call.end();
  }

  async leave(): Promise<void> {
    await this.#call[Symbol.asyncDispose]();
  }

  async #read(): Promise<void> {
    for await (const messages of this.#call.batches) {
      messages.forEach((bytes) => this.#take(execMessage.decode(bytes)));
      this.#changed.forEach((tell) => tell());
      this.#changed.clear();
    }
  }

  #take({ processId, started, file, exit, done }: ExecMessage): void {
    const told = this.#of(processId);
    const say = (what: string): void => {
      if (told.order.at(-1) !== what) {
        told.order.push(what);
      }
    };
    if (started) {
      say('started');
    }
    if (file) {
      say(`${file.eof ? 'eof' : 'file'} ${file.fd}`);
      told[file.fd === 1 ? 'out' : 'err'] += String(file.data);
    }
    if (exit) {
      say('exit');
      told.code = exit.code;
      told.error = exit.error?.message;
      told.details = (exit.error?.details ?? []).map(({ typeUrl, value }) => ({
        type: typeUrl,
        value: JSON.parse(String(value)) as unknown,
      }));
    }
    if (done) {
      say('done');
    }
  }

  #of(id: string): Told {
    const known = this.#told.get(id);
    const told: Told = known ?? {
      out: '',
      err: '',
      code: undefined,
      error: undefined,
      details: [],
      order: [],
    };
    this.#told.set(id, told);
    return told;
  }
}
