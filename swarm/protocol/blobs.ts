/** `blobs.find`, from a manager to another: whether its hub holds a blob. */
export interface BlobQuery {
  /** sha256:... */
  digest: string;
}

/** Nothing, where it does not. */
export interface BlobAnswer {
  size?: number;
}

/** `blobs.read`: its bytes from one on, as a stream of pieces. */
export interface BlobRequest extends BlobQuery {
  from: number;
}
