import koffi from 'koffi';

/**
 * libnftables in process: the parser and transaction of `nft -f`, without a process per change. One context
 * lives as long as the daemon. Every run is one atomic transaction of the kernel.
 */
export interface NftResult {
  ok: boolean;
  /** What `nft` would have printed to stderr. */
  error: string;
  output: string;
}

type NftFunction = (...args: unknown[]) => unknown;

export class NftContext {
  readonly #run: NftFunction;
  readonly #free: NftFunction;
  readonly #errorBuffer: NftFunction;
  readonly #outputBuffer: NftFunction;
  readonly #context: unknown;

  /** Loads the library; throws when it is not installed. */
  constructor() {
    const library = koffi.load('libnftables.so.1');
    const create = library.func('void *nft_ctx_new(uint32_t flags)');
    this.#run = library.func('int nft_run_cmd_from_buffer(void *context, const char *commands)');
    this.#free = library.func('void nft_ctx_free(void *context)');
    this.#errorBuffer = library.func('const char *nft_ctx_get_error_buffer(void *context)');
    this.#outputBuffer = library.func('const char *nft_ctx_get_output_buffer(void *context)');
    this.#context = create(0);
    // Buffered, or the library would write to the daemon's own stdout and stderr.
    library.func('int nft_ctx_buffer_output(void *context)')(this.#context);
    library.func('int nft_ctx_buffer_error(void *context)')(this.#context);
  }

  /** Runs commands in nft's language. Synchronous: answers when the kernel has committed. */
  run(commands: string): NftResult {
    const ok = this.#run(this.#context, commands) === 0;
    // Reading a buffer also empties it.
    const error = text(this.#errorBuffer(this.#context));
    const output = text(this.#outputBuffer(this.#context));
    return { ok, error: error.trim(), output };
  }

  [Symbol.dispose](): void {
    this.#free(this.#context);
  }
}

/** A C string as koffi decoded it; null when the library has none. */
function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
