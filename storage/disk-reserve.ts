import { diskFull } from '../daemon/base/errors.ts';
import { limits } from '../daemon/base/limits.ts';

/** Bytes between two looks at the free space. */
const BYTES_BETWEEN_LOOKS = 32 * 1024 * 1024;

/** Stops a writer before the disk is full: the database and running containers must still be able to write. */
export class DiskReserve {
  readonly #freeBytes: () => number;
  readonly #message: string;
  #nextLookAt = 0;

  /** `message` is what the client is told of a full disk. */
  constructor(freeBytes: () => number, message: string) {
    this.#freeBytes = freeBytes;
    this.#message = message;
  }

  /** To be called as bytes are written: looks once in 32 MB of them. Throws resource_exhausted. */
  check(bytesWritten: number): void {
    if (bytesWritten >= this.#nextLookAt) {
      this.look();
      this.#nextLookAt = bytesWritten + BYTES_BETWEEN_LOOKS;
    }
  }

  /** Throws resource_exhausted when the disk is about to fill. */
  look(): void {
    if (this.#freeBytes() < limits.diskReserveBytes) {
      throw diskFull(this.#message);
    }
  }
}
