import type { Descriptor } from '../image/descriptor.ts';

/** Several images under one name, one for each platform, and what is said of them (OCI image-spec, "image index"). */
export interface ManifestListRow {
  /** sha256:... by which the hub of this host would call it. */
  id: string;
  /** That of its images which a name means where no platform is asked for; the list goes with it. */
  imageId: string;
  /** Of the document that has the id. */
  sizeBytes: number;
  /** Media types of the OCI image specification, else those of Docker. */
  isOci: boolean;
  /** It is no index: the document is the manifest of its one image, of which there is more to keep than the image. */
  isAlone?: true;
  /** Of the index; those of a manifest are its image's. */
  annotations?: DocumentAnnotations;
  /** It is as a registry has it, of which only some of the images are here. */
  index?: RegistryIndex;
  /** In full, of what was made: what is said of the images says it by them. */
  names: string[];
  /** In the order of the document. */
  images: ListedImage[];
}

/** Annotations of a document: those that it has, and those of what names it. */
export interface DocumentAnnotations {
  own: Readonly<Record<string, string>>;
  descriptor: Readonly<Record<string, string>>;
}

/** An index as a registry has it. */
export interface RegistryIndex {
  mediaType: string;
  /** All that it names, also what is not here. */
  manifests: readonly Descriptor[];
}

export interface ListedImage {
  imageId: string;
  /** Digest of its manifest in a registry's index. */
  manifest?: string;
  /** Of its manifest. */
  annotations?: DocumentAnnotations;
  /** The manifest of what is said of it. */
  statements?: { digest: string; sizeBytes: number };
}

export interface ManifestListTable {
  /** `attestations`: of each image as JSON, null = none. */
  insert(row: ManifestListRow, attestations: readonly (string | null)[]): void;
  remove(id: string): void;
  /**
   * One image of a registry's index with documents by their digests: the index, if it is new, the manifest and what is
   * said of it. `list.imageId` is from now on what its names mean.
   */
  join(list: ManifestListRow, listed: ListedImage, documents: ReadonlyMap<string, Buffer>): void;
  /** Takes an image out of a registry's index. */
  leave(list: ManifestListRow, imageId: string): void;
  /** That came with a registry's index; undefined = it did not. */
  document(id: string, digest: string): Buffer | undefined;
  /** JSON; undefined = nothing is said of the image in the list. */
  attestations(id: string, imageId: string): string | undefined;
  /** Removes those that no name means any more though their image has names; answers their ids. */
  removeUnnamed(): string[];
  all(): ManifestListRow[];
}
