import type { RegistryBlob } from '../../../../api/types/hub/registry.ts';
import type { EngineLayers } from './engine-layers.ts';
import type { BlobFiles, IncomingFile, UploadFile } from './port.ts';

/** All that the hub of this host holds: files of its own, and layers of the engine. A file comes first. */
export class HeldBlobs implements BlobFiles {
  readonly #files: BlobFiles;
  readonly #layers: EngineLayers | undefined;

  constructor(files: BlobFiles, layers: EngineLayers | undefined) {
    this.#files = files;
    this.#layers = layers;
  }

  async size(digest: string): Promise<number | undefined> {
    return (await this.#files.size(digest)) ?? this.#layers?.size(digest);
  }

  async open(digest: string): Promise<RegistryBlob | undefined> {
    return (await this.#files.open(digest)) ?? (await this.#layers?.open(digest));
  }

  /** Layers do not fit into memory. */
  read(digest: string): Promise<Buffer | undefined> {
    return this.#files.read(digest);
  }

  put(digest: string, bytes: Buffer): Promise<void> {
    return this.#files.put(digest, bytes);
  }

  async remove(digest: string): Promise<boolean> {
    const [wasFile, wasLayer] = [
      await this.#files.remove(digest),
      this.#layers?.digests().includes(digest) === true && (await this.#layers.release(digest)),
    ];
    return wasFile || wasLayer;
  }

  async digests(): Promise<string[]> {
    return [...new Set([...(await this.#files.digests()), ...(this.#layers?.digests() ?? [])])];
  }

  createIncoming(blob: { digest: string; size: number }): Promise<IncomingFile> {
    return this.#files.createIncoming(blob);
  }

  createUpload(id: string): Promise<UploadFile> {
    return this.#files.createUpload(id);
  }

  findUpload(id: string): Promise<UploadFile | undefined> {
    return this.#files.findUpload(id);
  }

  uploads(): Promise<{ id: string; size: number; changedMs: number }[]> {
    return this.#files.uploads();
  }
}
