import { createHash } from 'node:crypto';
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { EngineError, internal } from '../../daemon/base/errors.ts';
import { openBytesInRoot } from '../../daemon/base/kernel/files.ts';
import { DIFF, RECIPE } from './apply.ts';
import { readRecipe, recipeTarBytes } from './recipe.ts';
import { showName } from './tar/names.ts';

const CHUNK_BYTES = 256 * 1024;

/** Bytes of the tar that `replayLayer` writes. */
export function layerTarBytes(directory: string): number {
  const fd = openSync(join(directory, RECIPE), 'r');
  try {
    return recipeTarBytes(fd);
  } finally {
    closeSync(fd);
  }
}

/**
 * Writes a layer's tar again from its files, in chunks that the receiver may keep. Blocks: for a worker. `emit`
 * answers false when nobody wants more.
 * Throws EngineError internal when the result is not what was applied (somebody changed the files below us).
 */
export function replayLayer(directory: string, diffId: string, emit: (chunk: Buffer) => boolean): void {
  const output = new ChunkedOutput(emit);
  const root = openSync(join(directory, DIFF), constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    const fd = openSync(join(directory, RECIPE), 'r');
    try {
      for (const step of readRecipe(fd)) {
        if (step.kind === 'raw') {
          output.write(step.bytes);
        } else {
          writeContent(root, step, diffId, output);
        }
      }
    } finally {
      closeSync(fd);
    }
  } finally {
    closeSync(root);
  }
  const written = output.finish();
  if (written !== diffId) {
    throw internal(`layer ${diffId}: its files were changed (they now make ${written})`);
  }
}

function writeContent(
  root: number,
  step: { path: string; size: number },
  diffId: string,
  output: ChunkedOutput,
): void {
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  const fd = openBytesInRoot(root, step.path, flags);
  try {
    const stat = fstatSync(fd);
    if (!stat.isFile() || stat.size !== step.size) {
      throw internal(`layer ${diffId}: file ${showName(step.path)} was changed`);
    }
    let done = 0;
    while (done < step.size) {
      const count = output.read(fd, step.size - done);
      if (count === 0) {
        throw internal(`layer ${diffId}: file ${showName(step.path)} was cut while it was read`);
      }
      done += count;
    }
  } finally {
    closeSync(fd);
  }
}

/** Collects small pieces into chunks and hashes them. */
class ChunkedOutput {
  readonly #emit: (chunk: Buffer) => boolean;
  readonly #hash = createHash('sha256');
  #chunk = Buffer.allocUnsafeSlow(CHUNK_BYTES);
  #length = 0;

  constructor(emit: (chunk: Buffer) => boolean) {
    this.#emit = emit;
  }

  write(bytes: Buffer): void {
    let offset = 0;
    while (offset < bytes.length) {
      const count = bytes.copy(this.#chunk, this.#length, offset);
      offset += count;
      this.#advance(count);
    }
  }

  /** Reads at most `length` bytes straight into the chunk. */
  read(fd: number, length: number): number {
    const wanted = Math.min(length, CHUNK_BYTES - this.#length);
    const count = readSync(fd, this.#chunk, this.#length, wanted, null);
    this.#advance(count);
    return count;
  }

  /** Sends the rest and returns the digest of everything. */
  finish(): string {
    if (this.#length > 0) {
      this.#send();
    }
    return `sha256:${this.#hash.digest('hex')}`;
  }

  #advance(count: number): void {
    this.#length += count;
    if (this.#length === CHUNK_BYTES) {
      this.#send();
    }
  }

  #send(): void {
    const full = this.#chunk.subarray(0, this.#length);
    this.#hash.update(full);
    this.#chunk = Buffer.allocUnsafeSlow(CHUNK_BYTES);
    this.#length = 0;
    if (!this.#emit(full)) {
      throw new EngineError('canceled', 'reading a layer: canceled');
    }
  }
}
