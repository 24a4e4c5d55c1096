import koffi from 'koffi';
import { withoutSignals } from '../processes/signal-mask.ts';

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

interface Library {
  create: NftFunction;
  free: NftFunction;
  run: NftFunction;
  bufferOutput: NftFunction;
  bufferError: NftFunction;
  output: NftFunction;
  error: NftFunction;
  setOutput: NftFunction;
}

/** NFT_CTX_OUTPUT_STATELESS of nftables/libnftables.h: listings show no counters. */
const STATELESS = 1 << 2;

let loaded: Library | undefined;

/** Throws when it is not installed. */
function library(): Library {
  if (loaded === undefined) {
    const file = koffi.load('libnftables.so.1');
    loaded = {
      create: file.func('void *nft_ctx_new(uint32_t flags)'),
      free: file.func('void nft_ctx_free(void *context)'),
      run: file.func('int nft_run_cmd_from_buffer(void *context, const char *commands)'),
      bufferOutput: file.func('int nft_ctx_buffer_output(void *context)'),
      bufferError: file.func('int nft_ctx_buffer_error(void *context)'),
      output: file.func('const char *nft_ctx_get_output_buffer(void *context)'),
      error: file.func('const char *nft_ctx_get_error_buffer(void *context)'),
      setOutput: file.func('void nft_ctx_output_set_flags(void *context, unsigned int flags)'),
    };
  }
  return loaded;
}

/**
 * Belongs to the network namespace in which it was made. To be made while few files are open: the library waits by
 * select(2), and aborts the process when its socket has a descriptor past 1,023.
 */
export class NftContext {
  readonly #library = library();
  readonly #context: unknown;

  constructor() {
    this.#context = this.#library.create(0);
    // Buffered, or the library would write to the daemon's own stdout and stderr.
    this.#library.bufferOutput(this.#context);
    this.#library.bufferError(this.#context);
    this.#library.setOutput(this.#context, STATELESS);
  }

  /**
   * Runs commands in nft's language. Synchronous: answers when the kernel has committed. Without signals: one that came
   * meanwhile, since a child of the daemon ended, would have the library report EINTR for what the kernel has done.
   */
  run(commands: string): NftResult {
    const ok = withoutSignals(() => this.#library.run(this.#context, commands)) === 0;
    // Reading a buffer also empties it.
    const error = text(this.#library.error(this.#context));
    const output = text(this.#library.output(this.#context));
    return { ok, error: error.trim(), output };
  }

  [Symbol.dispose](): void {
    this.#library.free(this.#context);
  }
}

/** A C string as koffi decoded it; null when the library has none. */
function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
