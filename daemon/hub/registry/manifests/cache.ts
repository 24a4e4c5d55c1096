/** The bytes of manifests that were asked for last, at most so many. */
export class ManifestCache {
  readonly #bytesMax: number;
  /** By digest, the one that was asked for last at the end. */
  readonly #kept = new Map<string, Buffer>();
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  get(digest: string): Buffer | undefined {
    const bytes = this.#kept.get(digest);
    if (bytes !== undefined) {
      this.#kept.delete(digest);
      this.#kept.set(digest, bytes);
    }
    return bytes;
  }

  set(digest: string, bytes: Buffer): void {
    this.delete(digest);
    this.#kept.set(digest, bytes);
    this.#bytes += bytes.length;
    for (const [oldest] of this.#kept) {
      if (this.#bytes <= this.#bytesMax) {
        break;
      }
      this.delete(oldest);
    }
  }

  delete(digest: string): void {
    this.#bytes -= this.#kept.get(digest)?.length ?? 0;
    this.#kept.delete(digest);
  }
}
