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

/** `blobs.offer`, from a node to a manager: whether its hub takes a blob; and the first value of `blobs.give`. */
export interface BlobOffer extends BlobQuery {
  size: number;
  /** A push waits until the blob is held: no record names it yet. A manager alone may say so. */
  isPush: boolean;
}

/** `unwanted`: no record names it. `no-hub`: the manager has none. */
export const OFFER_ANSWERS = ['held', 'wanted', 'unwanted', 'no-hub'] as const;
export type OfferAnswer = (typeof OFFER_ANSWERS)[number];
