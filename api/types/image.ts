/** Wire shapes of images at API 1.55. Types only. */
import type { ContainerConfig } from './container.ts';
import type { StringMap } from './maps.ts';

export interface ImageSummary {
  Id: string;
  ParentId: string;
  RepoTags: string[];
  RepoDigests: string[];
  /** UNIX seconds. */
  Created: number;
  Size: number;
  SharedSize: number;
  Labels: StringMap | null;
  Containers: number;
  /** Of the list that its names mean, or of the manifest. Left out where layers are lost. */
  Descriptor?: ImageDescriptor;
  /** When asked for. */
  Manifests?: ImageManifest[];
}

/** A manifest of an image, or of what is said of one. There are several where a name has several platforms. */
export type ImageManifest = ManifestFacts &
  (
    | { Kind: 'image'; ImageData: ImageManifestData }
    | {
        Kind: 'attestation';
        AttestationData: { /** Digest of the manifest that it is about. */ For: string };
      }
  );

/** OCI image-spec, "descriptor". */
export interface ImageDescriptor {
  mediaType: string;
  digest: string;
  size: number;
  platform?: OciPlatform;
  annotations?: Record<string, string>;
}

interface ManifestFacts {
  /** Digest of the manifest. */
  ID: string;
  Descriptor: ImageDescriptor;
  Available: boolean;
  /** Bytes. `Content`: of blobs that are kept as they are in the registry; `Total`: with the unpacked files. */
  Size: { Content: number; Total: number };
}

export interface ImageManifestData {
  Platform: OciPlatform;
  Identity?: ImageIdentity;
  Size: { Unpacked: number };
  /** Ids. */
  Containers: string[];
}

/** An in-toto statement about an image (API 1.55). */
export interface AttestationStatement {
  /** Of the statement, as it lies in a registry. */
  Descriptor: { mediaType: string; digest: string; size: number; annotations: Record<string, string> };
  PredicateType: string;
  /** Where it is asked for. */
  Statement?: unknown;
}

/** OCI image-spec, `platform` of a descriptor. */
export interface OciPlatform {
  architecture: string;
  os: string;
  'os.version'?: string;
  variant?: string;
}

/** Where an image is known to come from. */
export interface ImageIdentity {
  /** Repositories it was pulled from or pushed to. */
  Pull: { Repository: string }[];
}

export interface ImageInspect {
  Id: string;
  RepoTags: string[];
  RepoDigests: string[];
  Parent?: string;
  Comment?: string;
  /** Left out where the image does not say. */
  Created?: string;
  DockerVersion?: string;
  Author?: string;
  Config: ContainerConfig | null;
  Architecture: string;
  Variant?: string;
  Os: string;
  OsVersion?: string;
  Size: number;
  GraphDriver: { Name: string; Data: StringMap | null };
  RootFS: { Type: string; Layers?: string[] };
  Metadata: { LastTagTime: string };
  /** Of the list that the name means, or of the manifest. Left out where layers are lost. */
  Descriptor?: ImageDescriptor;
  /** When asked for. */
  Manifests?: ImageManifest[];
  /** Left out where nothing is known. */
  Identity?: ImageIdentity;
}

/** What clients before 1.52 get instead; of before 1.45 are Container and ContainerConfig. */
export interface LegacyImage {
  Parent: string;
  Comment: string;
  DockerVersion: string;
  Author: string;
  /** With every field that a container has, empty where the image has none. */
  Config: ContainerConfig;
  Container: string;
  ContainerConfig: ContainerConfig;
}

/** One that a multi-platform image is to be taken for (OCI image-spec, `platform`). */
export interface ImagePlatform {
  os?: string;
  architecture?: string;
  variant?: string;
}

export interface ImageHistoryItem {
  Id: string;
  Created: number;
  CreatedBy: string;
  Tags: string[] | null;
  Size: number;
  Comment: string;
}

export interface ImageDeleteItem {
  Untagged?: string;
  Deleted?: string;
}

/** A client's credentials for a registry: the header `X-Registry-Auth`, decoded. Empty = none. */
export interface RegistryAuth {
  username?: string;
  password?: string;
  /** Replaces the password: an OAuth 2 refresh token. */
  identityToken?: string;
  /** A bearer token used as it is. */
  registryToken?: string;
}

/** What a registry has under a name, without fetching it. */
export interface DistributionInspect {
  Descriptor: { mediaType: string; digest: string; size: number };
  Platforms: { architecture: string; os: string; variant?: string }[];
}

export interface ImageSearchItem {
  name: string;
  description: string;
  is_official: boolean;
  is_automated: boolean;
  star_count: number;
}

export interface ImagePruneReport {
  ImagesDeleted: ImageDeleteItem[] | null;
  /** Bytes of layers. */
  SpaceReclaimed: number;
}

export interface BuildPruneReport {
  CachesDeleted: string[] | null;
  /** Bytes of layers. */
  SpaceReclaimed: number;
}

/** One object of a JSON progress stream (load, import, pull, push, build). */
export interface ProgressMessage {
  stream?: string;
  status?: string;
  id?: string;
  progress?: string;
  progressDetail?: { current?: number; total?: number };
  error?: string;
  errorDetail?: { code?: number; message: string };
  aux?: unknown;
}
