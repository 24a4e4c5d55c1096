import type { Readable } from 'node:stream';
import type { HubCredentials } from './credentials.ts';
import type { HubRateStatus } from './rate.ts';

/** What the HTTP of the registry needs of the hub (OCI distribution 1.1; Docker's token specification). */
export interface HubRegistryPort {
  /**
   * For a request with a registry's access token, a token of the hub, or a name with it. Throws unauthorized with
   * `details.registry`.
   */
  session(credentials: HubCredentials): Promise<HubRegistrySession>;
  /** An access token. Throws unauthorized; `details.registry` UNSUPPORTED for what is no grant. */
  token(request: RegistryTokenRequest, credentials: HubCredentials): Promise<RegistryToken>;
}

/** What `GET` and `POST /token` ask for. */
export interface RegistryTokenRequest {
  /** `repository:alice/app:pull,push`, each as it was sent. */
  scopes: readonly string[];
  /** By OAuth 2: `password` with a name and a token, `refresh_token` with what an earlier answer gave. */
  grant:
    | { kind: 'authorization' }
    | { kind: 'password'; name: string; secret: string }
    | { kind: 'refresh'; refreshToken: string };
  /** A refresh token is wanted too. */
  isOffline: boolean;
}

export interface RegistryToken {
  token: string;
  expiresInS: number;
  issuedAt: string;
  refreshToken: string | undefined;
  /** Granted, as OAuth 2 writes it. */
  scope: string;
}

/**
 * What one caller does with the registry. `name` is `owner/repository`. Errors have `details.registry`
 * (`RegistryRefusal`).
 */
export interface HubRegistrySession {
  /** Nobody showed anything, not even an anonymous token. */
  readonly isBare: boolean;
  /** Counts a request. Throws TOOMANYREQUESTS. Undefined = this caller has no limit. */
  admit(resource: RegistryResource): HubRateStatus | undefined;
  /** Who is counted: an address, or a user. */
  readonly source: string;

  blobSize(name: string, digest: string): Promise<number>;
  openBlob(name: string, digest: string): Promise<RegistryBlob>;
  deleteBlob(name: string, digest: string): Promise<void>;

  startUpload(name: string): Promise<RegistryUpload>;
  /** True = the blob is in `name` now; false = it is not in `from`, or may not be read there. */
  mountBlob(name: string, digest: string, from: string): Promise<boolean>;
  /** True = the layer that the engine of this host offers under a ticket is in `name` now. */
  takeLayer(name: string, digest: string, ticket: string): Promise<boolean>;
  upload(name: string, id: string): Promise<RegistryUpload>;
  /** `start`: where the client says that its bytes begin. Answers what is there then. */
  appendUpload(name: string, id: string, body: UploadBody): Promise<RegistryUpload>;
  finishUpload(name: string, id: string, digest: string, body: UploadBody): Promise<void>;
  cancelUpload(name: string, id: string): Promise<void>;

  manifest(name: string, reference: string): Promise<RegistryManifest>;
  /** As `manifest`, and it is told to who listens for pulls. */
  pullManifest(name: string, reference: string): Promise<RegistryManifest>;
  /** `occurrence`: by which all that tells of the push calls it; undefined = no tag was moved. */
  putManifest(
    name: string,
    reference: string,
    body: { mediaType: string | undefined; bytes: Buffer },
  ): Promise<{ digest: string; subject: string | undefined; occurrence: string | undefined }>;
  deleteManifest(name: string, reference: string): Promise<void>;

  tags(name: string): readonly string[];
  referrers(name: string, digest: string): readonly RegistryDescriptor[];
  /** `owner/repository` of those that it may see and that hold something. */
  catalogue(): readonly string[];
}

export type RegistryResource = 'registry_pull' | 'registry_push';

export interface RegistryBlob extends AsyncDisposable {
  size: number;
  /** Bytes from `start` to `end`, both of them included. It closes the blob when it ends. */
  stream(start: number, end: number): Readable;
  /**
   * Fills memory of the caller with bytes from `position` on, and answers how many, one at least. Absent = the blob
   * comes as a stream alone.
   */
  read?(into: Buffer, position: number): Promise<number>;
}

export interface RegistryUpload {
  id: string;
  /** Bytes that are there. */
  size: number;
}

export interface UploadBody {
  bytes: Readable;
  /** Of `Content-Length`; undefined = not said. */
  length: number | undefined;
  /** Of `Content-Range`; undefined = not said. */
  range: { start: number; end: number } | undefined;
}

export interface RegistryManifest {
  digest: string;
  mediaType: string;
  bytes: Buffer;
  /** Of an index: what it lists. */
  children: readonly { digest: string; mediaType: string; platform: string | undefined }[];
}

/** OCI content descriptor, as `GET /v2/<name>/referrers/<digest>` lists them. */
export interface RegistryDescriptor {
  mediaType: string;
  digest: string;
  size: number;
  artifactType?: string;
  annotations?: Readonly<Record<string, string>>;
}

/** `details.registry` of an error: an error of the specification. */
export interface RegistryRefusal {
  code: RegistryErrorCode;
  detail?: unknown;
  /** What an access token would have to grant: `repository:alice/app:pull`. The answer is a challenge then. */
  scope?: string;
  /** Why a token does not do (RFC 6750): `invalid_token`, `insufficient_scope`. */
  tokenError?: string;
}

/** OCI distribution 1.1, "Error Codes", and those that distribution 2.8 has beside them. */
export type RegistryErrorCode =
  | 'BLOB_UNKNOWN'
  | 'BLOB_UPLOAD_INVALID'
  | 'BLOB_UPLOAD_UNKNOWN'
  | 'DIGEST_INVALID'
  | 'MANIFEST_BLOB_UNKNOWN'
  | 'MANIFEST_INVALID'
  | 'MANIFEST_UNKNOWN'
  | 'NAME_INVALID'
  | 'NAME_UNKNOWN'
  | 'PAGINATION_NUMBER_INVALID'
  | 'RANGE_INVALID'
  | 'SIZE_INVALID'
  | 'TAG_INVALID'
  | 'UNAUTHORIZED'
  | 'DENIED'
  | 'UNSUPPORTED'
  | 'TOOMANYREQUESTS'
  | 'UNAVAILABLE'
  | 'UNKNOWN';
