import type { RegistryBlob } from '../../../../api/types/hub/registry.ts';

/**
 * Layers that the engine of this host has: blobs without a file of their own. The digest is that of the layer's tar.
 * The engine offers one under a ticket while it pushes it; what the hub keeps stays until the hub releases it.
 */
export interface EngineLayers {
  /** Bytes of what is offered under a ticket; undefined where that is not this digest, or nothing. */
  offered(ticket: string, digest: string): number | undefined;
  /** For good when it returns. Throws not_found when the offer is over. */
  keep(ticket: string, digest: string): void;
  /** Of those that are kept. */
  size(digest: string): number | undefined;
  open(digest: string): Promise<RegistryBlob | undefined>;
  digests(): string[];
  /** True = it was kept. */
  release(digest: string): Promise<boolean>;
}
