import type { RegistryAuth } from '../../../../api/types/image.ts';
import type { LayerSource } from '../../../images/pull/layer-source.ts';
import type { LayerBlob, PinnedLayers } from '../../ports.ts';
import type { RemoteLayer } from './document.ts';
import type { Blob } from './manifest.ts';

/** Where a cache lies: a repository of a registry, or a directory of the client. Nothing that it says is believed. */
export interface CacheSource extends Disposable {
  /** By tag or digest. Throws not_found. */
  manifest(name: string, signal: AbortSignal): Promise<Buffer>;
  /** A small one, its size and digest checked. */
  blob(blob: Blob, signal: AbortSignal): Promise<Buffer>;
  /** How its layer is brought here. */
  layer(layer: RemoteLayer): LayerSource;
}

/** Where a cache goes. What is there already is not sent again. */
export interface CacheTarget extends Disposable {
  /** Whether it has a layer that is not here. */
  has(layer: RemoteLayer, signal: AbortSignal): Promise<boolean>;
  /** Answers what the layer is there, its media type that of OCI. */
  putLayer(layerId: number, signal: AbortSignal): Promise<Blob>;
  putBlob(bytes: Buffer, mediaType: string, signal: AbortSignal): Promise<Blob>;
  /** By the target's name; of a registry by its digest alone, where that is said. */
  putManifest(
    manifest: { bytes: Buffer; mediaType: string },
    signal: AbortSignal,
    options?: { isByDigest: true },
  ): Promise<Blob>;
}

/** Where images may go, too. */
export interface ImageTarget extends CacheTarget {
  /** A layer that was packed for it. */
  putStream(blob: LayerBlob, mediaType: string, signal: AbortSignal): Promise<Blob>;
}

/** A layer's tar, compressed. */
export interface PackedLayerFile extends AsyncDisposable {
  fd: number;
  digest: string;
  size: number;
}

export interface RegistryOptions {
  auth: (domain: string) => Promise<RegistryAuth>;
  signal: AbortSignal;
}

/** Layers from and for caches elsewhere. Satisfied by the image domain. */
export interface CacheLayers {
  /** Throws invalid_argument for what is no reference. */
  registrySource(reference: string, options: RegistryOptions): Promise<CacheSource>;
  registryTarget(reference: string, options: RegistryOptions): Promise<ImageTarget>;
  /** The configuration of an image of this name that is here. */
  configOf(reference: string): Buffer | undefined;
  /** Brings the layers that are not here, digests checked. Nothing is left where it fails. */
  receive(
    layers: readonly RemoteLayer[],
    source: Pick<CacheSource, 'layer'>,
    signal: AbortSignal,
  ): Promise<PinnedLayers>;
  pack(layerId: number, signal: AbortSignal): Promise<PackedLayerFile>;
}
